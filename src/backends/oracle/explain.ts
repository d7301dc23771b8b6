import { type ErrorCode, StateError } from "../../errors.ts";
import { isOra } from "./classify.ts";

interface Hint {
  readonly njs?: readonly string[];
  readonly ora?: readonly number[];
  readonly code: ErrorCode;
  readonly what: string;
  /** The client's message repeats its input: a connect string, a path. */
  readonly hidden?: true;
}

/** Configuration mistakes and limits that the client or the server reports in words that do not help. */
const HINTS: readonly Hint[] = [
  {
    njs: ["NJS-516", "NJS-520"],
    code: "INVALID_ARGUMENT",
    what: "the dsn is an alias, and there is no tnsnames.ora: walletLocation must be the directory that has it (or write host:1521/service)",
    hidden: true,
  },
  {
    njs: ["NJS-517"],
    ora: [12154],
    code: "INVALID_ARGUMENT",
    what: "the dsn is an alias that the wallet's tnsnames.ora does not have",
    hidden: true,
  },
  {
    njs: ["NJS-512", "NJS-514", "NJS-515", "NJS-523"],
    code: "INVALID_ARGUMENT",
    what: "the dsn or the wallet cannot be read: walletLocation must have ewallet.pem, and the dsn be an alias or host:1521/service",
    hidden: true,
  },
  {
    njs: ["NJS-505"],
    code: "PERMISSION_DENIED",
    what: "the wallet's ewallet.pem cannot be opened: walletPassword is the one given when the wallet was downloaded",
  },
  { njs: ["NJS-101"], code: "PERMISSION_DENIED", what: "user and password are both needed" },
  { ora: [1017], code: "PERMISSION_DENIED", what: "the user or the password is wrong" },
  {
    ora: [28000],
    code: "PERMISSION_DENIED",
    what: "the account is locked: its owner unlocks it with ALTER USER … ACCOUNT UNLOCK",
  },
  { ora: [28001], code: "PERMISSION_DENIED", what: "the password has expired: set a new one" },
  {
    ora: [1950, 1536],
    code: "STORAGE_FULL",
    what: "the owner of the tables has no room in its tablespace: ALTER USER … QUOTA … ON …",
  },
  {
    ora: [51803],
    code: "INVALID_ARGUMENT",
    what: "the table was made for vectors of another dimension: keep others in a store of their own",
  },
  {
    ora: [51962],
    code: "STORAGE_FULL",
    what: 'the vector pool has no room for the index: set VECTOR_MEMORY_SIZE, or take vectorIndex: "ivf"',
  },
  {
    ora: [12838],
    code: "UNAVAILABLE",
    what: "the service runs changes in parallel: connect to the _tp or _low service",
  },
];

/** The same error, or one that says what to do where that is known. */
export function explained(error: unknown): unknown {
  if (StateError.is(error)) return error;
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const hint = HINTS.find(
    ({ njs = [], ora = [] }) => njs.includes(String(code)) || (ora.length > 0 && isOra(error, ...ora)),
  );
  if (hint === undefined) return error;
  const [first = ""] = String(message).split("\n");
  const said = hint.hidden === true ? String(code) : first;
  // The cause of a hidden message repeats it.
  return new StateError(hint.code, `${said}: ${hint.what}`, hint.hidden === true ? {} : { cause: error });
}
