import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { MemoryLog } from "../src/backends/memory/log.ts";
import { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { beginningOf, placeOfTail } from "../src/checkpoint/log/driver-rules.ts";
import type { LogRecord } from "../src/checkpoint/log/thread-log.ts";
import { openHeader } from "../src/checkpoint/record/record.ts";
import { AgentState, FORMAT_VERSION } from "../src/state/agent-state.ts";
import { exactForm } from "./exact-form.ts";
import { failureOf } from "./failure-of.ts";

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`golden/${name}`, import.meta.url), "utf8"));
const START = Date.UTC(2026, 0, 1);

test("every format there ever was has its golden files", () => {
  const folders = readdirSync(new URL("golden/", import.meta.url)).filter((name) => /^v\d/.test(name));
  expect(folders.sort()).toEqual(Array.from({ length: FORMAT_VERSION }, (_, index) => `v${index + 1}`));
});

describe("a state of format v1", () => {
  const noTotals = { runs: 0, iterations: 0, toolCalls: 0, inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 };

  test("that is empty", () => {
    expect(AgentState.fromCheckpoint(read("v1/state-empty.json")).fields).toMatchObject({
      messages: [],
      toolExecutions: [],
      reasoningSteps: [],
      errors: [],
      totals: noTotals,
      providerState: {},
      metadata: {},
    });
  });

  test("that holds only what was asked for", () => {
    const { messages, metadata, totals } = AgentState.fromCheckpoint({ format: 1, state: { metadata: { a: 1 } } });
    expect([messages, metadata, totals]).toEqual([[], { a: 1 }, noTotals]);
  });

  test("with every field and every kind of value", () => {
    const state = AgentState.fromCheckpoint(read("v1/state-everything.json"));
    expect(state.agentId).toBe("golden-agent");
    expect(state.messages).toEqual([
      { role: "system", content: "Be brief.", id: "m1" },
      {
        role: "user",
        content: [
          { type: "text", text: "What is in this picture? \u{1f600} \u0000 \u2028 \ud800" },
          { type: "file", mediaType: "image/png", data: Uint8Array.of(137, 80, 78, 71), filename: "a.png" },
          { type: "file", mediaType: "text/html", data: { url: "https://example.com/a" } },
        ],
        id: "m2",
        name: "Ada",
        metadata: { at: new Date(START) },
      },
      {
        role: "assistant",
        content: [{ type: "reasoning", text: "It asks.", providerMetadata: { anthropic: { signature: "sig" } } }],
        id: "m3",
        toolCalls: [
          { id: "call_1", name: "look", arguments: { box: [0, -0, 1.5], exact: 12345678901234567890n } },
          { id: "call_2", name: "look", arguments: {}, invalid: "the arguments are not JSON" },
        ],
        incomplete: true,
        providerMetadata: { openai: { itemId: "item_1" } },
      },
      { role: "tool", content: "a cat", id: "m4", toolCallId: "call_1", toolName: "look" },
      { role: "tool", content: "failed", toolCallId: "call_2", toolName: "look", isError: true },
    ]);
    expect(state.toolExecutions).toEqual([
      {
        toolCallId: "call_1",
        toolName: "look",
        status: "succeeded",
        idempotencyKey: "key-1",
        argumentsHash: "hash-1",
        attempts: 2,
        startedAt: START,
        settledAt: START + 1,
      },
      { toolCallId: "call_2", toolName: "look", status: "failed", error: "no such picture" },
    ]);
    expect(state.reasoningSteps).toEqual([{ iteration: 1, thought: "look at it", confidence: 0.5 }]);
    expect(state.errors).toEqual([{ at: START, where: "model", message: "overloaded" }]);
    expect(state.interrupts).toEqual([
      {
        id: "i1",
        toolCallId: "call_1",
        kind: "approval",
        question: "May I?",
        schema: { type: "boolean" },
        askedAt: START,
        answer: { value: true, at: START + 2 },
      },
    ]);
    expect(state.artifacts).toEqual({ "look-1": "a very long result" });
    expect(state.totals).toEqual({
      runs: 1,
      iterations: 2,
      toolCalls: 2,
      inputTokens: 30,
      outputTokens: 40,
      cachedInputTokens: 5,
    });
    expect(state.providerState).toEqual({ openai: { previousResponseId: "resp_1" } });
    const expected = {
      undefined: { member: undefined },
      numbers: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0],
      bigint: -18446744073709551616n,
      dates: [new Date(START), new Date(Number.NaN)],
      map: new Map<unknown, unknown>([
        ["key", 1],
        [{ object: true }, new Map([[1n, null]])],
      ]),
      set: new Set<unknown>(["b", "a", undefined]),
      bytes: Uint8Array.of(0, 127, 128, 255),
      buffer: Buffer.from([0, 127, 128, 255]),
      bare: Object.assign(Object.create(null), { $: "bare", inside: [1] }),
      likeTags: [{ $: "date", v: "2026-01-01" }, { $: "object", v: { $: "undefined" } }, { $: 1 }],
      proto: JSON.parse('{"__proto__":{"polluted":true},"constructor":1}'),
      keys: { "": 0, "10": 1, "9": 2, "a b": 3, "\ud800": 4 },
    };
    expect(exactForm(state.metadata)).toBe(exactForm(expected));
  });

  test.each(["state-empty", "state-everything"])("%s is written again as it is", (name) => {
    const document = read(`v1/${name}.json`);
    expect(AgentState.fromCheckpoint(document).toCheckpoint()).toEqual(document);
  });
});

interface DumpedThread {
  readonly threadId: string;
  readonly generation: string;
  readonly records: readonly (Omit<LogRecord, "body" | "checkpointId" | "metadata" | "words"> & {
    readonly body: string;
    readonly checkpointId?: string;
    readonly metadata?: string;
    readonly words?: string;
  })[];
}

/** Puts the records where a store of that time left them. Positions that were dropped are filled, and emptied again. */
async function seeded(): Promise<MemoryLog> {
  const { threadId, generation, records } = read("v1/thread.json") as DumpedThread;
  const log = new MemoryLog();
  const present = new Map(records.map((record) => [record.seq, record]));
  const gaps: number[] = [];
  let expected = beginningOf(generation);
  for (let seq = 1; seq <= records.at(-1)!.seq; seq++) {
    const { body = "{}", ...rest } = present.get(seq) ?? {
      seq,
      writeId: `gap ${seq}`,
      base: seq,
      head: 0,
      header: "{}",
    };
    const absent = { checkpointId: undefined, metadata: undefined, words: undefined };
    const record = { ...absent, ...rest, body: new Uint8Array(Buffer.from(body)) };
    const outcome = await log.append(threadId, { expected, record, drop: gaps.splice(0) });
    expected = placeOfTail({ generation, entry: record });
    expect(outcome.appended).toBe(true);
    if (!present.has(seq)) gaps.push(seq);
  }
  return log;
}

describe("a thread of format v1", () => {
  const schema = { version: 3, migrate: (fields: AgentState["fields"]) => fields };
  const open = async (): Promise<Checkpointer> =>
    new Checkpointer(await seeded(), { stateSchema: schema, now: () => START + 86_400_000 });

  test("holds every kind of record", () => {
    const { records } = read("v1/thread.json") as DumpedThread;
    const headers = records.map((record) =>
      openHeader({ checkpointId: undefined, metadata: undefined, ...record } as LogRecord & { body: never }),
    );
    expect([...new Set(headers.map(({ kind }) => kind))].sort()).toEqual(["base", "delta", "edit", "lease"]);
    expect(headers.some(({ freshMessages }) => freshMessages !== undefined)).toBe(true);
    expect(headers.at(-1)).toMatchObject({ kind: "lease", thread: { lease: { owner: "golden-worker" } } });
    const bodies = records.map(({ body }) => body).join();
    for (const part of ['"set":', '"unset":', '"append":', '"lists":', '"keep":', '"records":']) {
      expect(bodies).toContain(part);
    }
  });

  test("lists its checkpoints with their metadata", async () => {
    const listed = await (await open()).listCheckpoints("golden thread");
    const named = listed.slice(0, -1);
    expect(named.map(({ checkpointId }) => checkpointId)).toEqual([
      "after",
      "compacted",
      "settled",
      "called",
      "edited",
      "noted",
      "said",
    ]);
    for (const { checkpointId, metadata } of named) {
      expect(metadata).toEqual({ name: checkpointId, big: 1152921504606846976n });
    }
    expect(listed.map(({ messageCount }) => messageCount)).toEqual([4, 3, 3, 3, 3, 3, 3, 1]);
  });

  const expected: readonly [name: string, said: readonly string[], metadata: object, statuses: readonly string[]][] = [
    ["said", ["asked first", "answered", "asked again"], {}, []],
    ["noted", ["asked first", "answered", "asked again"], { a: 1, b: new Date(START) }, []],
    ["edited", ["asked first", "answered", "asked better"], { a: 1, b: new Date(START) }, []],
    [
      "called",
      ["asked first", "answered", "asked better"],
      { b: new Date(START), c: new Set([1]) },
      ["started", "started"],
    ],
    [
      "settled",
      ["asked first", "answered", "asked better"],
      { b: new Date(START), c: new Set([1]) },
      ["started", "succeeded"],
    ],
    [
      "compacted",
      ["summary", "answered", "asked better"],
      { b: new Date(START), c: new Set([1]) },
      ["started", "succeeded"],
    ],
    [
      "after",
      ["summary", "answered", "asked better", "answered better"],
      { b: new Date(START), c: new Set([1]) },
      ["started", "succeeded"],
    ],
  ];
  test.each(expected)("loads its checkpoint %s", async (checkpointId, said, metadata, statuses) => {
    const state = (await (await open()).load("golden thread", { checkpointId }))!;
    expect(state.messages.map(({ content }) => content)).toEqual(said);
    expect(exactForm(state.metadata)).toBe(exactForm(metadata));
    expect(state.toolExecutions.map(({ status }) => status)).toEqual(statuses);
    expect(state.agentId).toBe(checkpointId === "said" ? undefined : "golden-agent");
  });

  test("loads its newest, knows where it was forked from, and can be searched", async () => {
    const checkpointer = await open();
    expect((await checkpointer.load("golden thread"))?.messages).toHaveLength(4);
    expect(await checkpointer.lineage("golden thread")).toEqual([{ threadId: "golden origin", checkpointId: "o1" }]);
    expect((await checkpointer.search("summary")).map(({ checkpointId }) => checkpointId)).toEqual(["compacted"]);
  });

  test("goes on: its lease has run out, and a save, a deletion and a fork work", async () => {
    const checkpointer = await open();
    const state = (await checkpointer.load("golden thread"))!.withMetadata({ c: undefined });
    await checkpointer.save(state, "golden thread", { checkpointId: "new" });
    for (const checkpointId of ["compacted", "said"]) await checkpointer.delete("golden thread", { checkpointId });
    await checkpointer.fork("golden thread", "fork", { at: "settled" });
    expect((await checkpointer.load("fork"))?.messages).toHaveLength(3);
    const loaded = await checkpointer.load("golden thread");
    expect(exactForm(loaded?.fields)).toBe(exactForm(state.fields));
    expect(await checkpointer.withLease("golden thread", async () => "free")).toBe("free");
  });

  test("is INCOMPATIBLE for a program with an older schema", async () => {
    const older = new Checkpointer(await seeded(), { stateSchema: { ...schema, version: 2 } });
    expect(await failureOf(() => older.load("golden thread"))).toMatchObject({ code: "INCOMPATIBLE" });
  });
});
