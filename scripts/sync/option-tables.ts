/** The tables of options, from the tables that the options are checked by. */
import { AGENT_OPTIONS, RUN_OPTIONS } from "../../src/agent/option-tables.ts";
import type { OptionRow } from "../../src/internal/option-table.ts";
import type { SyncedPart } from "./part.ts";

function table(options: Readonly<Record<string, OptionRow>>): string[] {
  const rows = Object.entries(options).map(([name, row]) => `| \`${name}\` | ${shown(row)} | ${linked(row)} |`);
  return ["| option | default | |", "| --- | --- | --- |", ...rows];
}

const shown = ({ default: value }: OptionRow): string => (value === undefined ? "" : `\`${JSON.stringify(value)}\``);

/** The links of a row lead from docs/. */
const linked = ({ says }: OptionRow): string => says.replaceAll("](", "](../");

export const OPTION_TABLES: SyncedPart = {
  path: "docs/reference/options.md",
  source: "src/agent/option-tables.ts",
  write: () =>
    [
      "# Options of an agent and of a run",
      "",
      "Generated from `src/agent/option-tables.ts` by `npm run sync`. All but `model` are optional.",
      "",
      "## An agent",
      "",
      ...table(AGENT_OPTIONS),
      "",
      "## A run",
      "",
      ...table(RUN_OPTIONS),
      "",
    ].join("\n"),
};
