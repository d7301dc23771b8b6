import { afterEach, describe, expect, test, vi } from "vitest";
import {
  altered,
  everything,
  FROM_AND_TO,
  killedEverywhere,
  type Layer,
  smallRecords,
  standBetween,
  stores,
} from "../../test/cli/copy-ends.ts";
import { holdfast } from "../../test/cli/fake-world.ts";
import { LOCAL_BACKENDS, type LocalBackend } from "../../test/local-backends.ts";
import { fillStore } from "../../test/read-access/fill-store.ts";
import { Checkpointer } from "../checkpoint/checkpointer.ts";
import { contextOf } from "../checkpoint/context.ts";
import type { ThreadLog } from "../checkpoint/log/thread-log.ts";
import { StateError } from "../errors.ts";
import { type CheckpointSaver, saverOf } from "../saver/checkpoint-saver.ts";
import { AgentState } from "../state/agent-state.ts";
import { userMessage } from "../state/message.ts";
import { growThread } from "../testing/checkpointer-cases/conversations.ts";

afterEach(() => vi.restoreAllMocks());

const [memory, dict, file, sqlite] = LOCAL_BACKENDS as [LocalBackend, LocalBackend, LocalBackend, LocalBackend];
const PAIRS = [memory, dict, file].flatMap((other) => [
  { source: other, target: sqlite },
  { source: sqlite, target: other },
]);

describe.each(PAIRS)("from $source.name to $target.name", ({ source, target }) => {
  test("a copy has every checkpoint of every thread with its time, metadata and state, and copying again copies nothing", () =>
    stores(source, target, async (from, to) => {
      await fillStore(from.open());
      await contextOf(to.open())?.log.listThreads({ prefix: "", limit: 1 });
      standBetween(from, to);
      const first = await holdfast(["copy", ...FROM_AND_TO, "-o", "json"]);
      expect(first).toMatchObject({ code: 0, stderr: "" });
      const { threads, copied, verified, failed } = JSON.parse(first.stdout);
      expect({ copied, verified, failed }).toEqual({ copied: threads, verified: threads, failed: 0 });
      expect(await everything(to)).toEqual(await everything(from));
      const again = JSON.parse((await holdfast(["copy", ...FROM_AND_TO, "-o", "json"])).stdout);
      expect(again).toMatchObject({ copied: 0, thereAlready: threads, records: 0, verified: threads });
    }));
});

// Every backend, and every way to be killed: the campaign copy-killed.
test.each([
  ["after", []],
  ["before", ["--cut-over"]],
] as const)(
  "a copy that is killed %s any driver call is whole when it is run again, and no write id is there twice: %j",
  (when, args) =>
    stores(memory, sqlite, async (from, to) => {
      expect(await killedEverywhere(from, to, when, args)).toBeGreaterThan(15);
    }),
);

test("what was saved since is added, and a thread that was edited or written elsewhere is reported and left alone", () =>
  stores(memory, sqlite, async (from, to) => {
    const writer = from.open();
    const { ids } = await growThread(writer, "grows", 5);
    await growThread(writer, "edited", 5);
    await growThread(writer, "both", 5);
    await to.open().save(AgentState.create(), "strange");
    await writer.save(AgentState.create(), "strange");
    standBetween(from, to);
    expect((await holdfast(["copy", ...FROM_AND_TO])).code).toBe(3);
    const grown = await writer.load("grows");
    await writer.save(grown?.withMessage(userMessage("more")) ?? AgentState.create(), "grows", "newest");
    const edited = await writer.listCheckpoints("edited");
    await writer.delete("edited", edited[3]?.checkpointId ?? "");
    const target = to.open();
    await target.save((await target.load("both"))?.withMessage(userMessage("there")) ?? AgentState.create(), "both");
    const before = await everything(to);
    const dry = await holdfast(["copy", ...FROM_AND_TO, "--dry-run", "-o", "json"]);
    expect(await everything(to)).toEqual(before);
    expect(JSON.parse(dry.stdout)).toMatchObject({ copied: 1, records: 1, failed: 3, dryRun: true });
    const { code, stderr } = await holdfast(["copy", ...FROM_AND_TO]);
    expect(code).toBe(3);
    expect(
      stderr
        .split("\n")
        .map((line) => line.split("  ")[0])
        .sort(),
    ).toEqual(["", "both", "edited", "strange"]);
    expect((await target.listCheckpoints("grows")).map(({ checkpointId }) => checkpointId)).toEqual([
      "newest",
      ...ids.toReversed(),
    ]);
    expect((await holdfast(["copy", ...FROM_AND_TO, "--on-conflict", "skip"])).code).toBe(0);
    expect((await holdfast(["copy", ...FROM_AND_TO, "--on-conflict", "replace"])).code).toBe(0);
    expect(await everything(to)).toEqual(await everything(from));
  }));

test("a graph's thread is copied as it is", () =>
  stores(memory, sqlite, async (from, to) => {
    const saver = saverOf(from.open());
    const put = { threadId: "graph", metadata: { tag: "x" } };
    await saver.put({ ...put, checkpointId: "g1", checkpointData: { values: { messages: ["of badgers"] } } });
    const writes: [string, unknown][] = [["messages", ["again"]]];
    await saver.putWrites({ threadId: "graph", checkpointId: "g1", taskId: "t", writes });
    const checkpointData = { values: { messages: ["of badgers", "again"] } };
    await saver.put({ ...put, checkpointId: "g2", parentId: "g1", checkpointData });
    standBetween(from, to);
    expect((await holdfast(["copy", ...FROM_AND_TO])).code).toBe(0);
    const copied = saverOf(to.open());
    for (const checkpointId of ["g1", "g2"]) {
      const place = { threadId: "graph", checkpointId };
      expect(await copied.get(place)).toEqual(await saver.get(place));
    }
    expect((await to.open().verify("graph"))?.faults).toEqual([]);
  }));

/**
 * A graph with this many steps, each with a write; every message is shared by all that come after it.
 */
async function growGraph(saver: CheckpointSaver, from: number, to: number): Promise<void> {
  for (let step = from; step <= to; step++) {
    const messages = Array.from({ length: step }, (_, at) => `message ${at}`);
    const parent = step === 1 ? {} : { parentId: `g${step - 1}` };
    await saver.put({
      threadId: "graph",
      checkpointId: `g${step}`,
      checkpointData: { values: { messages } },
      ...parent,
    });
    const writes: [string, unknown][] = [["messages", [`message ${step}`]]];
    await saver.putWrites({ threadId: "graph", checkpointId: `g${step}`, taskId: `t${step}`, writes });
  }
}

/** All that a graph finds in its thread. */
async function allOfGraph(checkpointer: Checkpointer): Promise<unknown> {
  const saver = saverOf(checkpointer);
  const found: unknown[] = [];
  for (const listed of await saver.listCheckpoints({ threadId: "graph" })) found.push(await listed.load());
  expect((await checkpointer.verify("graph"))?.faults).toEqual([]);
  return found;
}

test("a graph's thread that was pruned, and held by leases between its records, is copied whole and continues there", () =>
  stores(memory, sqlite, async (from, to) => {
    const writer = from.open();
    await growGraph(saverOf(writer), 1, 4);
    expect((await writer.vacuum({ keepLast: 2 })).checkpoints).toBeGreaterThan(0);
    await writer.withLease("graph", async () => undefined);
    await growGraph(saverOf(writer), 5, 6);
    standBetween(from, to, smallRecords);
    const dry = await holdfast(["copy", ...FROM_AND_TO, "--dry-run", "-o", "json"]);
    expect(JSON.parse(dry.stdout)).toMatchObject({ copied: 1, failed: 0 });
    const { stdout } = await holdfast(["copy", ...FROM_AND_TO, "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({ copied: 1, verified: 1, failed: 0 });
    expect(await allOfGraph(to.open())).toEqual(await allOfGraph(writer));
    const { records } = (await contextOf(to.open())?.log.readRecords("graph", { limit: 100 })) ?? { records: [] };
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, at) => at + 1));
    await growGraph(saverOf(writer), 7, 7);
    expect((await holdfast(["copy", ...FROM_AND_TO])).code).toBe(0);
    expect(await allOfGraph(to.open())).toEqual(await allOfGraph(writer));
    await growGraph(saverOf(to.open()), 8, 8);
    expect(await allOfGraph(to.open())).toHaveLength(6);
    // The same through a file.
    const exported = (await holdfast(["export", "memory:from"])).stdout;
    const elsewhere = await memory.create();
    standBetween(from, elsewhere);
    expect((await holdfast(["import", "memory:to", "-"], { typed: exported })).code).toBe(0);
    expect(await allOfGraph(elsewhere.open())).toEqual(await allOfGraph(writer));
  }));

test("a graph's thread that lost a record in its middle is reported, and not closed over", () =>
  stores(memory, sqlite, async (from, to) => {
    await growGraph(saverOf(from.open()), 1, 4);
    const losing: Layer = (log) =>
      altered(log, {
        readRecords: async (...given) => {
          const chain = await log.readRecords(...given);
          return chain && { ...chain, records: chain.records.filter(({ seq }) => seq !== 3) };
        },
      });
    const log = losing(contextOf(from.open())?.log as ThreadLog);
    standBetween({ ...from, open: () => new Checkpointer(log) }, to);
    const { code, stderr } = await holdfast(["copy", ...FROM_AND_TO]);
    expect([code, stderr]).toEqual([3, expect.stringContaining("a record before record 4 is missing")]);
    expect(await to.open().exists("graph")).toBe(false);
  }));

test("two copies at once are one copy", () =>
  stores(memory, sqlite, async (from, to) => {
    await growThread(from.open(), "t", 40);
    standBetween(from, to, smallRecords);
    const both = await Promise.all([holdfast(["copy", ...FROM_AND_TO]), holdfast(["copy", ...FROM_AND_TO])]);
    expect(both.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ""],
      [0, ""],
    ]);
    expect(await everything(to)).toEqual(await everything(from));
  }));

test("a record that the target cannot take is reported before anything of its thread is written", () =>
  stores(memory, memory, async (from, to) => {
    await from.open().save(AgentState.create().withMessage(userMessage("x".repeat(5000))), "large");
    await from.open().save(AgentState.create(), "small");
    standBetween(from, to, smallRecords);
    const { code, stderr } = await holdfast(["copy", ...FROM_AND_TO]);
    expect(code).toBe(3);
    expect(stderr).toContain("TOO_LARGE");
    expect(await to.open().exists("large")).toBe(false);
    expect(await to.open().exists("small")).toBe(true);
  }));

test("a target that does not keep what it was given is found by the comparison", () =>
  stores(memory, memory, async (from, to) => {
    await growThread(from.open(), "t", 5);
    const forgetful: Layer = (log) =>
      altered(log, {
        readRecords: async (...given) => {
          const chain = await log.readRecords(...given);
          return chain && { ...chain, records: chain.records.slice(1) };
        },
      });
    standBetween(from, to, forgetful);
    const { code, stderr } = await holdfast(["copy", ...FROM_AND_TO]);
    expect([code, stderr.includes("not equal to the source")]).toEqual([3, true]);
    expect((await holdfast(["copy", ...FROM_AND_TO, "--verify", "none"])).code).toBe(0);
  }));

test("a thread larger than what is kept in memory is read part by part and arrives whole", () =>
  stores(sqlite, sqlite, async (from, to) => {
    const writer = from.open();
    let state = AgentState.create();
    for (let at = 0; at < 12; at++) {
      state = state.withMessage(userMessage(`${at}${"x".repeat(1_000_000)}`));
      await writer.save(state, "large", `c${at}`);
    }
    await writer.withLease("large", async (lease) =>
      writer.save(state.withMessage(userMessage("last")), "large", { lease, checkpointId: "last" }),
    );
    standBetween(from, to);
    const { stdout } = await holdfast(["copy", ...FROM_AND_TO, "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({ copied: 1, verified: 1, failed: 0 });
    expect(await everything(to)).toEqual(await everything(from));
    expect(await to.open().leaseOf("large")).toBe(undefined);
  }));

test("a storage that cannot be reached ends the copy, which is no trouble of one thread", () =>
  stores(memory, memory, async (from, to) => {
    await growThread(from.open(), "t", 2);
    const down: Layer = (log) =>
      altered(log, {
        tail: async () => {
          throw new StateError("UNAVAILABLE", "no answer");
        },
      });
    standBetween(from, to, down);
    expect((await holdfast(["copy", ...FROM_AND_TO])).code).toBe(8);
  }));
