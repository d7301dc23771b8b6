import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Annotation, Command, END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { afterAll, describe, expect, test } from "vitest";
import { InMemoryStore, MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { newCheckpointId } from "../../src/saver/saver.ts";
import { attributed, ERASED, ofNobody } from "../../src/state/people/subjects.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { KEY, readableTexts } from "./people.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-erased-graphs-"));
afterAll(() => rm(folder, { recursive: true }));

/** One for each storage: a new one beside an old storage is a ledger that was lost. */
const ledgers = new WeakMap<Checkpointer, InMemoryStore>();

function ledgerOf(checkpointer: Checkpointer): InMemoryStore {
  const ledger = ledgers.get(checkpointer) ?? new InMemoryStore();
  ledgers.set(checkpointer, ledger);
  return ledger;
}

let files = 0;

const dataOn = (checkpointer: Checkpointer): PersonalData =>
  new PersonalData({ checkpointers: [checkpointer], ledger: ledgerOf(checkpointer), key: KEY });

/** Everything that any record of the storage holds, as text. */
async function storedIn(checkpointer: Checkpointer, threadId: string): Promise<string> {
  const chain = await contextOf(checkpointer)?.log.readRecords(threadId, { limit: 1000 });
  return (chain?.records ?? [])
    .map(({ body, metadata, words }) => `${Buffer.from(body).toString()}${metadata}${words}`)
    .join("\n");
}

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  notes: Annotation<unknown[]>({ reducer: (before, more) => before.concat(more), default: () => [] }),
  count: Annotation<number>({ reducer: (before, more) => before + more, default: () => 0 }),
});

const about = (subject: string) => ({ additional_kwargs: { subject } });

/**
 * A conversation with a tool call in each turn, by the person whom the turn is about.
 */
const conversing = (checkpointer: Checkpointer) =>
  new StateGraph(State)
    .addNode("call", ({ messages }) => {
      const subject = String(messages.at(-1)?.additional_kwargs["subject"] ?? "unnamed");
      const tool_calls = [{ id: `call-${messages.length}`, name: "look_up", args: { q: `${subject}-asks` } }];
      return { messages: [new AIMessage({ content: "", tool_calls, ...about(subject) })], count: 1 };
    })
    .addNode("answer", ({ messages }) => {
      const [call] = (messages.at(-1) as AIMessage).tool_calls ?? [];
      const subject = String(messages.at(-1)?.additional_kwargs["subject"]);
      const result = `the ${subject} file, at length: ${`${subject} `.repeat(30)}`;
      const notes = [attributed(subject, { name: subject, list: [`${subject}-one`, `${subject}-two`.repeat(10)] })];
      return {
        messages: [
          new ToolMessage({ content: result, tool_call_id: call?.id ?? "", name: "look_up", ...about(subject) }),
        ],
        notes,
      };
    })
    .addEdge(START, "call")
    .addEdge("call", "answer")
    .addEdge("answer", END)
    .compile({ checkpointer: toLangGraphSaver(checkpointer) });

const at = (thread_id: string, metadata?: Record<string, unknown>) => ({
  configurable: { thread_id },
  durability: "sync" as const,
  ...(metadata !== undefined && { metadata }),
});

const BACKENDS: readonly (readonly [string, () => Promise<Checkpointer>])[] = [
  ["memory", async () => new MemoryCheckpointer()],
  ["sqlite", () => openCheckpointer(`sqlite:${join(folder, `${++files}.db`)}`)],
];

describe.each(BACKENDS)("a graph's thread on %s", (_, open) => {
  test("messages and values that name a person go, everyone else's stay, and the graph runs on", async () => {
    const checkpointer = await open();
    const graph = conversing(checkpointer);
    for (const who of ["zoannq", "bobbyq", "zoannq"]) {
      await graph.invoke({ messages: [new HumanMessage({ content: `I am ${who}`, ...about(who) })] }, at("g"));
    }
    const before = (await graph.getState(at("g"))).values;
    const data = dataOn(checkpointer);
    const inventory = await data.inventory("zoannq");
    expect(new Set(inventory.places.map(({ kind, where }) => `${kind} in ${where}`))).toEqual(
      new Set(["message in g", "field in g"]),
    );
    const lines: { path: string; value: unknown }[] = [];
    for await (const line of data.exportUser("zoannq")) lines.push(JSON.parse(line));
    expect(JSON.stringify(lines)).toContain("the zoannq file, at length");
    expect(JSON.stringify(lines)).toContain("zoannq-twozoannq-two");
    expect(JSON.stringify(lines)).not.toContain("bobbyq");

    const receipt = await data.eraseUser("zoannq");
    expect(receipt).toMatchObject({ verified: true, unreached: [{}] });
    expect((await data.inventory("zoannq")).total).toBe(0);
    expect(await storedIn(checkpointer, "g")).not.toContain("zoannq");
    const { values } = await conversing(checkpointer).getState(at("g"));
    const contents = values.messages.map(({ content }: BaseMessage) => content);
    expect(contents).toEqual([ERASED, "", ERASED, "I am bobbyq", "", before.messages[5].content, ERASED, "", ERASED]);
    const [call, result] = [values.messages[1] as AIMessage, values.messages[2] as ToolMessage];
    expect(call.tool_calls?.[0]).toMatchObject({ id: result.tool_call_id, name: "look_up", args: {} });
    expect(values.messages.map(({ id }: BaseMessage) => id)).toEqual(before.messages.map(({ id }: BaseMessage) => id));
    expect(values.notes).toEqual([ofNobody(ERASED), before.notes[1], ofNobody(ERASED)]);
    expect(values.count).toBe(3);
    for await (const { values: old } of graph.getStateHistory(at("g"))) {
      expect(JSON.stringify(old)).not.toContain("zoannq");
    }
    const more = await graph.invoke({ messages: [new HumanMessage({ content: "on", ...about("bobbyq") })] }, at("g"));
    expect(more.messages).toHaveLength(12);
    await checkpointer.close();
  });

  test("a run with a subject makes the thread about that person: all of it goes but what is about others or about no person", async () => {
    const checkpointer = await open();
    const paused = new StateGraph(
      Annotation.Root({ ...MessagesAnnotation.spec, plan: Annotation<unknown>(), born: Annotation<Date>() }),
    )
      .addNode("ask", () => ({
        plan: {
          name: "Zoannq",
          tags: ["zoannq-a".repeat(10), "b"],
          friend: attributed("bobbyq", "bobbyq-a".repeat(10)),
        },
        born: new Date("1999-01-01"),
        messages: [new AIMessage({ content: `Hello Zoannq ${"zoannq ".repeat(20)}` })],
      }))
      .addNode("wait", () => ({ plan: ofNobody({ approved: interrupt({ question: "is it you, Zoannq?" }) }) }))
      .addEdge(START, "ask")
      .addEdge("ask", "wait")
      .addEdge("wait", END)
      .compile({ checkpointer: toLangGraphSaver(checkpointer) });
    const config = at("own", { subject: "zoannq" });
    await paused.invoke({ messages: [new HumanMessage("I am Zoannq")] }, config);
    await dataOn(checkpointer).eraseUser("zoannq");
    expect(await storedIn(checkpointer, "own")).not.toMatch(/zoannq|1999/i);
    const state = await paused.getState(at("own"));
    expect(state.values.messages.map(({ content }: BaseMessage) => content)).toEqual([ERASED, ERASED]);
    expect(state.values.plan).toEqual({
      name: ERASED,
      tags: [ERASED, ERASED],
      friend: attributed("bobbyq", "bobbyq-a".repeat(10)),
    });
    expect(state.values.born).toEqual(new Date(0));
    expect(state.metadata).toMatchObject({ source: "loop", step: 1, subject: [] });
    expect(state.next).toEqual(["wait"]);
    // The question was about the person; that the graph waits for its answer was not.
    expect(state.tasks[0]?.interrupts[0]?.value).toEqual({ question: ERASED });
    const done = await paused.invoke(new Command({ resume: "yes" }), at("own"));
    expect(done.plan).toEqual(ofNobody({ approved: "yes" }));
    await checkpointer.close();
  });
});

describe("what a graph's thread shares", () => {
  const put = async (checkpointer: Checkpointer, threadId: string, data: Record<string, unknown>, more = {}) => {
    const saver = saverOf(checkpointer);
    await saver.put({ threadId, checkpointId: newCheckpointId(), checkpointData: data, ...more });
    return saver;
  };
  const LONG = ["one and the same text, which is long enough", "to be kept once for all the lists that have it"];

  test("a list that another person's value has, too, stays theirs", async () => {
    const checkpointer = new MemoryCheckpointer();
    await put(checkpointer, "t", { ann: attributed("ann", { list: LONG }), bob: attributed("bob", { list: LONG }) });
    await dataOn(checkpointer).eraseUser("ann");
    const left = (await saverOf(checkpointer).get({ threadId: "t" }))?.checkpointData;
    expect(left).toEqual({ ann: ofNobody(ERASED), bob: attributed("bob", { list: LONG }) });
    await dataOn(checkpointer).eraseUser("bob");
    expect(await storedIn(checkpointer, "t")).not.toContain("one and the same");
  });

  test("in a thread that is about the person, too: theirs is written out, the other's stays", async () => {
    const checkpointer = new MemoryCheckpointer();
    const data = { list: LONG, nested: [{ list: LONG }], bob: attributed("bob", { list: LONG }), n: 7, yes: true };
    await put(checkpointer, "t", data, { metadata: { subject: ["ann", "eve"] } });
    await dataOn(checkpointer).eraseUser("ann");
    const saved = await saverOf(checkpointer).get({ threadId: "t" });
    const erased = [ERASED, ERASED];
    expect(saved?.checkpointData).toEqual({
      ...data,
      list: erased,
      nested: [{ list: erased }],
      n: 0,
    });
    expect(saved?.metadata).toEqual({ subject: ["eve"] });
  });

  test("plain messages, data that looks like our own marks, Maps, bytes and errors keep their kinds", async () => {
    const checkpointer = new MemoryCheckpointer();
    const call = {
      id: "c1",
      name: "look_up",
      arguments: { q: "a question that is long enough to be shared by lists" },
    };
    const message = { role: "assistant", content: "hi", toolCalls: [call], metadata: { subject: "ann" } };
    const data = {
      odd: { $: "l", v: 0, inner: attributed("ann", { $: "serde", v: ["a"] }) },
      messages: [message, { role: "user", content: "Bob", metadata: { subject: "bob" } }],
      map: new Map<unknown, unknown>([["k", attributed("ann", new Uint8Array([1, 2]))]]),
      big: 10n,
    };
    const saver = await put(checkpointer, "t", data);
    await saver.putWrites({
      threadId: "t",
      checkpointId: "later",
      taskId: "task",
      writes: [["channel", attributed("ann", "waits for a checkpoint that never came")]],
    });
    await dataOn(checkpointer).eraseUser("ann");
    const left = (await saverOf(checkpointer).get({ threadId: "t" }))?.checkpointData;
    expect(left?.["odd"]).toEqual({ $: "l", v: 0, inner: ofNobody(ERASED) });
    expect(left?.["messages"]).toEqual([
      {
        role: "assistant",
        content: ERASED,
        toolCalls: [{ id: "c1", name: "look_up", arguments: {} }],
        metadata: { erased: true },
      },
      data.messages[1],
    ]);
    expect(left?.["map"]).toEqual(new Map([["k", ofNobody(ERASED)]]));
    expect(left?.["big"]).toBe(10n);
    expect(await storedIn(checkpointer, "t")).not.toContain("never came");
  });

  test("values of a serialiser of yours cannot be looked into: the receipt says so, and a thread about the person loses them", async () => {
    const checkpointer = new MemoryCheckpointer();
    const serde = {
      dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> => ["own", Buffer.from(JSON.stringify(value))],
      loadsTyped: async (_: string, data: Uint8Array | string) =>
        JSON.parse(Buffer.from(data as Uint8Array).toString()),
    };
    const graph = new StateGraph(Annotation.Root({ text: Annotation<string>() }))
      .addNode("go", ({ text }) => ({ text: `${text}!` }))
      .addEdge(START, "go")
      .addEdge("go", END)
      .compile({ checkpointer: toLangGraphSaver(checkpointer, { serde }) });
    await graph.invoke({ text: "Zoannq" }, at("theirs", { subject: "ann" }));
    await graph.invoke({ text: "Bob" }, at("others"));
    const receipt = await dataOn(checkpointer).eraseUser("ann");
    expect(receipt.verified).toBe(false);
    expect(receipt.unreached[0]?.where).toBe("threads 1: 1 threads of graphs");
    expect((await graph.getState(at("theirs"))).values).toEqual({ text: ERASED });
    expect((await graph.getState(at("others"))).values).toEqual({ text: "Bob!" });
  });

  test("a run of a graph that is under way ends with CONFLICT and brings nothing back; a saver that is open forgets what it knew", async () => {
    const checkpointer = new MemoryCheckpointer();
    const data = dataOn(checkpointer);
    let erases = true;
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("first", async () => ({ messages: [new AIMessage("in between")] }))
      .addNode("second", async () => {
        if (erases) await data.eraseUser("zoannq");
        erases = false;
        return { messages: [new AIMessage("done")] };
      })
      .addEdge(START, "first")
      .addEdge("first", "second")
      .addEdge("second", END)
      .compile({ checkpointer: toLangGraphSaver(checkpointer) });
    const message = new HumanMessage({ content: "I am Zoannq", ...about("zoannq") });
    await expect(graph.invoke({ messages: [message] }, at("t"))).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await storedIn(checkpointer, "t")).not.toMatch(/zoannq/i);
    const { messages } = await graph.invoke(null, at("t"));
    expect(messages.map(({ content }) => content)).toEqual([ERASED, "in between", "done"]);
    expect(await storedIn(checkpointer, "t")).not.toMatch(/zoannq/i);
  });

  test("writes to a checkpoint of a deleted thread bring nothing back, and made anew it takes what the same saver writes", async () => {
    const checkpointer = new MemoryCheckpointer();
    const saver = await put(checkpointer, "t", { note: attributed("ann", "Ann") });
    await dataOn(checkpointer).eraseUser("ann");
    const known = await saver.get({ threadId: "t" });
    const checkpointId = known?.checkpointId ?? "";
    await saver.deleteThread("t");
    const late = saver.putWrites({ threadId: "t", checkpointId, taskId: "task", writes: [["channel", 1]] });
    await expect(late).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await saver.get({ threadId: "t" })).toBeUndefined();
    await saver.put({ threadId: "t", checkpointId, checkpointData: { a: 1 } });
    await saver.put({
      threadId: "t",
      checkpointId: newCheckpointId(),
      parentId: checkpointId,
      checkpointData: { a: 2 },
    });
    expect((await saver.get({ threadId: "t" }))?.checkpointData).toEqual({ a: 2 });
  });

  test("an erasure of a graph's thread that is interrupted anywhere is found and finished", async () => {
    const source = new MemoryCheckpointer();
    const data = {
      about: attributed("ann", {
        list: ["zoannq one, long enough to be shared", "zoannq two, long enough to be shared"],
      }),
      other: "stays",
    };
    await put(source, "t", data, { metadata: { subject: "ann" } });
    let appends = 0;
    for (let dies = 1; dies <= appends + 1; dies++) {
      const checkpointer = new MemoryCheckpointer();
      await put(checkpointer, "t", data, { metadata: { subject: "ann" } });
      const log = contextOf(checkpointer)?.log;
      if (log === undefined) throw new Error("it has no log");
      let count = 0;
      const append = log.append.bind(log);
      log.append = async (threadId, request) => {
        if (threadId === "t" && ++count >= dies) throw new Error("killed");
        return append(threadId, request);
      };
      const first = dataOn(checkpointer);
      const failed = await first.eraseUser("ann").then(
        () => false,
        () => true,
      );
      appends = Math.max(appends, count);
      log.append = append;
      if (failed) await first.resume();
      expect((await first.receipts()).length, `append ${dies}`).toBe(1);
      expect(await storedIn(checkpointer, "t"), `append ${dies}`).not.toContain("zoannq");
    }
    expect(appends).toBeGreaterThanOrEqual(2);
  });
});

describe("a graph's thread whose checkpoint that named the person is gone", () => {
  const ways: Readonly<Record<string, (checkpointer: Checkpointer) => Promise<unknown>>> = {
    "pruned away": (checkpointer) => saverOf(checkpointer).prune({ keepLast: 1 }),
    "vacuumed away": (checkpointer) => checkpointer.vacuum({ keepLast: 1 }),
    deleted: (checkpointer) => checkpointer.delete("t", "2"),
    "put anew, and pruned": async (checkpointer) => {
      await saverOf(checkpointer).put({ threadId: "t", checkpointId: "2", checkpointData: { words: "zoannq" } });
      await saverOf(checkpointer).prune({ keepLast: 2 });
    },
    "not among what was forked": (checkpointer) => checkpointer.fork("t", "forked", { at: "1" }),
    "pruned away with all others, while writes wait": async (checkpointer) => {
      const waiting = { checkpointId: "4", taskId: "a", writes: [["words", "zoannq"] as const] };
      await saverOf(checkpointer).putWrites({ threadId: "t", ...waiting });
      await saverOf(checkpointer).prune({ olderThan: new Date(Date.now() + 1000) });
    },
  };
  for (const [way, take] of Object.entries(ways)) {
    test(`is still about that person, and erased like any other: ${way}`, async () => {
      const checkpointer = new MemoryCheckpointer();
      const saver = saverOf(checkpointer);
      const data = { words: "zoannq" };
      await saver.put({ threadId: "t", checkpointId: "1", checkpointData: data });
      const metadata = { subject: "ann", kept: { at: new Date(0) } };
      await saver.put({ threadId: "t", checkpointId: "2", parentId: "1", checkpointData: data, metadata });
      await saver.put({ threadId: "t", checkpointId: "3", parentId: "2", checkpointData: { ...data, more: 1 } });
      await take(checkpointer);
      expect((await dataOn(checkpointer).eraseUser("ann")).verified).toBe(true);
      for (const threadId of ["t", "forked"]) expect(await storedIn(checkpointer, threadId)).not.toMatch(/zoannq|ann"/);
    });
  }
});

test("no byte of an erased person is left of a graph's thread in the files of SQLite", async () => {
  const directory = await mkdtemp(join(folder, "bytes-"));
  const checkpointer = await openCheckpointer(`sqlite:${join(directory, "a.db")}`);
  const graph = conversing(checkpointer);
  for (const who of ["zoannq", "bobbyq"]) {
    await graph.invoke({ messages: [new HumanMessage({ content: `I am ${who}`, ...about(who) })] }, at("g"));
  }
  await checkpointer.search("zoannq");
  await dataOn(checkpointer).eraseUser("zoannq");
  expect(await readableTexts(directory, ["zoannq", "bobbyq"])).toEqual(["bobbyq"]);
  expect(await checkpointer.search("zoannq")).toHaveLength(0);
  expect((await checkpointer.search("bobbyq")).length).toBeGreaterThan(0);
  await checkpointer.close();
});
