import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { BACKENDS } from "../backends/registry.ts";
import { nearestName } from "../internal/known-options.ts";
import { type CommandSpec, GivenOptions } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { optionsOfCommand } from "./common-options.ts";
import { UsageError } from "./exit-codes.ts";

export interface ParsedLine {
  readonly command: CommandSpec;
  readonly options: GivenOptions;
  readonly given: Readonly<Record<string, string>>;
  readonly rest: readonly string[];
  /** As they were written: a URL, or `env:NAME`. */
  readonly stores: readonly string[];
}

/** The command that the line begins with, and what follows it. */
export function commandOf(argv: readonly string[]): {
  readonly command: CommandSpec;
  readonly args: readonly string[];
} {
  const [first = "", second = ""] = argv;
  for (const length of [2, 1]) {
    const name = argv.slice(0, length).join(" ");
    const command = COMMANDS.find((one) => one.name === name);
    if (command !== undefined) return { command, args: argv.slice(length) };
  }
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name);
  if (group.length > 0) throw new UsageError(`holdfast ${first} needs one more word: ${group.join(", ")}`);
  const meant = nearestName(`${first} ${second}`, twoWords()) ?? nearestName(first, oneWord());
  // What was typed is shown only where it is a word: it may be a URL with a password in it.
  const what = /^[\w-]{1,30}$/.test(first) ? `there is no command ${first}` : "the first word must be a command";
  throw new UsageError(what, meant === undefined ? "holdfast --help lists the commands" : `did you mean ${meant}?`);
}

const oneWord = (): string[] => COMMANDS.map(({ name }) => name).filter((name) => !name.includes(" "));
const twoWords = (): string[] => COMMANDS.map(({ name }) => name).filter((name) => name.includes(" "));

export function parseLine(command: CommandSpec, args: readonly string[], fallback: string | undefined): ParsedLine {
  const known = optionsOfCommand(command);
  const { values, positionals } = parsed(args, known);
  const options = new GivenOptions(values);
  for (const [name, { choices }] of Object.entries(known)) {
    const text = options.text(name);
    if (choices !== undefined && text !== undefined && !choices.includes(text)) {
      throw new UsageError(`--${name} takes ${choices.join(", ")}`);
    }
  }
  // Help needs nothing else to be right.
  if (options.flag("help")) return { command, options, given: {}, rest: [], stores: [] };
  const { stores, others } = splitStores(command, options.text("store"), positionals, fallback);
  return { command, options, stores, ...namedArguments(command, others) };
}

function parsed(args: readonly string[], known: ReturnType<typeof optionsOfCommand>) {
  const options: ParseArgsOptionsConfig = {};
  for (const [name, { value, short, repeatable }] of Object.entries(known)) {
    options[name] = {
      type: value === undefined ? "boolean" : "string",
      ...(short !== undefined && { short }),
      ...(repeatable === true && { multiple: true }),
    };
  }
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
      const [, given = ""] = /'(--?[\w-]{1,40})/.exec(message) ?? [];
      const meant = nearestName(given, Object.keys(known));
      throw new UsageError(
        `there is no option ${given} here`,
        meant === undefined ? undefined : `did you mean --${meant}?`,
      );
    }
    if (code?.startsWith("ERR_PARSE_ARGS") === true) throw new UsageError(message.split("\n")[0] ?? message);
    throw error;
  }
}

/** The first arguments that look like stores are stores; `-s` says that none of them is. */
function splitStores(
  { name, store }: CommandSpec,
  option: string | undefined,
  positionals: readonly string[],
  fallback: string | undefined,
): { readonly stores: readonly string[]; readonly others: readonly string[] } {
  if (store === "none") return { stores: [], others: positionals };
  const wanted = store === "two" ? 2 : 1;
  if (option !== undefined && wanted === 1) return { stores: [option], others: positionals };
  const first = option === undefined ? [] : [option];
  const found = positionals.slice(0, wanted - first.length).filter(looksLikeStore);
  const stores = [...first, ...found];
  if (stores.length === wanted) return { stores, others: positionals.slice(found.length) };
  if (wanted === 1 && fallback !== undefined && fallback !== "") return { stores: [fallback], others: positionals };
  const examples = Object.values(BACKENDS).map(({ example }) => example);
  const what = wanted === 2 ? "two stores, from and to" : "a store";
  throw new UsageError(
    `${name} needs ${what}: a URL such as ${examples.slice(1, 4).join(", ")}`,
    "or env:NAME for one in a variable; HOLDFAST_STORE is taken where no store is named",
  );
}

/** Those of LangGraph's own checkpointers are known to `copy` alone. */
const SCHEMES: ReadonlySet<string> = new Set([
  ...Object.values(BACKENDS).flatMap(({ schemes }) => schemes),
  ...["langgraph+postgres", "langgraph+postgresql", "langgraph+sqlite"],
]);

export const looksLikeStore = (text: string): boolean => {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  return scheme !== undefined && (scheme === "env" || SCHEMES.has(scheme));
};

function namedArguments(
  { name, arguments: wanted }: CommandSpec,
  found: readonly string[],
): { readonly given: Readonly<Record<string, string>>; readonly rest: readonly string[] } {
  const given: Record<string, string> = {};
  for (const [index, { name: each, optional, rest }] of wanted.entries()) {
    const value = found[index];
    if (value === undefined && optional !== true)
      throw new UsageError(`${name} needs <${each}>`, `holdfast ${name} --help`);
    if (rest === true) return { given, rest: found.slice(index) };
    if (value !== undefined) given[each] = value;
  }
  if (found.length <= wanted.length) return { given, rest: [] };
  const many = wanted.length === 0 ? "no arguments" : `at most ${wanted.map((each) => `<${each.name}>`).join(" ")}`;
  throw new UsageError(`${name} takes ${many} beside its store`, "an argument with spaces needs quotes around it");
}
