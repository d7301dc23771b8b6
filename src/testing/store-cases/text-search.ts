import assert from "node:assert/strict";
import { failsWith } from "../expect-failure.ts";
import { CORPUS, QUESTIONS } from "../search-corpus.ts";
import { type StoreCase, type StoreFixture, storeCasesOf } from "./store-case.ts";
import { keysOf } from "./walking.ts";

const NS = ["notes"];

const NOTES: Readonly<Record<string, string>> = {
  cats: "The user likes cats, above all grey ones.",
  dogs: "A dog barked at the user yesterday.",
  mornings: "They dislike mornings and early meetings.",
  coffee: "Coffee in the morning, tea in the evening; coffee beans from Ethiopia.",
  zurich: "Lives in Z\u00fcrich, near the lake.",
  tokyo: "\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059",
  code: "Deploys with pg_dump and node-redis; uses C++.",
};

async function putNotes({ subject }: StoreFixture): Promise<void> {
  await subject.putBatch(
    Object.entries(NOTES).map(([key, text], index) => ({ namespace: NS, key, value: { text, odd: index % 2 === 1 } })),
  );
  await subject.put(["other"], "cats", { text: "Cats of another owner." });
}

export const textSearchCases: readonly StoreCase[] = storeCasesOf("text search", [
  {
    name: "any of the words finds an item, more and rarer words put it ahead",
    needs: ["search"],
    run: async (fixture) => {
      await putNotes(fixture);
      const { subject } = fixture;
      const first = async (query: string): Promise<string | undefined> => (await subject.search(NS, query))[0]?.key;
      assert.equal(await first("Does the user have a favourite animal, like a cat?"), "cats");
      assert.equal(await first("which coffee does she drink in the morning"), "coffee");
      assert.equal(await first("barking"), "dogs", "words are stemmed");
      assert.equal(await first("zurich"), "zurich", "accents do not matter");
      assert.equal(await first("\u6771\u4eac"), "tokyo");
      assert.equal(await first("PG_DUMP"), "code");
      assert.deepEqual(keysOf(await subject.search(NS, "mornings")).toSorted(), ["coffee", "mornings"]);
      const both = await subject.search(NS, "cats mornings");
      assert.deepEqual(keysOf(both).toSorted(), ["cats", "coffee", "mornings"], "not only items with all words");
      for (const hit of both) assert.ok((hit.score ?? -1) >= 0 && (hit.score ?? 2) <= 1, `score ${hit.score}`);
      assert.equal(both[0]?.score, 1, "the best has 1");
    },
  },
  {
    name: "every storage finds the same items, in all scripts and forms of words",
    needs: ["search"],
    run: async ({ subject }) => {
      await subject.putBatch(Object.entries(CORPUS).map(([key, text]) => ({ namespace: NS, key, value: { text } })));
      for (const { query, items } of QUESTIONS) {
        const found = keysOf(await subject.search(NS, { query, limit: 100 })).toSorted();
        assert.deepEqual(found, items.toSorted(), query);
      }
    },
  },
  {
    name: "words that are in every text do not count, unless there are no others",
    needs: ["search"],
    run: async (fixture) => {
      await putNotes(fixture);
      const { subject } = fixture;
      assert.deepEqual(keysOf(await subject.search(NS, "what is the lake to them")), ["zurich"]);
      assert.ok((await subject.search(NS, "the")).length > 0);
    },
  },
  {
    name: "whatever is asked is taken for words, and nothing for a query language",
    needs: ["search"],
    run: async (fixture) => {
      await putNotes(fixture);
      const { subject } = fixture;
      const queries = [
        ...["cats'", 'cats"', "cats AND", "(cats", "cats*", "-cats", "NOT cats", "cats:*", "text:cats", "cats & !dogs"],
        ...["'cats'; DROP TABLE x; --", "cats \\", "@ns:{*} cats", "cats | ", "{cats}", "cats\u0000", "NEAR(cats, 2)"],
      ];
      for (const query of queries) {
        const found = keysOf(await subject.search(NS, query));
        assert.ok(found.includes("cats"), `${JSON.stringify(query)} found ${JSON.stringify(found)}`);
      }
      for (const query of ["", "   ", "?!", "'", '"', "\u{1f600}", "*"]) {
        assert.deepEqual(await subject.search(NS, query), [], JSON.stringify(query));
      }
      assert.ok(Array.isArray(await subject.search(NS, "cats ".repeat(20_000))), "a very long question");
    },
  },
  {
    name: "a search stays in its namespace and within its filter",
    needs: ["search"],
    run: async (fixture) => {
      await putNotes(fixture);
      const { subject } = fixture;
      await subject.put([...NS, "below"], "cats", { text: "Cats below.", odd: true });
      const inside = await subject.search(NS, "cats");
      assert.deepEqual(inside.map(({ namespace }) => namespace.length).toSorted(), [1, 2]);
      assert.deepEqual(keysOf(await subject.search(NS, { query: "cats", recursive: false })), ["cats"]);
      const odd = await subject.search(NS, { query: "cats dog mornings lake", filter: { odd: true } });
      assert.deepEqual(keysOf(odd).toSorted(), ["cats", "coffee", "dogs"]);
      assert.deepEqual(await subject.search(["nowhere"], "cats"), []);
      assert.equal((await subject.search([], "cats")).length, 3, "no namespace is everywhere");
    },
  },
  {
    name: "deleted, replaced and unindexed items are not found by their words",
    needs: ["search"],
    run: async (fixture) => {
      await putNotes(fixture);
      const { subject } = fixture;
      await subject.delete(NS, "cats");
      await subject.put(NS, "dogs", { text: "parrot" });
      await subject.put(NS, "secret", { text: "unicorn cats" }, { index: false });
      await subject.put(NS, "parts", { text: "unicorn", title: "griffin" }, { index: ["title"] });
      await subject.put(NS, "own", { text: "unicorn" }, { index: { text: "phoenix", label: "Alice", before: "why" } });
      assert.deepEqual(await subject.search(NS, "cats"), []);
      assert.deepEqual(await subject.search(NS, "barked"), []);
      assert.deepEqual(await subject.search(NS, "unicorn"), []);
      assert.deepEqual(keysOf(await subject.search(NS, "griffin")), ["parts"]);
      assert.deepEqual(keysOf(await subject.search(NS, "phoenix")), ["own"]);
      assert.deepEqual(keysOf(await subject.search(NS, "alice")), ["own"]);
      await subject.clearNamespace(NS);
      assert.deepEqual(await subject.search(NS, "parrot coffee griffin"), []);
    },
  },
  {
    name: "what stood beside a text counts for less than the text",
    needs: ["search"],
    run: async ({ subject }) => {
      const filler = Array.from({ length: 20 }, (_, index) => ({
        namespace: NS,
        key: `f${index}`,
        value: `filler ${index}`,
      }));
      await subject.putBatch(filler);
      await subject.put(NS, "after", 1, { index: { text: "something else here", after: "hippogriff" } });
      await subject.put(NS, "before", 1, { index: { text: "something else here", before: "hippogriff" } });
      await subject.put(NS, "text", 1, { index: { text: "hippogriff else here", before: "something" } });
      assert.deepEqual(keysOf(await subject.search(NS, "hippogriff")), ["text", "before", "after"]);
    },
  },
  {
    name: "the pages of a search hold every hit once, best first",
    needs: ["search"],
    run: async ({ subject }) => {
      await subject.putBatch(
        Array.from({ length: 60 }, (_, index) => ({
          namespace: NS,
          key: `k${index}`,
          value: { text: `walrus ${"filler ".repeat(index)}` },
        })),
      );
      const seen: string[] = [];
      const scores: number[] = [];
      let cursor: string | undefined;
      do {
        const some = await subject.search(NS, { query: "walrus", limit: 25, ...(cursor !== undefined && { cursor }) });
        seen.push(...keysOf(some));
        scores.push(...some.map(({ score }) => score ?? Number.NaN));
        cursor = some.cursor;
      } while (cursor !== undefined);
      assert.equal(new Set(seen).size, 60);
      assert.equal(seen.length, 60);
      assert.deepEqual(
        scores,
        scores.toSorted((a, b) => b - a),
      );
      const { cursor: given } = await subject.search(NS, { query: "walrus", limit: 5 });
      await failsWith(
        "INVALID_ARGUMENT",
        () => subject.search(NS, { query: "seal", ...(given !== undefined && { cursor: given }) }),
        "another question's cursor",
      );
    },
  },
]);
