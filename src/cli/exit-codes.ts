import { type ErrorCode, StateError } from "../errors.ts";

/** What the number that a command ends with says. A number that is not listed is a failure. */
export const EXIT = {
  done: 0,
  no: 1,
  usage: 2,
  inPart: 3,
  notFound: 4,
  conflict: 5,
  corrupt: 6,
  permission: 7,
  unavailable: 8,
  unsupported: 9,
  full: 10,
  notConfirmed: 11,
  other: 12,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_MEANINGS: Readonly<Record<ExitCode, string>> = {
  0: "done",
  1: "done, and the answer is no: a proof that failed, something that is due, differences or nothing found (the last two with `--exit-code`)",
  2: "wrong usage (`INVALID_ARGUMENT`)",
  3: "done in part; what is missing is on stderr and in the summary",
  4: "not there (`NOT_FOUND`)",
  5: "another writer was faster, or holds a lease (`CONFLICT`, `PENDING`)",
  6: "stored bytes are damaged (`CORRUPT`)",
  7: "not allowed (`PERMISSION_DENIED`, `HELD`)",
  8: "no answer; repeat the same command (`UNAVAILABLE`, `TIMEOUT`, `RATE_LIMITED`)",
  9: "this store or this installation cannot do it (`UNSUPPORTED`, `MISSING_DEPENDENCY`, `INCOMPATIBLE`)",
  10: "no room (`STORAGE_FULL`, `TOO_LARGE`)",
  11: "not confirmed; `--yes` confirms",
  12: "anything else",
  130: "ended by Ctrl-C",
  143: "ended by SIGTERM",
};

const OF_CODE: Readonly<Record<ErrorCode, ExitCode>> = {
  INVALID_ARGUMENT: EXIT.usage,
  NOT_FOUND: EXIT.notFound,
  CONFLICT: EXIT.conflict,
  PENDING: EXIT.conflict,
  CORRUPT: EXIT.corrupt,
  PERMISSION_DENIED: EXIT.permission,
  HELD: EXIT.permission,
  UNAVAILABLE: EXIT.unavailable,
  TIMEOUT: EXIT.unavailable,
  RATE_LIMITED: EXIT.unavailable,
  UNSUPPORTED: EXIT.unsupported,
  MISSING_DEPENDENCY: EXIT.unsupported,
  INCOMPATIBLE: EXIT.unsupported,
  STORAGE_FULL: EXIT.full,
  TOO_LARGE: EXIT.full,
  CLOSED: EXIT.other,
  MODEL_FAILED: EXIT.other,
  UNKNOWN: EXIT.other,
};

/** What was typed cannot be meant; `hint` says what to type instead. */
export class UsageError extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** A person said no, or there is no terminal to ask on. */
export class NotConfirmed extends Error {}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof NotConfirmed) return EXIT.notConfirmed;
  return StateError.is(error) ? OF_CODE[error.code] : EXIT.other;
}
