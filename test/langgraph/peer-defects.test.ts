import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { type Checkpoint, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { afterEach, describe, expect, test } from "vitest";
import { type LangGraphSaver, toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { HOSTILE_IDS } from "../../src/testing/hostile-ids.ts";
import { assertSame } from "../../src/testing/same-value.ts";
import { failureOf } from "../failure-of.ts";
import { localPlace, type SaverPlace } from "../saver/saver-places.ts";

/** Defects of LangGraph's own savers, by their numbers in our notes; none of them is to be found on ours. */

const places: SaverPlace[] = [];
afterEach(async () => {
  for (const place of places.splice(0)) await place.cleanup();
});

async function saverOn(name: string): Promise<LangGraphSaver> {
  const place = await localPlace(name);
  places.push(place);
  return toLangGraphSaver(place.open());
}

const config = (thread_id: string, checkpoint_id?: string) => ({
  configurable: { thread_id, checkpoint_ns: "", ...(checkpoint_id !== undefined && { checkpoint_id }) },
});

const META = { source: "loop" as const, step: 0, parents: {} };

/** Puts one channel, and hands back what a later read has of it. */
async function roundTrip(saver: LangGraphSaver, value: unknown): Promise<unknown> {
  const checkpoint: Checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(1),
    channel_values: { c: value },
    channel_versions: { c: 1 },
  };
  const put = await saver.put(config("t"), checkpoint, META, { c: 1 });
  await saver.putWrites(put, [["c", value]], "task");
  const tuple = await saver.getTuple(put);
  assertSame(tuple?.pendingWrites?.[0]?.[2], tuple?.checkpoint.channel_values["c"], "as a write");
  return tuple?.checkpoint.channel_values["c"];
}

describe.each(["memory", "sqlite", "file"])("on %s", (name) => {
  test("a BigInt is kept, and what cannot be kept is refused with its path instead of replaced by a text", async () => {
    const saver = await saverOn(name);
    expect(await roundTrip(saver, { n: 2n ** 80n })).toEqual({ n: 2n ** 80n });
    const thrower = new (class Money {
      toJSON(): never {
        throw new Error("no");
      }
    })();
    const error = await failureOf(() => roundTrip(saver, { list: [thrower] }));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", context: { path: "checkpoint.channel_values.c.list[0]" } });
    const message = new AIMessage({ content: "x", additional_kwargs: { n: 1n as unknown as string } });
    const inside = await failureOf(() => roundTrip(saver, [message]));
    expect(inside.context.path).toBe("checkpoint.channel_values.c[0].additional_kwargs.n");
  });

  test("dates, odd numbers, errors, bytes and own __proto__ keys are kept; the rest is refused", async () => {
    const saver = await saverOn(name);
    const kept: readonly unknown[] = [
      new Date(1767225600123),
      [Number.NaN, Number.POSITIVE_INFINITY, -0],
      Buffer.from([0, 255]),
      JSON.parse('{"__proto__":{"x":1},"a":2}'),
      new Map<unknown, unknown>([[1, new Set([new Date(0)])]]),
      { u: undefined, list: [undefined] },
      /a+/gi,
    ];
    for (const value of kept) assertSame(await roundTrip(saver, value), value, String(value));
    expect(await roundTrip(saver, new TypeError("wrong"))).toBeInstanceOf(TypeError);
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    for (const value of [new Float32Array([1.5]), cyclic, { f: () => 1 }, new Error("a", { cause: 1 }), Symbol("s")]) {
      expect((await failureOf(() => roundTrip(saver, value))).context.path).toContain("checkpoint.channel_values.c");
    }
  });

  test("bytes in a pending write come back as bytes", async () => {
    const saver = await saverOn(name);
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    assertSame(await roundTrip(saver, bytes), bytes, "bytes");
  });

  test("user data that looks like a serialiser's tags is data, and messages are messages", async () => {
    const saver = await saverOn(name);
    const values: readonly unknown[] = [
      { lc: 2, type: "undefined" },
      { lc: 1, type: "constructor", id: ["evil", "X"], kwargs: {} },
      { lc: 1, type: "secret", id: ["PATH"] },
      { lc: 2, type: "constructor", id: ["Map"], method: "groupBy", args: [[1], { lc: 2 }] },
      { $: "lc", v: { lc: 1, type: "constructor", id: ["langchain_core", "messages", "AIMessage"], kwargs: {} } },
      { $: "l", v: 1 },
      { $: "delta", v: [1] },
    ];
    for (const value of values)
      assertSame(
        await roundTrip(saver, [value, "beside it, at some length, so that the list is shared"]),
        [value, "beside it, at some length, so that the list is shared"],
        JSON.stringify(value),
      );
    const message = new HumanMessage({ content: "hello", id: "1", additional_kwargs: { a: { b: [1] } } });
    const [found] = (await roundTrip(saver, [message])) as [HumanMessage];
    expect(found).toBeInstanceOf(HumanMessage);
    expect(found.toDict()).toEqual(message.toDict());
  });

  test("metadata and values with U+0000 are kept, and a thread id with one is refused", async () => {
    const saver = await saverOn(name);
    const metadata = { ...META, note: "a\u0000b" } as typeof META;
    const put = await saver.put(config("t"), { ...emptyCheckpoint(), id: uuid6(2) }, metadata, {});
    expect((await saver.getTuple(put))?.metadata).toEqual(metadata);
    expect(await failureOf(() => saver.getTuple(config("a\u0000b")))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("deleting on a fresh storage does nothing, and a limit of 0 returns nothing", async () => {
    const saver = await saverOn(name);
    await saver.deleteThread("never");
    await saver.put(config("t"), emptyCheckpoint(), META, {});
    const found = [];
    for await (const tuple of saver.list(config("t"), { limit: 0 })) found.push(tuple);
    expect(found).toEqual([]);
  });
});

test("two forks with the same version numbers keep their values apart", async () => {
  const saver = await saverOn("sqlite");
  const put = async (id: string, values: unknown, version: number, parent?: string) =>
    saver.put(
      config("t", parent),
      { ...emptyCheckpoint(), id, channel_values: { c: values }, channel_versions: { c: version } },
      META,
      { c: version },
    );
  await put("1", ["base"], 1);
  await put("2", ["base", "branch 1"], 2, "1");
  await put("3", ["base", "branch 2"], 2, "1");
  const read = async (id: string) => (await saver.getTuple(config("t", id)))?.checkpoint.channel_values["c"];
  expect([await read("1"), await read("2"), await read("3")]).toEqual([
    ["base"],
    ["base", "branch 1"],
    ["base", "branch 2"],
  ]);
});

/** A graph whose two runs meet on one thread. */
function slowGraph(checkpointer: LangGraphSaver) {
  const State = Annotation.Root({
    items: Annotation<string[]>({ reducer: (before, more) => before.concat(more), default: () => [] }),
  });
  return new StateGraph(State)
    .addNode("work", async ({ items }) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return { items: [`done ${items.length}`] };
    })
    .addEdge(START, "work")
    .addConditionalEdges("work", ({ items }) => (items.length < 5 ? "work" : END))
    .compile({ checkpointer });
}

test("of two runs on one thread both are kept as branches, and with conflict: refuse one is told", async () => {
  const place = await localPlace("memory");
  places.push(place);
  const checkpointer = place.open();
  const at = (thread_id: string) => ({ configurable: { thread_id }, durability: "sync" as const });
  const lenient = slowGraph(toLangGraphSaver(saverOf(checkpointer)));
  await Promise.all([lenient.invoke({ items: ["a"] }, at("both")), lenient.invoke({ items: ["b"] }, at("both"))]);
  const inputs = new Set<string>();
  for await (const { values } of lenient.getStateHistory(at("both"))) inputs.add(String(values["items"]?.[0]));
  expect([...inputs].sort()).toEqual(["a", "b", "undefined"]);

  const strict = slowGraph(toLangGraphSaver(saverOf(checkpointer, { conflict: "refuse" })));
  const outcomes = await Promise.allSettled(["a", "b"].map((item) => strict.invoke({ items: [item] }, at("one"))));
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  const lost = outcomes.find((each) => each.status === "rejected");
  expect(lost?.reason).toMatchObject({ code: "CONFLICT" });
  const history = [];
  for await (const { values } of strict.getStateHistory(at("one"))) history.push(values["items"]?.[0]);
  expect(new Set(history.filter((item) => item !== undefined)).size).toBe(1);
  const states: { config: object }[] = [];
  for await (const state of strict.getStateHistory(at("one"))) states.push(state);
  const fork = await strict.updateState(states[2]?.config ?? {}, { items: ["fork"] });
  expect((await strict.getState(fork)).values["items"]).toContain("fork");
});

test("hostile ids in the config are refused or are what they say, and pollute nothing", async () => {
  const saver = await saverOn("memory");
  for (const id of HOSTILE_IDS.slice(0, 40)) {
    const put = await saver.put(
      { configurable: { thread_id: id, checkpoint_ns: id } },
      { ...emptyCheckpoint(), id },
      META,
      {},
    );
    expect((await saver.getTuple(put))?.config).toEqual({
      configurable: { thread_id: id, checkpoint_ns: id, checkpoint_id: id },
    });
  }
  for (const thread_id of [{ $ne: null }, 5, null, [], "", "\ud800"]) {
    expect(await failureOf(() => saver.getTuple({ configurable: { thread_id } }))).toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  }
  expect(({} as Record<string, unknown>)["checkpoint_id"]).toBeUndefined();
});

test("every value of a serialiser of the user's goes through it, and nothing is stored in clear", async () => {
  const place = await localPlace("memory");
  places.push(place);
  const turned = (bytes: Uint8Array): Uint8Array => bytes.map((byte) => byte ^ 0x5a);
  const serde = {
    dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> => [
      "turned",
      turned(Buffer.from(JSON.stringify(value))),
    ],
    loadsTyped: async (_: string, data: Uint8Array | string) =>
      JSON.parse(Buffer.from(turned(data as Uint8Array)).toString()) as unknown,
  };
  const checkpointer = place.open();
  const saver = toLangGraphSaver(checkpointer, { serde });
  const value = { secret: "the badger flies at midnight" };
  expect(await roundTrip(saver, [value, value])).toEqual([value, value]);
  expect(await roundTrip(saver, value)).toEqual(value);
  expect([...(await checkpointer.search("badger"))]).toEqual([]);
});

test("the run id of a run is kept with its checkpoints, so that they can be deleted by it", async () => {
  const saver = await saverOn("memory");
  const put = { ...config("t"), metadata: { run_id: "r1" } };
  await saver.put(put, { ...emptyCheckpoint(), id: uuid6(3) }, META, {});
  expect(await (await saver.saver()).deleteForRuns({ runIds: ["r1"] })).toEqual({ threads: 1, checkpoints: 1 });
});
