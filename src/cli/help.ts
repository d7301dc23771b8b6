import type { CommandSpec, OptionSpec } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { COMMON_OPTIONS, optionsOfCommand } from "./common-options.ts";
import { EXIT_MEANINGS } from "./exit-codes.ts";

export function generalHelp(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  return [
    "holdfast <command> [<store>] [arguments] [options]",
    "",
    "Looks at, moves, checks and mends any store, from its URL alone.",
    "",
    "Commands",
    ...COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    "The store",
    "  a URL (sqlite:./agents.db), env:NAME for one in a variable, or HOLDFAST_STORE where no store is named",
    "",
    "Everywhere",
    ...optionLines(COMMON_OPTIONS),
    "",
    "Exit codes",
    ...Object.entries(EXIT_MEANINGS).map(([code, means]) => `  ${code.padStart(3)}  ${means.replaceAll("`", "")}`),
  ].join("\n");
}

const synopsisOf = ({ name, store, arguments: wanted, options }: CommandSpec): string => {
  const stores = { none: [], read: ["[<store>]"], write: ["[<store>]"], two: ["<from>", "<to>"] }[store];
  const named = wanted.map(({ name: each, optional, rest }) => {
    const shown = `<${each}>${rest === true ? "…" : ""}`;
    return optional === true ? `[${shown}]` : shown;
  });
  const more = Object.keys(options).length === 0 ? [] : ["[options]"];
  return ["holdfast", name, ...stores, ...named, ...more].join(" ");
};

export function commandHelp(command: CommandSpec): string {
  const { summary, notes, examples } = command;
  return [
    synopsisOf(command),
    "",
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    ...(notes === undefined ? [] : ["", notes]),
    "",
    "Options",
    ...optionLines(optionsOfCommand(command)),
    "",
    "Examples",
    ...examples.map((example) => `  holdfast ${example}`),
  ].join("\n");
}

const optionText = (name: string, { short, value }: OptionSpec): string =>
  `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` <${value}>`}`;

function optionLines(options: Readonly<Record<string, OptionSpec>>): string[] {
  const lines = Object.entries(options).map(([name, spec]) => [optionText(name, spec), helpOf(spec)] as const);
  const width = Math.max(0, ...lines.map(([left]) => left.length));
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

const helpOf = ({ help, choices, value }: OptionSpec): string =>
  choices === undefined || value === "format" ? help : `${choices.join(", ")}; ${help}`;

/** docs/reference/cli.md, made from the table. */
export function referenceOfCommands(): string {
  return [
    "# Commands of holdfast",
    "",
    "Generated from `src/cli/commands.ts` by `npm run sync`. `holdfast help <command>` prints the same.",
    "",
    ...COMMANDS.flatMap(commandSection),
    "## Options of every command",
    "",
    ...optionList(COMMON_OPTIONS),
    "",
    "## Exit codes",
    "",
    "| code | means |",
    "| --- | --- |",
    ...Object.entries(EXIT_MEANINGS).map(([code, means]) => `| ${code} | ${means} |`),
    "",
    "New codes may come; an unknown one is a failure.",
  ].join("\n");
}

function commandSection(command: CommandSpec): string[] {
  const { name, summary, notes, examples } = command;
  const own = Object.fromEntries(
    Object.entries(optionsOfCommand(command)).filter(([option]) => !Object.hasOwn(COMMON_OPTIONS, option)),
  );
  return [
    `## ${name}`,
    "",
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.${notes === undefined ? "" : ` ${notes}`}`,
    "",
    "```sh",
    `${synopsisOf(command)}`,
    ...examples.map((example) => `holdfast ${example}`),
    "```",
    "",
    ...optionList(own),
    ...(Object.keys(own).length === 0 ? [] : [""]),
  ];
}

const optionList = (options: Readonly<Record<string, OptionSpec>>): string[] =>
  Object.entries(options).map(([name, spec]) => `- \`${optionText(name, spec)}\`: ${helpOf(spec)}`);
