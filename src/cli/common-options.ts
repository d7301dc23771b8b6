import type { CommandSpec, OptionSpec } from "./command.ts";
import { FORMATS } from "./output/printer.ts";

/** What every command takes. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  output: {
    short: "o",
    value: "format",
    choices: FORMATS,
    help: "table on a terminal, tsv in a pipe; json, ndjson, id",
  },
  json: { help: "the same as -o json" },
  wide: { help: "cut nothing" },
  color: { value: "when", choices: ["auto", "always", "never"], help: "colour; NO_COLOR and FORCE_COLOR are heeded" },
  debug: { help: "print every detail of a failure" },
  help: { short: "h", help: "this text" },
};

/** What every command with a store takes. */
const STORE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  store: { short: "s", value: "url", help: "the store; then no argument is read as one" },
  "token-file": { value: "file", help: "where the token of an http store is; or HOLDFAST_TOKEN" },
};

/** All options of a command. */
export const optionsOfCommand = ({ store, options }: CommandSpec): Readonly<Record<string, OptionSpec>> => ({
  ...options,
  ...(store === "none" ? {} : STORE_OPTIONS),
  ...COMMON_OPTIONS,
});
