/** The tables of options in docs/agent.md, from the tables that the options are checked by. */
import { AGENT_OPTIONS, RUN_OPTIONS } from "../../src/agent/option-tables.ts";
import type { OptionRow } from "../../src/internal/option-table.ts";
import { between, type SyncedPart } from "./part.ts";

const marksOf = (what: string): readonly [string, string] => [
  `<!-- ${what}: written by npm run sync -->`,
  `<!-- end of ${what} -->`,
];

function table(options: Readonly<Record<string, OptionRow>>): string {
  const rows = Object.entries(options).map(([name, row]) => `| \`${name}\` | ${shown(row)} | ${row.says} |`);
  return ["| option | default | |", "| --- | --- | --- |", ...rows].join("\n");
}

const shown = ({ default: value }: OptionRow): string => (value === undefined ? "" : `\`${JSON.stringify(value)}\``);

export const OPTION_TABLES: SyncedPart = {
  path: "docs/agent.md",
  source: "src/agent/option-tables.ts",
  write: async (text) => {
    const ofAgents = await between(text, marksOf("options of an agent"), () => table(AGENT_OPTIONS));
    return between(ofAgents, marksOf("options of a run"), () => table(RUN_OPTIONS));
  },
};
