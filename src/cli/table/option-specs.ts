import type { ArgumentSpec, OptionSpec } from "../command.ts";

/** What several commands take. */
export const THREAD: ArgumentSpec = { name: "thread" };
export const LIMIT: OptionSpec = { value: "n", help: "how many at most (default 50)" };
export const CURSOR: OptionSpec = { value: "cursor", help: "continue where the previous list ended" };
export const ALL: OptionSpec = { help: "all of them, however many" };
export const PREFIX: OptionSpec = { value: "text", help: "only threads whose ids begin with this" };
export const AT: OptionSpec = {
  value: "checkpoint",
  help: "that one instead of the newest; @-1 is one before the newest",
};
export const EXIT_CODE: OptionSpec = { help: "exit with 1 if the answer is no" };
export const DRY_RUN: OptionSpec = { help: "print what would be done and change nothing" };
export const YES: OptionSpec = { short: "y", help: "do not ask" };

export const ON_CONFLICT: OptionSpec = {
  value: "how",
  choices: ["fail", "skip", "replace"],
  help: "for a thread of the same id that is not an earlier part of this one; fail reports it and continues with the next",
};
