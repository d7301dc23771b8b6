import type { CommandCall } from "../../command.ts";
import { COMMANDS } from "../../commands.ts";
import { optionsOfCommand } from "../../common-options.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";

export async function run({ given, printer }: CommandCall): Promise<ExitCode> {
  const shell = SHELLS.find((name) => name === given["shell"]);
  if (shell === undefined) throw new UsageError(`completion is there for ${SHELLS.join(", ")}`);
  await printer.text(completionFor(shell));
  return EXIT.done;
}

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** What makes a shell complete the commands and their options, from the table. */
export function completionFor(shell: Shell): string {
  if (shell === "fish") return fish();
  return shell === "zsh" ? `autoload -Uz bashcompinit && bashcompinit\n${bash()}` : bash();
}

const firstWords = (): string[] => [...new Set(COMMANDS.map(({ name }) => name.split(" ")[0] ?? ""))];

const secondWords = (first: string): string[] =>
  COMMANDS.flatMap(({ name }) => (name.startsWith(`${first} `) ? [name.slice(first.length + 1)] : []));

function optionsBehind(first: string): string[] {
  const commands = COMMANDS.filter(({ name }) => name === first || name.startsWith(`${first} `));
  return [...new Set(commands.flatMap((command) => Object.keys(optionsOfCommand(command))))].map((name) => `--${name}`);
}

function bash(): string {
  const cases = firstWords().map((first) => {
    const words = [...secondWords(first), ...optionsBehind(first)].join(" ");
    return `    ${first}) COMPREPLY=($(compgen -W "${words}" -- "$word")) ;;`;
  });
  return [
    "_holdfast() {",
    `  local word="\${COMP_WORDS[COMP_CWORD]}"`,
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    COMPREPLY=($(compgen -W "${firstWords().join(" ")} --help --version" -- "$word"))`,
    "    return",
    "  fi",
    `  case "\${COMP_WORDS[1]}" in`,
    ...cases,
    "  esac",
    "}",
    "complete -o default -F _holdfast holdfast",
  ].join("\n");
}

function fish(): string {
  const lines = firstWords().map((first) => {
    const summary = COMMANDS.find(({ name }) => name === first)?.summary ?? secondWords(first).join(", ");
    return `complete -c holdfast -n __fish_use_subcommand -a ${first} -d '${summary.replaceAll("'", "\\'")}'`;
  });
  for (const first of firstWords()) {
    const behind = `complete -c holdfast -n '__fish_seen_subcommand_from ${first}'`;
    for (const second of secondWords(first)) lines.push(`${behind} -a ${second}`);
    for (const option of optionsBehind(first)) lines.push(`${behind} -l ${option.slice(2)}`);
  }
  return lines.join("\n");
}
