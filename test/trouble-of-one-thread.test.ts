import { describe, expect, test } from "vitest";
import { MemoryLog } from "../src/backends/memory/log.ts";
import { assertCheckpointer } from "../src/checkpoint/assert-checkpointer.ts";
import { BaseCheckpointer, type CheckpointSummary } from "../src/checkpoint/base-checkpointer.ts";
import { type CheckpointerCapabilities, capabilities } from "../src/checkpoint/capabilities.ts";
import { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { StorageBackendAdapter } from "../src/checkpoint/dict/adapter.ts";
import type { ThreadLog } from "../src/checkpoint/log/thread-log.ts";
import { ruleModel } from "../src/entry/testing.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { userMessage } from "../src/state/message.ts";
import type { CheckpointerCase } from "../src/testing/checkpointer-cases/checkpointer-case.ts";
import { checkpointerSuite } from "../src/testing/checkpointer-cases/suite.ts";
import { manualClock } from "../src/testing/manual-clock.ts";
import { runCase } from "../src/testing/run-case.ts";
import { Agent } from "../src/wiring/agent.ts";
import { MapStorage } from "./dict-storages.ts";
import { failureOf } from "./failure-of.ts";
import { LOCAL_BACKENDS, tearFileWith } from "./local-backends.ts";

/** Statements of the conformance suite that outside tests once found broken, by their numbers there. */
const STATEMENTS: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  B2: ["a vacuum and a deletion end beside a writer that never stops"],
  B3: [
    /^one thread's record that cannot be read/,
    "metadata of one thread that cannot be read keeps no query from the others",
    "eight megabytes of letters in one message keep no other thread from being found",
  ],
  B7: [
    "a copy of a leased thread is free, and the lease is no right to it",
    "a thread that is nothing but a lease is nothing to copy or to fork",
    "a lease of a hundred years or for ever is held, and renewed no more often than needed",
  ],
  C4: [
    "a checkpoint id in the place of options is that checkpoint or refused, and never the whole thread",
    "the short forms are taken: a checkpoint id, its metadata, a number of checkpoints",
    "anything else in the place of options is INVALID_ARGUMENT, and nothing is done",
    "an option that does not exist is INVALID_ARGUMENT, and the message names it and the one that was meant",
    "a cursor that another method made, or that was made up, is INVALID_ARGUMENT",
  ],
};

const casesOf = (statements: readonly (string | RegExp)[]): readonly CheckpointerCase[] =>
  statements.flatMap((statement) => {
    const found = checkpointerSuite.cases.filter(({ name }) =>
      typeof statement === "string" ? name === statement : statement.test(name),
    );
    expect(found, String(statement)).not.toHaveLength(0);
    return found;
  });

describe.each(LOCAL_BACKENDS)("$name", ({ create }) => {
  for (const [number, statements] of Object.entries(STATEMENTS)) {
    for (const each of casesOf(statements)) {
      test(`${number}: ${each.name}`, async () => {
        const storage = await create();
        const result = await runCase(checkpointerSuite, each, async () => ({
          subject: storage.open(),
          cleanup: storage.dispose,
        }));
        expect(result.outcome === "failed" ? result.error : result.outcome).toBe("passed");
      });
    }
  }
});

test("a copy and a fork end with their source", async () => {
  const [each] = casesOf(["a copy and a fork end with their source, and those of a thread without an end have no end"]);
  const clock = manualClock();
  const result = await runCase(checkpointerSuite, each!, async () => ({
    subject: new Checkpointer(new MemoryLog(clock), clock),
    clock,
  }));
  expect(result).toMatchObject({ outcome: "passed" });
});

describe("a thread whose files or documents are torn", () => {
  const words = ["apple", "berry", "cherry"];
  const fill = async (checkpointer: Checkpointer): Promise<void> => {
    for (const word of words) {
      const state = AgentState.create().withMessage(userMessage(`${word} needle`));
      await checkpointer.save(state, word);
      await checkpointer.save(state.withMetadata({ again: true }), word);
    }
  };
  const others = ["apple", "cherry"];

  test("on files: search and vacuum reach the others and name the trouble", async () => {
    const storage = await LOCAL_BACKENDS.find(({ name }) => name === "file")!.create();
    const checkpointer = storage.open();
    await fill(checkpointer);
    await tearFileWith(storage.directory!, "berry needle");
    const hits = await storage.open().search("needle", { limit: 9 });
    expect(hits.map(({ threadId }) => threadId)).toEqual(expect.arrayContaining(others));
    expect(hits.warnings).not.toHaveLength(0);
    const report = await storage.open().vacuum({ keepLast: 1 });
    expect(report.checkpoints).toBeGreaterThanOrEqual(2);
    for (const word of others) expect((await checkpointer.stats(word))?.checkpoints).toBe(1);
    await storage.dispose();
  });

  test("in a dict storage: search, vacuum and the list reach the others and say that one cannot be read", async () => {
    const cells = new Map<string, string>();
    const checkpointer = new StorageBackendAdapter(new MapStorage(cells));
    await fill(checkpointer);
    const [key, text] = [...cells].find(([, value]) => value.includes('"berry"'))!;
    cells.set(key, text.replace('"berry"', '"barry"'));
    const hits = await checkpointer.search("needle");
    expect(hits.map(({ threadId }) => threadId).sort()).toEqual(others);
    expect(hits.warnings).toMatchObject([{ code: "CORRUPT" }]);
    const report = await checkpointer.vacuum({ keepLast: 1 });
    expect(report).toMatchObject({ checkpoints: 2, skipped: 1, warnings: [{ code: "CORRUPT" }] });
    const listed = await checkpointer.listThreads();
    expect([...listed].sort()).toEqual(others);
    expect([listed.cursor, listed.warnings]).toMatchObject([undefined, [{ threadId: undefined, code: "CORRUPT" }]]);
  });
});

describe("a backend of a user's own", () => {
  class Dictionary extends BaseCheckpointer {
    readonly stored = new Map<string, unknown>();
    capabilities: CheckpointerCapabilities = capabilities({ history: true });

    async save(state: AgentState, threadId: string): Promise<string> {
      this.stored.set(threadId, state.toCheckpoint());
      return "c1";
    }
    async load(threadId: string): Promise<AgentState | undefined> {
      return this.stored.get(threadId) as AgentState | undefined;
    }
    async listCheckpoints(threadId: string): Promise<readonly (string | CheckpointSummary)[]> {
      return this.stored.has(threadId) ? ["c2", "c1"] : [];
    }
    async delete(threadId: string): Promise<boolean> {
      return this.stored.delete(threadId);
    }
  }

  test("may list plain ids", async () => {
    const checkpointer = new Dictionary();
    await checkpointer.save(AgentState.create(), "t");
    const ids: string[] = [];
    for await (const { checkpointId } of checkpointer.history("t")) ids.push(checkpointId);
    expect(ids).toEqual(["c2", "c1"]);
  });

  test("whose load returns what it stored is told what to return, by the agent and by every method", async () => {
    const checkpointer = new Dictionary();
    await checkpointer.save(AgentState.create(), "t");
    const agent = new Agent({ model: ruleModel([{ when: /./, answer: "yes" }]), checkpointer });
    for (const call of [
      () => agent.run("hello", { threadId: "t" }),
      () => checkpointer.exists("t"),
      () => checkpointer.diff("t", "c1", "c2"),
    ]) {
      await expect(call()).rejects.toThrow(
        /Dictionary\.load\(\) returned an object that is no AgentState.*AgentState\.fromCheckpoint\(data\)/s,
      );
    }
  });

  test("whose flag has no method is refused with the reason, when it is handed over and when it is called", async () => {
    const checkpointer = new Dictionary();
    checkpointer.capabilities = capabilities({ search: true });
    const message = /class Dictionary advertises "search" and does not implement search\(\)/;
    expect(() => assertCheckpointer(checkpointer, "Agent({ checkpointer })")).toThrow(message);
    expect(await failureOf(() => checkpointer.search("x"))).toMatchObject({
      code: "UNSUPPORTED",
      message:
        'Dictionary advertises "search" and has no search(): implement it, or leave the flag out of its capabilities',
    });
  });

  test("that lacks a method or its capabilities is refused where it is handed over", () => {
    const lacking = Object.assign(new Dictionary(), { load: undefined });
    expect(() => assertCheckpointer(lacking, "here")).toThrow("here: class Dictionary lacks load()");
    const silent = Object.assign(new Dictionary(), { capabilities: undefined });
    expect(() => assertCheckpointer(silent, "here")).toThrow("class Dictionary has no capabilities");
  });

  test("whose pages never end is not walked for ever", async () => {
    class Endless extends Dictionary {
      override async listCheckpoints(): Promise<readonly string[] & { cursor: string }> {
        return Object.assign(["c1"], { cursor: "again" });
      }
    }
    const walk = async (): Promise<void> => {
      for await (const _ of new Endless().history("t"));
    };
    await expect(walk()).rejects.toThrow("gave the same cursor twice");
  });

  test("that is no driver is refused when a checkpointer is made of it", () => {
    for (const wrong of [undefined, null, "sqlite:a.db", {}, new Map()]) {
      expect(() => new Checkpointer(wrong as unknown as ThreadLog)).toThrow(/takes a ThreadLog driver/);
    }
    const { capabilities: flags } = new MemoryLog();
    const half = { capabilities: flags, append: async () => undefined, readTail: async () => undefined };
    expect(() => new Checkpointer(half as unknown as ThreadLog)).toThrow(/this one lacks readCheckpoint, entry, tail/);
  });
});

test("the short forms are part of the types", async () => {
  const checkpointer = new Checkpointer(new MemoryLog());
  const state = AgentState.create().withMessage(userMessage("hello"));
  await checkpointer.save(state, "t", "first", { tag: 1 });
  expect(await checkpointer.getMetadata("t", "first")).toEqual({ tag: 1 });
  expect(await checkpointer.exists("t", "first")).toBe(true);
  expect((await checkpointer.load("t", "first"))?.messages).toHaveLength(1);
  expect(await checkpointer.listCheckpoints("t", 10)).toHaveLength(1);
  for await (const summary of checkpointer.history("t")) expect(await checkpointer.load("t", summary)).toBeDefined();
  expect(await checkpointer.fork("t", "u", "first")).toBeDefined();
  expect(await checkpointer.delete("t", "first")).toBe(true);
});
