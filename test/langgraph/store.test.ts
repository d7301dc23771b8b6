import { Embeddings } from "@langchain/core/embeddings";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { Annotation, END, getStore, START, StateGraph } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import {
  type Item,
  type BaseStore as LangGraphBaseStore,
  type Operation,
  InMemoryStore as PeerStore,
} from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { toLangGraphStore } from "../../src/entry/langgraph.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { failureOf } from "../failure-of.ts";
import { servedStore } from "../http/served-store.ts";
import { runs } from "../property-seed.ts";
import { KEY } from "../session/people.ts";

/** A vector that depends on the letters of a text: the same text is the same vector, and related ones are near. */
class LetterEmbeddings extends Embeddings {
  asked = 0;

  constructor() {
    super({});
  }

  async embedQuery(text: string): Promise<number[]> {
    const vector = new Array<number>(26).fill(0.01);
    for (const letter of text.toLowerCase()) {
      const at = letter.charCodeAt(0) - 97;
      if (at >= 0 && at < 26) vector[at] = (vector[at] ?? 0) + 1;
    }
    return vector;
  }

  async embedDocuments(texts: string[]): Promise<number[][]> {
    this.asked++;
    return Promise.all(texts.map((text) => this.embedQuery(text)));
  }
}

const index = { dims: 26, embeddings: new LetterEmbeddings(), fields: ["text"] };
const pair = (): readonly [ours: LangGraphBaseStore, theirs: PeerStore] => [
  toLangGraphStore(new InMemoryStore(), { index }),
  new PeerStore({ index }),
];

const shown = ({ namespace, key, value }: Item): string => JSON.stringify([namespace, key, value]);

/** What a batch answered, without the order that only questions give, and without times. */
const comparable = (results: readonly unknown[], operations: readonly Operation[]): readonly unknown[] =>
  results.map((result, at) => {
    const operation = operations[at];
    if (operation !== undefined && "namespacePrefix" in operation) {
      const items = (result as (Item & { score?: number })[]).map((item) => {
        const score = item.score === undefined ? "" : item.score.toFixed(4);
        return `${score} ${shown(item)}`;
      });
      return items.sort();
    }
    if (operation !== undefined && "matchConditions" in operation) return (result as string[][]).map(String).sort();
    return result === null || result === undefined ? null : shown(result as Item);
  });

const name = fc.constantFrom("red", "green", "blue");
const namespace = fc.array(name, { minLength: 1, maxLength: 2 });
const key = fc.constantFrom("k1", "k2", "k3");
const value = fc.record({
  text: fc.constantFrom("apple pie", "quantum physics", "banana bread", "zebra crossing"),
  n: fc.integer({ min: 0, max: 3 }),
});
const filter = fc.constantFrom(
  { n: 1 },
  { n: { $gt: 1 } },
  { n: { $gte: 1, $lt: 3 } },
  { n: { $ne: 2 } },
  { n: { $in: [0, 3] } },
  { text: "apple pie", n: { $lte: 2 } },
  { missing: { $ne: 1 } },
  {},
);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ namespace, key }),
  fc.record({
    namespace,
    key,
    value: fc.oneof({ weight: 5, arbitrary: value }, { weight: 1, arbitrary: fc.constant(null) }),
  }),
  fc.record({
    namespacePrefix: fc.array(name, { maxLength: 2 }),
    filter,
    limit: fc.constant(50),
    offset: fc.constant(0),
  }),
  fc.record({
    namespacePrefix: fc.array(name, { maxLength: 1 }),
    query: fc.constantFrom("apple", "zebra"),
    limit: fc.constant(50),
    offset: fc.constant(0),
  }),
);

/**
 * What their batch answers. What it reads is looked up before it: their items are the stored ones themselves, so a
 * value that the same batch puts would appear in an answer that was given before.
 */
async function answersOf(theirs: PeerStore, operations: Operation[]): Promise<readonly unknown[]> {
  const read = new Map<Operation, string>();
  for (const operation of operations) {
    if ("key" in operation && !("value" in operation))
      read.set(operation, JSON.stringify(await theirs.get(operation.namespace, operation.key)));
  }
  const answers: readonly unknown[] = await theirs.batch(operations);
  return answers.map((answer, at) => {
    const text = read.get(operations[at] as Operation);
    return text === undefined ? answer : JSON.parse(text);
  });
}

describe("beside LangGraph's own InMemoryStore", () => {
  test("random batches of every operation give the same", async () => {
    const property = fc.asyncProperty(
      fc.array(fc.array(operation, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 8 }),
      async (batches) => {
        const [ours, theirs] = pair();
        for (const operations of batches) {
          const [mine, their] = [await ours.batch(operations), await answersOf(theirs, operations)];
          expect(comparable(mine, operations)).toEqual(comparable(their, operations));
        }
      },
    );
    await fc.assert(property, runs(60));
  });

  test("namespaces are listed by prefix, suffix, masks and depth alike", async () => {
    const [ours, theirs] = pair();
    for (const at of [["a", "b", "c"], ["a", "x", "c"], ["a", "b"], ["d", "b", "c"], ["d"]]) {
      for (const store of [ours, theirs]) await store.put(at, "k", { n: 1 });
    }
    const asked = [
      {},
      { prefix: ["a"] },
      { prefix: ["a", "*", "c"] },
      { suffix: ["c"] },
      { suffix: ["b", "*"] },
      { prefix: ["a"], suffix: ["c"], maxDepth: 2 },
      { maxDepth: 1 },
      { limit: 2, offset: 1 },
      { prefix: ["nothing"] },
    ];
    for (const options of asked) {
      expect(await ours.listNamespaces(options), JSON.stringify(options)).toEqual(await theirs.listNamespaces(options));
    }
    const several = [
      { matchType: "prefix" as const, path: ["a"] },
      { matchType: "prefix" as const, path: ["*", "b"] },
      { matchType: "suffix" as const, path: ["c"] },
    ];
    const operations = [{ matchConditions: several, limit: 10, offset: 0 }];
    expect(await ours.batch(operations)).toEqual([[["a", "b", "c"]]]);
    expect(await theirs.batch(operations)).toEqual([[["a", "b", "c"]]]);
  });

  test("questions are ranked alike, with the same scores, and a page goes on where the one before ended", async () => {
    const [ours, theirs] = pair();
    const texts = ["apple tart", "grape jelly", "applesauce", "nothing of it", "pineapple"];
    for (const [at, text] of texts.entries()) {
      for (const store of [ours, theirs]) await store.put(["docs"], `d${at}`, { text });
    }
    for (const store of [ours, theirs]) await store.put(["docs"], "unseen", { text: "apple" }, false);
    const order = async (store: LangGraphBaseStore, options: object): Promise<unknown> =>
      (await store.search(["docs"], { query: "apple", ...options })).map(({ key, score }) => [key, score?.toFixed(5)]);
    expect(await order(ours, {})).toEqual(await order(theirs, {}));
    expect(await order(ours, { limit: 2, offset: 2 })).toEqual(await order(theirs, { limit: 2, offset: 2 }));
  });

  test("texts are found at the same paths", async () => {
    const document = { title: "a", chapters: [{ content: "b" }, { content: "c" }], meta: { tags: ["d", "e"] } };
    for (const fields of [["title"], ["chapters[0].content"], ["chapters[-1].content"], ["meta.tags[1]"], ["$"]]) {
      const embedded: string[][] = [[], []];
      for (const [at, make] of [
        (embeddings: Embeddings) => toLangGraphStore(new InMemoryStore(), { index: { dims: 26, embeddings, fields } }),
        (embeddings: Embeddings) => new PeerStore({ index: { dims: 26, embeddings, fields } }),
      ].entries()) {
        class Listening extends LetterEmbeddings {
          override async embedDocuments(texts: string[]): Promise<number[][]> {
            embedded[at]?.push(...texts);
            return super.embedDocuments(texts);
          }
        }
        await make(new Listening()).put(["docs"], "k", document);
      }
      expect(embedded[0], String(fields)).toEqual(embedded[1]);
    }
  });
});

test("it is a BaseStore of LangGraph's, for the compiler too", () => {
  const store = toLangGraphStore(new InMemoryStore());
  expectTypeOf(store).toExtend<LangGraphBaseStore>();
  expectTypeOf(store.get).returns.resolves.toEqualTypeOf<Item | null>();
  expect(JSON.stringify({ store })).toBe('{"store":"[LangGraphStore]"}');
});

test("a namespace is matched by whole segments, and no two namespaces are one", async () => {
  const store = toLangGraphStore(new InMemoryStore());
  await store.put(["users", "user1"], "k", { of: "user1" });
  await store.put(["users", "user10"], "k", { of: "user10" });
  await store.put(["a:b"], "k", { of: "one" });
  await store.put(["a", "b"], "k", { of: "two" });
  expect((await store.search(["users", "user1"])).map(({ value }) => value["of"])).toEqual(["user1"]);
  expect(await store.listNamespaces({ prefix: ["users", "user1"] })).toEqual([["users", "user1"]]);
  expect((await store.get(["a:b"], "k"))?.value).toEqual({ of: "one" });
  expect((await store.get(["a", "b"], "k"))?.value).toEqual({ of: "two" });
});

test("types are strict, unknown operators are refused, and no caller holds a part of the store", async () => {
  const store = toLangGraphStore(new InMemoryStore());
  const given = { n: 9, mixed: "x", "a.b": 1, $odd: true, inner: { list: [1] } };
  await store.put(["under_score"], "k", given);
  given.inner.list.push(2);
  const found = await store.get(["under_score"], "k");
  expect(found?.value).toEqual({ ...given, inner: { list: [1] } });
  // It is the caller's own copy.
  const inner = found?.value["inner"] as { list: number[] } | undefined;
  expect(inner?.list.push(3)).toBe(2);
  expect((await store.get(["under_score"], "k"))?.value["inner"]).toEqual({ list: [1] });
  const keys = async (filter: object): Promise<number> => (await store.search(["under_score"], { filter })).length;
  expect(await keys({ n: "9" })).toBe(0);
  expect(await keys({ mixed: { $gt: 5 } })).toBe(0);
  expect(await keys({ "a.b": 1 })).toBe(1);
  expect(await keys({ $odd: true })).toBe(1);
  expect(await failureOf(() => keys({ n: { $regex: "9" } }))).toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a batch that cannot be carried out writes nothing", async () => {
  const store = toLangGraphStore(new InMemoryStore());
  const good = { namespace: ["a"], key: "good", value: { n: 1 } };
  for (const bad of [
    { namespace: ["a"], key: "bad", value: { f: () => 1 } },
    { namespace: [], key: "bad", value: { n: 1 } },
    { namespace: ["a"], key: "", value: null },
    { namespace: ["a"], key: "bad", value: "text" as unknown as Record<string, unknown> },
    { namespacePrefix: ["a"], filter: { n: { $no: 1 } } },
  ]) {
    await failureOf(() => store.batch([good, bad]));
    expect(await store.search([])).toEqual([]);
  }
  await store.batch([good, { ...good, value: { n: 2 } }]);
  expect((await store.get(["a"], "good"))?.value).toEqual({ n: 2 });
});

test("more puts than one write takes are all made", async () => {
  const store = toLangGraphStore(new InMemoryStore());
  await store.batch(Array.from({ length: 1200 }, (_, n) => ({ namespace: ["many"], key: `k${n}`, value: { n } })));
  expect(await store.search(["many"], { limit: 5000 })).toHaveLength(1200);
  expect(await store.search(["many"], { limit: 5, offset: 1198 })).toHaveLength(2);
});

test("without embeddings a question is answered by words, and the rest comes behind", async () => {
  const store = toLangGraphStore(new InMemoryStore());
  await store.put(["docs"], "a", { text: "the weather in Oslo" });
  await store.put(["docs"], "b", { text: "trains and their delays" });
  const hits = await store.search(["docs"], { query: "are trains delayed?" });
  expect(hits.map(({ key, score }) => [key, score !== undefined])).toEqual([
    ["b", true],
    ["a", false],
  ]);
});

test("a batch that would delete what a legal hold keeps writes nothing", async () => {
  const beneath = new InMemoryStore();
  await beneath.put(["users", "ann"], "held", { text: "kept" });
  const data = new PersonalData({ stores: [beneath], ledger: new InMemoryStore(), key: KEY });
  await data.placeHold({ subject: "ann", by: "counsel@example.com", reason: "case 17" });
  const store = toLangGraphStore(beneath);
  const batch = store.batch([
    { namespace: ["n"], key: "new", value: { text: "new" } },
    { namespace: ["n"], key: "gone", value: null },
    { namespace: ["users", "ann"], key: "held", value: null },
  ]);
  expect(await failureOf(() => batch)).toMatchObject({ code: "HELD" });
  expect(await beneath.list(["n"])).toHaveLength(0);
});

test("embeddings that never answer end every call after `embedTimeoutMs`, and nothing is written", async () => {
  class SilentEmbeddings extends LetterEmbeddings {
    override embedQuery = (): Promise<number[]> => new Promise(() => undefined);
  }
  const embeddings = new SilentEmbeddings();
  const beneath = new InMemoryStore();
  const store = toLangGraphStore(beneath, { index: { dims: 26, embeddings }, embedTimeoutMs: 20 });
  for (const call of [() => store.put(["n"], "k", { text: "word" }), () => store.search(["n"], { query: "word" })]) {
    expect(await failureOf(call)).toMatchObject({
      code: "MODEL_FAILED",
      message: expect.stringMatching(/no answer within 20 ms/),
    });
  }
  expect(await beneath.list(["n"])).toHaveLength(0);
});

test("what is wrong with the options or the embeddings is said", async () => {
  const embeddings = new LetterEmbeddings();
  const store = new InMemoryStore();
  expect(() => toLangGraphStore(store, { index: { dims: 0, embeddings } })).toThrow(/dims/);
  expect(() => toLangGraphStore(store, { index: { dims: 3, embeddings: {} as Embeddings } })).toThrow(/embedQuery/);
  expect(() => toLangGraphStore(store, { indx: {} } as object)).toThrow(/did you mean "index"/);
  expect(() => toLangGraphStore({} as InMemoryStore)).toThrow(TypeError);
  const wrong = toLangGraphStore(store, { index: { dims: 3, embeddings } });
  expect(await failureOf(() => wrong.put(["a"], "k", { text: "x" }))).toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a store of its own is opened by its URL, and again after it was stopped", async () => {
  const behind = new InMemoryStore();
  await using there = await servedStore(behind);
  const url = `http://:${there.token}@127.0.0.1:${there.service.port}`;
  const store = toLangGraphStore(url);
  await store.start();
  await store.put(["a"], "k", { n: 1 });
  await store.stop();
  expect((await store.get(["a"], "k"))?.value).toEqual({ n: 1 });
  await store.close();
  const handed = toLangGraphStore(behind);
  await handed.stop();
  expect(await behind.get(["a"], "k")).toEqual({ n: 1 });
});

const State = Annotation.Root({ said: Annotation<string>, recalled: Annotation<string[]> });

test("nodes of a graph share it across threads, and find again what other threads put there", async () => {
  const store = toLangGraphStore(new InMemoryStore(), { index });
  const graph = new StateGraph(State)
    .addNode("remember", async ({ said }, config) => {
      await config.store?.put(["memories", "u1"], said, { text: said });
      return {};
    })
    .addNode("recall", async ({ said }) => {
      const found = await getStore()?.search(["memories", "u1"], { query: said, limit: 2 });
      return { recalled: (found ?? []).map(({ key }) => key) };
    })
    .addEdge(START, "remember")
    .addEdge("remember", "recall")
    .addEdge("recall", END)
    .compile({ store });
  await graph.invoke({ said: "apples are sweet" }, { configurable: { thread_id: "one" } });
  await graph.invoke({ said: "zyx" }, { configurable: { thread_id: "two" } });
  const { recalled } = await graph.invoke({ said: "sweet apples" }, { configurable: { thread_id: "three" } });
  expect(recalled).toEqual(expect.arrayContaining(["sweet apples", "apples are sweet"]));
});

test("an agent of LangGraph's has it in its prompt", async () => {
  const store = toLangGraphStore(new InMemoryStore());
  await store.put(["users"], "u1", { name: "Ada" });
  const agent = createReactAgent({
    llm: new FakeListChatModel({ responses: ["Hello Ada"] }),
    tools: [],
    store,
    prompt: async (state, config) => {
      const user = await (config as { store?: LangGraphBaseStore }).store?.get(["users"], "u1");
      return [new HumanMessage(`I am ${user?.value["name"]}`), ...state.messages];
    },
  });
  const { messages } = await agent.invoke({ messages: [new HumanMessage("Who am I?")] });
  expect(messages.at(-1)).toBeInstanceOf(AIMessage);
  expect(messages.at(-1)?.content).toBe("Hello Ada");
});
