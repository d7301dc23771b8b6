import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { afterAll, expect, test } from "vitest";
import { holdfast } from "../../test/cli/fake-world.ts";
import { SCENARIOS } from "../../test/langgraph/graph-scenarios.ts";
import { hashedFiles } from "../../test/read-access/hashed-files.ts";
import { betterSqlite3Loads } from "../../test/sqlite/better-sqlite3-loads.ts";
import { sqliteCheckpointer } from "../backends/sqlite/index.ts";
import { AgentState } from "../state/agent-state.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-cli-langgraph-"));
afterAll(() => rm(folder, { recursive: true }));

/** Their saver needs better-sqlite3. */
const theirs = (): SqliteSaver | undefined =>
  betterSqlite3Loads ? SqliteSaver.fromConnString(join(folder, "theirs.db")) : undefined;

test("threads of LangGraph's own SQLite file are copied whole, again without a change, and their file stays as it is", async (running) => {
  const saver = theirs();
  if (saver === undefined) return running.skip("better-sqlite3 is built for another Node");
  for (const { run } of SCENARIOS.slice(0, 3)) await run(saver);
  saver.db.close();
  const from = `langgraph+sqlite:${join(folder, "theirs.db")}`;
  const to = `sqlite:${join(folder, "ours.db")}`;
  const before = (await hashedFiles(folder))["theirs.db"];
  const copy = async (...args: string[]) => {
    const { code, stdout, stderr } = await holdfast(["copy", from, to, "--json", ...args]);
    return { code, stderr, ...JSON.parse(stdout) };
  };
  const dry = await copy("--dry-run");
  expect([dry.code, dry.copied > 0]).toEqual([0, true]);
  expect(Object.keys(await hashedFiles(folder))).not.toContain("ours.db");
  const first = await copy();
  expect(first).toMatchObject({ code: 0, stderr: "", copied: dry.threads, failed: 0 });
  expect(await copy()).toMatchObject({ code: 0, copied: 0, thereAlready: dry.threads });
  expect((await hashedFiles(folder))["theirs.db"]).toBe(before);
  const { stdout } = await holdfast(["threads", to, "-o", "id"]);
  const [one = "", two = ""] = stdout.trim().split("\n");
  const ours = sqliteCheckpointer({ path: join(folder, "ours.db") });
  await ours.delete(one);
  await ours.delete(two);
  await ours.save(AgentState.create(), two);
  const mixed = await copy();
  expect(mixed).toMatchObject({ code: 3, copied: 1, failed: 1 });
  await ours.close();
});

test("a missing file is not created, and an argument that names no LangGraph store is refused", async () => {
  const to = `sqlite:${join(folder, "never.db")}`;
  expect((await holdfast(["copy", `langgraph+sqlite:${join(folder, "typo.db")}`, to])).code).toBe(4);
  expect((await holdfast(["copy", `langgraph+sqlite:${join(folder, "theirs.db")}`, to, "--freeze"])).code).toBe(2);
  expect((await holdfast(["threads", `langgraph+sqlite:${join(folder, "theirs.db")}`])).code).toBe(2);
  expect(Object.keys(await hashedFiles(folder))).not.toContain("never.db");
  expect(Object.keys(await hashedFiles(folder))).not.toContain("typo.db");
});
