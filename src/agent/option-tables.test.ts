import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { OptionRow } from "../internal/option-table.ts";
import { scriptedModel } from "../testing/models/scripted-model.ts";
import { Agent } from "../wiring/agent.ts";
import { AGENT_OPTIONS, RUN_OPTIONS } from "./option-tables.ts";

const rows = (table: object): [string, OptionRow][] => Object.entries(table);
const NUMBERS = rows(AGENT_OPTIONS).filter(([, { least, above }]) => least !== undefined || above !== undefined);
const make = (options: object): Agent => new Agent({ model: scriptedModel(["hi"]), ...options });

test.each(NUMBERS)("a number that is out of range for %s is refused when the agent is made", (name, row) => {
  const { least, above, whole, or } = row;
  const wrong = [least === undefined ? above : least - 1, Number.NaN, ...(whole === true ? [(least ?? 0) + 0.5] : [])];
  for (const value of wrong) expect(() => make({ [name]: value })).toThrow(new RegExp(`${name} must be a`));
  for (const value of [least ?? (above ?? 0) + 1, or]) expect(() => make({ [name]: value })).not.toThrow();
});

test("what an editor shows as an option's default is the default", async () => {
  const sources = ["agent-options.ts", "run/limits.ts", "run-options.ts"];
  const text = (await Promise.all(sources.map((path) => readFile(new URL(path, import.meta.url), "utf8")))).join("\n");
  const { whenBusy: _, ...ofRuns } = RUN_OPTIONS;
  for (const [name, { default: value }] of [...rows(AGENT_OPTIONS), ...rows(ofRuns)]) {
    const comment = new RegExp(`/\\*\\*((?:[^*]|\\*(?!/))*)\\*/\\s*readonly ${name}\\?:`).exec(text)?.[1] ?? "";
    const told = /@default ("[^"]*"|\w+)/.exec(comment)?.[1];
    if (value !== undefined) expect([name, told]).toEqual([name, JSON.stringify(value)]);
    else expect([name, told]).toEqual([name, told === "no" || told === "Date" ? told : undefined]);
  }
});
