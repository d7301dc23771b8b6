import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { openCheckpointer } from "../open.ts";
import { sqliteCheckpointer, sqliteStore } from "./index.ts";
import { openDatabase } from "./open-file.ts";

const root = await mkdtemp(join(tmpdir(), "holdfast-sqlite-raised-"));
afterAll(() => rm(root, { recursive: true }));
const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

test("a process that is open when a newer build migrates the tables stops reading and writing that part, and still works with the others", async () => {
  const path = join(root, "a.db");
  await using checkpointer = sqliteCheckpointer({ path });
  await using store = sqliteStore({ path });
  await using reader = await openCheckpointer(`sqlite:${path}`, { access: "read" });
  await checkpointer.save(said("hello"), "t");
  // Once more, so that the next save of the thread is one statement.
  const state = ((await checkpointer.load("t")) ?? said("never")).withMessage(userMessage("again"));
  await checkpointer.save(state, "t");
  await store.put(["n"], "k", { v: 1 });
  expect((await reader.load("t"))?.messages).toHaveLength(2);
  const newer = await openDatabase(path);
  const raise = (part: string, version: number): unknown =>
    newer.exec(`UPDATE holdfast_schema SET version = ${version} WHERE part = '${part}'`);

  raise("checkpoints", 99);
  const calls: readonly (() => Promise<unknown>)[] = [
    () => checkpointer.save(state.withMessage(userMessage("more")), "t"),
    () => checkpointer.save(said("new"), "u"),
    () => Promise.all(["v", "w"].map((thread) => checkpointer.save(said("together"), thread))),
    () => checkpointer.load("t"),
    () => checkpointer.listThreads(),
    () => checkpointer.delete("t"),
    () => reader.load("t"),
  ];
  for (const call of calls) {
    const failure = await failureOf(call);
    expect(failure).toMatchObject({ code: "INCOMPATIBLE" });
    expect(failure.message).toMatch(/"checkpoints" have version 99; this build knows up to 1. Upgrade holdfast/);
  }
  await store.put(["n"], "k", { v: 2 });

  raise("store", 99);
  expect(await failureOf(() => store.put(["n"], "k", { v: 3 }))).toMatchObject({ code: "INCOMPATIBLE" });
  expect(await failureOf(() => store.get(["n"], "k"))).toMatchObject({ code: "INCOMPATIBLE" });

  raise("checkpoints", 1);
  raise("store", 1);
  expect((await checkpointer.load("t"))?.messages).toHaveLength(2);
  expect(await store.get(["n"], "k")).toEqual({ v: 2 });
  await checkpointer.save(state.withMessage(userMessage("more")), "t");
  newer.close();
});
