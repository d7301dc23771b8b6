import type { CommandSpec, OptionSpec } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { COMMON_OPTIONS, optionsOfCommand } from "./common-options.ts";
import { EXIT_MEANINGS } from "./exit-codes.ts";
import { helpOf, optionText, synopsisOf } from "./help.ts";

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
