import { describe, expect, test } from "vitest";
import { failureOf } from "../../test/failure-of.ts";
import { InMemoryStore } from "../backends/memory/store.ts";
import type { Embedder, EmbedFunction } from "./search/embedder.ts";

/** Two topics: everything about animals points one way, everything about places another. */
const TOPICS: readonly RegExp[] = [/cat|dog|kitten|pet|feline/i, /zurich|bern|city|town|home/i, /./];
const topicOf = (text: string): number[] => TOPICS.map((topic, index) => (topic.test(text) ? 1 : 0.1) / (index + 1));
const embedder: EmbedFunction = async (texts) => texts.map(topicOf);

const NS = ["memories", "u1"];

describe("an embedder", () => {
  test("makes put and search semantic by themselves", async () => {
    const store = new InMemoryStore({ embedder });
    await store.put(NS, "pet", { text: "likes cats" });
    await store.put(NS, "home", { text: "lives in Bern" });
    expect(store.capabilities.embeddingDimension).toBe(3);
    const [first] = await store.search(NS, { query: "Does she have a feline?", mode: "semantic" });
    expect(first?.key).toBe("pet");
    expect(first?.score).toBeGreaterThan(0.9);
    expect((await store.search(NS, "which town"))[0]?.key).toBe("home");
    expect(await store.getEmbedding(NS, "pet")).toHaveLength(3);
  });

  test("is told what to embed, and what for", async () => {
    const asked: unknown[] = [];
    const store = new InMemoryStore({
      embedder: async (texts, { purpose }) => {
        asked.push([purpose, ...texts]);
        return texts.map(topicOf);
      },
      index: ["title", "notes[*].text"],
    });
    await store.put(NS, "a", { title: "One", notes: [{ text: "two" }, { text: "three" }], other: "four" });
    await store.put(NS, "b", { title: "five" }, { index: { text: "six", label: "seven", before: "eight" } });
    await store.put(NS, "c", { title: "nine" }, { index: false });
    await store.put(NS, "d", { title: "" });
    await store.putWithEmbedding(NS, "e", { title: "ten" }, [1, 0, 0]);
    await store.putBatch([
      { namespace: NS, key: "f", value: { title: "eleven" } },
      { namespace: NS, key: "g", value: { title: "twelve" } },
    ]);
    await store.search(NS, { query: "what?", mode: "semantic" });
    expect(asked).toEqual([
      ["store", "One\ntwo\nthree"],
      ["store", "six"],
      ["store", "eleven", "twelve"],
      ["search", "what?"],
    ]);
    expect(await store.getEmbedding(NS, "c")).toBeUndefined();
  });

  test("may be an embedding model of the AI SDK, which is given as many texts as it takes", async () => {
    const asked: number[] = [];
    const model = {
      specificationVersion: "v2",
      provider: "test",
      modelId: "small",
      maxEmbeddingsPerCall: 2,
      doEmbed: async ({ values }: { values: string[] }) => {
        asked.push(values.length);
        return { embeddings: values.map(topicOf) };
      },
    };
    const store = new InMemoryStore({ embedder: model });
    await store.putBatch(
      Array.from({ length: 5 }, (_, index) => ({ namespace: NS, key: `${index}`, value: `cat ${index}` })),
    );
    expect(asked).toEqual([2, 2, 1]);
    expect(await store.search(NS, { query: "pets", mode: "semantic" })).toHaveLength(5);
  });

  test.each<[string, EmbedFunction, RegExp]>([
    ["fails", async () => Promise.reject(new Error("over quota")), /the embedder failed: over quota/],
    ["gives too few vectors", async () => [], /0 vectors for 1 texts/],
    ["gives a vector with NaN", async () => [[1, Number.NaN, 0]], /only finite numbers/],
    ["gives nothing", async () => undefined as never, /no list of vectors/],
  ])("that %s is one clear error, and nothing is written", async (_, broken, message) => {
    const store = new InMemoryStore({ embedder: broken });
    const failure = await failureOf(() => store.put(NS, "k", "a text"));
    expect(failure).toMatchObject({ code: "MODEL_FAILED" });
    expect(failure.message).toMatch(message);
    expect(await store.exists(NS, "k")).toBe(false);
  });

  test.each<[string, Embedder]>([
    ["a function", () => new Promise(() => undefined)],
    ["a model", { modelId: "m", doEmbed: () => new Promise(() => undefined) }],
  ])("that never answers ends every call after `embedTimeoutMs`, and nothing is written: %s", async (_, silent) => {
    const store = new InMemoryStore({ embedder: silent, embedTimeoutMs: 20 });
    const calls = [
      () => store.put(NS, "k", "a text"),
      () => store.putBatch([{ namespace: NS, key: "k", value: "a text" }]),
      () => store.search(NS, { query: "a text" }),
    ];
    for (const call of calls) {
      const failure = await failureOf(call);
      expect(failure).toMatchObject({ code: "MODEL_FAILED", message: expect.stringContaining("within 20 ms") });
    }
    expect(await store.exists(NS, "k")).toBe(false);
  });

  test("a search that is given up does not wait for it", async () => {
    const store = new InMemoryStore({ embedder: () => new Promise(() => undefined) });
    const giving = new AbortController();
    const search = store.search(NS, { query: "a text", signal: giving.signal });
    giving.abort(new Error("given up"));
    await expect(search).rejects.toThrow("given up");
  });

  test("whose vectors have another length than the store's is refused", async () => {
    const store = new InMemoryStore({ embedder, dimension: 4 });
    expect((await failureOf(() => store.put(NS, "k", "a text"))).message).toMatch(
      /3 numbers; vectors of this store have 4/,
    );
  });

  test("an invalid one is refused at once", () => {
    for (const given of ["text-embedding-3-small", {}, 5, null]) {
      expect(() => new InMemoryStore({ embedder: given as never })).toThrow(TypeError);
    }
  });
});

describe("a hybrid search", () => {
  const open = async (textWeight?: number) => {
    const store = new InMemoryStore({ embedder, ...(textWeight !== undefined && { textWeight }) });
    await store.put(NS, "word", { text: "The word axolotl, and a city" });
    await store.put(NS, "meaning", { text: "A kitten" });
    await store.put(NS, "both", { text: "An axolotl is no cat" });
    return store;
  };
  const keys = (hits: readonly { readonly key: string }[]): readonly string[] => hits.map(({ key }) => key);

  test("puts what both rankings find ahead of what one of them finds", async () => {
    const store = await open();
    const hits = await store.search(NS, "axolotl pet");
    expect(hits[0]?.key).toBe("both");
    expect(keys(hits).toSorted()).toEqual(["both", "meaning", "word"]);
    for (const { score = -1 } of hits) expect(score >= 0 && score <= 1).toBe(true);
  });

  test("is by words alone or by meaning alone where that is asked for", async () => {
    const store = await open();
    expect(keys(await store.search(NS, { query: "axolotl", mode: "text" })).toSorted()).toEqual(["both", "word"]);
    expect(keys(await store.search(NS, { query: "axolotl pet", textWeight: 1 }))[2]).toBe("meaning");
    expect(keys(await store.search(NS, { query: "axolotl pet", textWeight: 0 }))[2]).toBe("word");
  });

  test("has pages that hold every hit once, in one order", async () => {
    const store = new InMemoryStore({
      embedder: async (texts) => texts.map((text) => [1, text.length, text.length ** 2]),
    });
    await store.putBatch(
      Array.from({ length: 150 }, (_, index) => ({
        namespace: NS,
        key: `${index}`,
        value: `cat ${"x ".repeat(index)}`,
      })),
    );
    const all = keys(await store.search(NS, { query: "cat x", limit: 150 }));
    const paged: string[] = [];
    let cursor: string | undefined;
    do {
      const some = await store.search(NS, { query: "cat x", limit: 7, ...(cursor !== undefined && { cursor }) });
      paged.push(...keys(some));
      cursor = some.cursor;
    } while (cursor !== undefined);
    expect(paged).toEqual(all);
    expect(new Set(paged).size).toBe(150);
  });

  test("leaves out what is below the threshold, and refuses what is no share", async () => {
    const store = await open();
    expect(keys(await store.search(NS, { query: "axolotl pet", threshold: 0.9 }))).toEqual(["both"]);
    for (const textWeight of [-1, 2, Number.NaN]) {
      expect(await failureOf(() => store.search(NS, { query: "a", textWeight }))).toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    }
    expect(() => new InMemoryStore({ textWeight: 5 })).toThrow(/from 0 to 1/);
    expect(await failureOf(() => store.search(NS, { query: "a", mode: "fuzzy" as never }))).toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });

  test("without an embedder a search by meaning is refused with what to do", async () => {
    const failure = await failureOf(() => new InMemoryStore().search(NS, { query: "a", mode: "hybrid" }));
    expect(failure.message).toMatch(/option `embedder`/);
  });
});
