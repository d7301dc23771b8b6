import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, test } from "vitest";
import { MemoryCheckpointer } from "../../backends/memory/index.ts";
import { sqliteCheckpointer } from "../../backends/sqlite/index.ts";
import { toLangGraphSaver } from "../../entry/langgraph.ts";
import { saverOf } from "../../saver/checkpoint-saver.ts";

const openers = {
  "reads every thread": () => new MemoryCheckpointer(),
  "has an index": () => sqliteCheckpointer({ path: ":memory:" }),
};

const BYTES = Uint8Array.from({ length: 60 }, (_, index) => (index * 37) % 256);

/** Every kind of value that a record writes under a tag, and words that it has to be found by. */
const DATA = {
  plain: 'Some "quoted" words',
  deep: { key: [["and \\ more"]] },
  list: ["an element of a list that is long enough to be shared", "by the records of the thread"],
  nothing: undefined,
  number: Number.NaN,
  large: 12345678901234567890n,
  when: new Date(0),
  bytes: BYTES,
  map: new Map<unknown, unknown>([["paired", new Set(["collected"])]]),
  escaped: { $: "escaping", v: "dollar" },
  bare: Object.assign(Object.create(null) as object, { held: "naked" }),
  picture: { type: "image", mime_type: "image/png", data: Buffer.from(BYTES).toString("base64") },
  address: { type: "image_url", image_url: { url: `data:image/png;base64,${Buffer.from(BYTES).toString("base64")}` } },
};

const FOUND = ["quoted", "and more", "element", "paired", "collected", "dollar", "naked"];
const BASE64 =
  Buffer.from(BYTES)
    .toString("base64")
    .match(/[A-Za-z0-9]{5,}/g) ?? [];
const NOT_FOUND = [
  "undefined",
  "bytes",
  "bigint",
  "date",
  "map",
  "object",
  "12345678901234567890",
  "1970",
  "deep",
  "key",
];

describe.each(Object.entries(openers))("a search of graphs' threads, where the storage %s,", (_, open) => {
  test.each([...FOUND, ...NOT_FOUND, ...BASE64])(
    "finds what was said and nothing that only says how it is kept: %s",
    async (word) => {
      const checkpointer = open();
      await saverOf(checkpointer).put({ threadId: "t", checkpointId: "c", checkpointData: DATA });
      const hits = await checkpointer.search(word);
      expect(hits.map(({ threadId }) => threadId)).toEqual(FOUND.includes(word) ? ["t"] : []);
      await checkpointer.close();
    },
  );

  test("finds a message of LangChain's by its words and by the tool that it calls, and by no class, role or id", async () => {
    const checkpointer = open();
    const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    const messages = [
      new HumanMessage({ id: "humanid", content: "where is my parcel" }),
      new AIMessage({
        id: "aiid",
        content: [{ type: "text", text: "looking" }],
        tool_calls: [{ id: "callid", name: "track", args: { city: "Lisbon" } }],
        response_metadata: { finish_reason: "stopped" },
      }),
    ];
    const checkpoint = {
      ...{
        v: 4,
        id: "1ef4f797-8335-6428-8001-8a1503f9b875",
        ts: "2026-01-01T00:00:00.000Z",
        versions_seen: { agent: {} },
      },
      ...{ channel_values: { messages }, channel_versions: { messages: "version" } },
    };
    const metadata = { source: "loop", step: 1, parents: {} } as const;
    await toLangGraphSaver(checkpointer).put(config, checkpoint, metadata, { messages: "version" });
    const found = async (word: string) => (await checkpointer.search(word)).length;
    for (const word of ["parcel", "looking", "track", "lisbon"]) expect([word, await found(word)]).toEqual([word, 1]);
    const kept = [
      "constructor",
      "langchain_core",
      "HumanMessage",
      "AIMessageChunk",
      "human",
      "humanid",
      "aiid",
      "callid",
    ];
    for (const word of [...kept, "text", "stopped", "version", "agent", "2026", "city", "tool_call"]) {
      expect([word, await found(word)]).toEqual([word, 0]);
    }
    await checkpointer.close();
  });
});

test("a string of megabytes is looked at as far as any text is", async () => {
  const checkpointer = new MemoryCheckpointer();
  const checkpointData = { long: `${"é word ".repeat(400_000)} behind` };
  await saverOf(checkpointer).put({ threadId: "t", checkpointId: "c", checkpointData });
  expect(await checkpointer.search("word")).toHaveLength(1);
  expect(await checkpointer.search("behind")).toHaveLength(0);
  await checkpointer.close();
});
