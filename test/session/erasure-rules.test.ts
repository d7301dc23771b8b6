import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { InMemoryStore, MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { openDatabase } from "../../src/backends/sqlite/open-file.ts";
import { BaseCheckpointer, uncheckedHead } from "../../src/checkpoint/base-checkpointer.ts";
import { capabilities } from "../../src/checkpoint/capabilities.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { heuristicExtractor } from "../../src/memory/heuristic-extractor.ts";
import { type ErasureReceipt, faultInReceipts } from "../../src/session/receipts.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, toolMessage, userMessage } from "../../src/state/message.ts";
import { attributed, ERASED, ofNobody } from "../../src/state/people/subjects.ts";
import { assertValidForAnthropic, assertValidForOpenAI } from "../../src/testing/models/history-validators.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { Agent } from "../../src/wiring/agent.ts";
import { AgentSession } from "../../src/wiring/agent-session.ts";
import { LLMMemoryManager } from "../../src/wiring/llm-memory-manager.ts";
import { PersonalData, type PersonalDataOptions } from "../../src/wiring/personal-data.ts";
import { KEY } from "./people.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-erasure-rules-"));
afterAll(() => rm(folder, { recursive: true }));

const about = (subject: string | readonly string[]) => ({ metadata: { subject } });

function dataOn(options: Partial<PersonalDataOptions> = {}): PersonalData {
  return new PersonalData({ ledger: new InMemoryStore(), key: KEY, ...options });
}

describe("whom something is about", () => {
  test("in a thread with a subject, everything that says nothing else goes, and the rest stays", async () => {
    const checkpointer = new MemoryCheckpointer();
    const state = AgentState.create({ metadata: { subject: "ann", plan: "pro", isTrial: true } })
      .withMessage(userMessage("I am Ann"))
      .withMessage(userMessage("I am Bob", about("bob")))
      .withMessage(userMessage("We are both", about(["ann", "bob"])))
      .withMetadata({ step: ofNobody("review"), friend: attributed("bob", "Bob") })
      .withReasoningStep({ iteration: 1, thought: "Ann is sad" })
      .withProviderState({ cache: "ann-1" });
    await checkpointer.save(state, "t", { metadata: { subject: "ann", note: "Ann called" } });
    const data = dataOn({ checkpointers: [checkpointer] });
    await data.eraseUser("ann");
    const left = await checkpointer.load("t");
    expect(left?.messages.map(({ content }) => content)).toEqual([ERASED, "I am Bob", ERASED]);
    expect(left?.metadata).toEqual({
      subject: [],
      plan: ERASED,
      isTrial: true,
      step: ofNobody("review"),
      friend: attributed("bob", "Bob"),
    });
    expect(left?.reasoningSteps).toEqual([{ iteration: 1, thought: ERASED }]);
    expect(left?.providerState).toEqual({ cache: ERASED });
    expect(await checkpointer.getMetadata("t")).toEqual({ subject: [], note: ERASED });
    await data.eraseUser("bob");
    expect((await checkpointer.load("t"))?.metadata["friend"]).toEqual(ofNobody(ERASED));
  });

  test("a session goes with its user, but for what is about no person; its checkpoints are still listed", async () => {
    const backend = new MemoryCheckpointer();
    const session = new AgentSession({ sessionId: "s", userId: "ann", backend });
    session.setWorking("subtask", ofNobody("report"));
    session.setWorking("draft", "Dear Ann");
    await session.checkpoint("done");
    await dataOn({ checkpointers: [backend] }).eraseUser("ann");
    expect(await session.getCheckpoint("done")).toEqual({ subtask: ofNobody("report"), draft: ERASED });
    expect((await session.listCheckpoints()).map(({ label }) => label)).toEqual(["done"]);
    expect((await AgentSession.restore("s", { backend })).userId).toBeUndefined();
  });

  test("what an agent answers, asks of tools and is told by them is about the subject of the run", async () => {
    const checkpointer = new MemoryCheckpointer();
    const lookUp = tool({
      name: "look_up",
      effect: "pure",
      inputSchema: { type: "object" },
      execute: () => "Ann lives in Rome",
    });
    const calls = { toolCalls: [{ name: "look_up", arguments: { name: "Ann" } }] };
    const agent = new Agent({
      model: scriptedModel([calls, "Ann, you live in Rome.", "Hello Bob."]),
      tools: [lookUp],
      checkpointer,
    });
    await agent.run("I am Ann", { threadId: "t", subject: "ann" });
    await agent.run("I am Bob", { threadId: "t", subject: "bob" });
    await dataOn({ checkpointers: [checkpointer] }).eraseUser("ann");
    const left = await checkpointer.load("t");
    expect(JSON.stringify(left?.toCheckpoint())).not.toMatch(/Ann|Rome|ann/);
    expect(left?.messages.slice(-2).map(({ content }) => JSON.stringify(content))).toEqual([
      '"I am Bob"',
      expect.stringContaining("Hello Bob."),
    ]);
    for (const valid of [assertValidForOpenAI, assertValidForAnthropic]) valid(left?.messages ?? []);
    const more = new Agent({ model: scriptedModel(["Still here."]), tools: [lookUp], checkpointer });
    expect((await more.run("Are you?", { threadId: "t" })).text).toBe("Still here.");
  });

  test("what only the metadata of a checkpoint hold is found and erased", async () => {
    const checkpointer = new MemoryCheckpointer();
    const metadata = { caller: attributed("ann", "Ann"), open: true };
    await checkpointer.save(AgentState.create(), "t", { metadata });
    const data = dataOn({ checkpointers: [checkpointer] });
    expect((await data.inventory("ann")).total).toBe(1);
    await data.eraseUser("ann");
    expect(await checkpointer.getMetadata("t")).toEqual({ caller: ofNobody(ERASED), open: true });
  });

  test("memories, which lie under the user's id, go with the user", async () => {
    const [checkpointer, store] = [new MemoryCheckpointer(), new InMemoryStore()];
    const memory = new LLMMemoryManager({ store, extract: heuristicExtractor() });
    const agent = new Agent({ model: scriptedModel(["Noted.", "Noted."]), checkpointer, memory });
    for (const userId of ["ann", "bob"]) {
      await agent.run(`I live in ${userId === "ann" ? "Annville" : "Bobtown"}.`, {
        threadId: userId,
        metadata: { userId },
        subject: userId,
      });
    }
    await memory.settled();
    const texts = async () => JSON.stringify(await store.list([], { recursive: true }));
    expect(await texts()).toContain("Annville");
    await dataOn({ checkpointers: [checkpointer], stores: [store] }).eraseUser("ann");
    expect(await texts()).not.toContain("Annville");
    expect(await texts()).toContain("Bobtown");
  });

  test("a subject that is only in a fork, or only in an old checkpoint, is found there", async () => {
    const checkpointer = new MemoryCheckpointer();
    const first = AgentState.create().withMessage(userMessage("Ann here", about("ann")));
    await checkpointer.save(first, "t", { checkpointId: "old" });
    await checkpointer.fork("t", "fork");
    const loaded = await checkpointer.load("t");
    await checkpointer.save((loaded ?? first).withHistory([userMessage("compacted")]), "t");
    await checkpointer.delete("t", "old");
    const data = dataOn({ checkpointers: [checkpointer] });
    expect((await data.inventory("ann")).places.map(({ where }) => where)).toEqual(["fork"]);
    await data.eraseUser("ann");
    expect((await checkpointer.load("fork"))?.messages[0]?.content).toBe(ERASED);
  });
});

describe("bad input", () => {
  test("an unknown user, and one who was erased before, get a receipt that counts nothing", async () => {
    const [checkpointer, store] = [new MemoryCheckpointer(), new InMemoryStore()];
    await store.put(["notes"], "n", "about Ann", about("ann"));
    const data = dataOn({ checkpointers: [checkpointer], stores: [store] });
    const counts = ({ places }: ErasureReceipt) => places.map(({ records, items }) => records + items);
    expect(counts(await data.eraseUser("absent"))).toEqual([0, 0]);
    expect(counts(await data.eraseUser("ann"))).toEqual([0, 2]);
    expect(counts(await data.eraseUser("ann"))).toEqual([0, 0]);
    const receipts = await data.receipts();
    expect(receipts.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(receipts[1]?.subject).toBe(receipts[2]?.subject);
    expect(faultInReceipts(receipts, data.publicKey)).toBeUndefined();
  });

  test("an export holds everything once, without loss; of an unknown person it is one line that describes it", async () => {
    const [checkpointer, store] = [new MemoryCheckpointer(), new InMemoryStore()];
    let state = AgentState.create().withMessage(userMessage("Ann here", about("ann")));
    for (let step = 0; step < 3; step++) {
      state = state.withMessage(assistantMessage(`step ${step}`));
      await checkpointer.save(state.withMetadata({ step }), `t${step}`);
    }
    await store.put(["notes"], "born", new Date(0), about("ann"));
    const data = dataOn({ checkpointers: [checkpointer], stores: [store] });
    const lines: { kind: string; value: unknown }[] = [];
    for await (const line of data.exportUser("ann")) lines.push(JSON.parse(line));
    expect(lines[0]).toMatchObject({ schema: "holdfast.export/1" });
    expect(lines.slice(1).map(({ kind }) => kind)).toEqual(["message", "message", "message", "item"]);
    expect(lines.at(-1)?.value).toEqual({ $: "date", v: "1970-01-01T00:00:00.000Z" });
    const nothing: string[] = [];
    for await (const line of data.exportUser("absent")) nothing.push(line);
    expect(nothing).toHaveLength(1);
  });

  test("wrong options, a weak key, a reason that names the person and a backend without a log are refused", async () => {
    expect(() => dataOn({ key: "short" })).toThrow(/at least 32 bytes/);
    expect(() => dataOn({ checkpointer: [] } as never)).toThrow(/did you mean "checkpointers"/);
    expect(() => dataOn({ stores: [{} as never] })).toThrow(/takes stores or URLs/);
    const data = dataOn();
    await expect(data.eraseUser("ann", { reason: "ann asked" })).rejects.toThrow(/must not name the person/);
    await expect(data.eraseUser("ann", { process: "leave" as never })).rejects.toThrow(/"erase" or "keep"/);
    await expect(data.eraseUser("")).rejects.toThrow(/must not be empty/);
    expect(await data.receipts()).toEqual([]);
    class Easy extends BaseCheckpointer {
      readonly capabilities = capabilities({});
      save = async () => "";
      load = async () => undefined;
      listCheckpoints = async () => [];
      delete = async () => false;
    }
    await expect(dataOn({ checkpointers: [new Easy()] }).eraseUser("ann")).rejects.toMatchObject({
      code: "UNSUPPORTED",
    });
  });
});

describe("beside other writers", () => {
  test("a state that was loaded before the erasure is not saved any more, however it is saved", async () => {
    const checkpointer = new MemoryCheckpointer();
    const state = AgentState.create().withMessage(userMessage("Ann here", about("ann")));
    await checkpointer.save(state, "t");
    const held = await checkpointer.load("t");
    if (held === undefined) throw new Error("not there");
    await dataOn({ checkpointers: [checkpointer] }).eraseUser("ann");
    const next = held.withHistory([...held.messages, userMessage("more")]);
    for (const options of [{}, { expectedHead: uncheckedHead }] as const) {
      await expect(checkpointer.save(next, "t", options)).rejects.toMatchObject({ code: "CONFLICT" });
    }
    const again = await checkpointer.load("t");
    expect(again?.messages.map(({ content }) => content)).toEqual([ERASED]);
    if (again !== undefined) await checkpointer.save(again.withMessage(userMessage("more")), "t");
  });

  test("a run that is under way ends with CONFLICT, brings nothing back, and can be resumed", async () => {
    const checkpointer = new MemoryCheckpointer();
    const data = dataOn({ checkpointers: [checkpointer] });
    const meanwhile = tool({ name: "wait", effect: "pure", execute: () => data.eraseUser("ann").then(() => "waited") });
    const agent = new Agent({
      model: scriptedModel([{ toolCalls: [{ name: "wait" }] }, "Done."]),
      tools: [meanwhile],
      checkpointer,
    });
    await expect(agent.run("Ann here", { threadId: "t", subject: "ann" })).rejects.toMatchObject({ code: "CONFLICT" });
    expect(JSON.stringify((await checkpointer.load("t"))?.toCheckpoint())).not.toContain("Ann here");
    const after = new Agent({ model: scriptedModel(["On we go."]), tools: [meanwhile], checkpointer });
    const result = await after.run(undefined, { threadId: "t" });
    expect(result.text).toBe("On we go.");
    assertValidForOpenAI(result.state.messages);
  });

  test("a call whose arguments were erased before it ran is refused, and not run without them", async () => {
    const checkpointer = new MemoryCheckpointer();
    let runs = 0;
    const pay = tool({ name: "pay", effect: "idempotent", execute: () => ++runs });
    const call = { id: "c1", name: "pay", arguments: { to: "Ann" } };
    const state = AgentState.create()
      .withMessage(userMessage("Pay Ann", about("ann")))
      .withMessage(assistantMessage("", { ...about("ann"), toolCalls: [call] }))
      .withToolExecution({ toolCallId: "c1", toolName: "pay", status: "intended", argumentsHash: "of the call" });
    await checkpointer.save(state, "t");
    await dataOn({ checkpointers: [checkpointer] }).eraseUser("ann");
    const agent = new Agent({ model: scriptedModel(["It was not paid."]), tools: [pay], checkpointer });
    const { state: after } = await agent.run(undefined, { threadId: "t" });
    expect(runs).toBe(0);
    expect(after.toolExecutions[0]?.status).toBe("failed");
  });

  test("process: keep erases items and user data, and leaves checkpoints byte for byte", async () => {
    const [checkpointer, store] = [new MemoryCheckpointer(), new InMemoryStore()];
    await checkpointer.save(AgentState.create().withMessage(userMessage("Ann", about("ann"))), "t");
    await store.put(["notes"], "n", "Ann", about("ann"));
    const stored = () => contextOf(checkpointer)?.log.readRecords("t", { limit: 100 });
    const before = await stored();
    const receipt = await dataOn({ checkpointers: [checkpointer], stores: [store] }).eraseUser("ann", {
      process: "keep",
    });
    expect(await stored()).toEqual(before);
    expect(receipt).toMatchObject({ process: "keep", verified: true });
    expect(await store.get(["notes"], "n")).toBeUndefined();
  });
});

describe("what goes wrong is loud", () => {
  test("one backend's failure leaves no receipt, keeps no other from being erased, and resume finishes", async () => {
    const [checkpointer, ledger, broken] = [new MemoryCheckpointer(), new InMemoryStore(), new InMemoryStore()];
    await checkpointer.save(AgentState.create().withMessage(userMessage("Ann", about("ann"))), "t");
    await broken.close();
    const half = dataOn({ checkpointers: [checkpointer], stores: [broken], ledger });
    await expect(half.eraseUser("ann")).rejects.toThrow(/not finished, and there is no receipt yet.*store 1/);
    expect((await checkpointer.load("t"))?.messages[0]?.content).toBe(ERASED);
    expect(await half.receipts()).toEqual([]);
    const whole = dataOn({ checkpointers: [checkpointer], stores: [new InMemoryStore()], ledger });
    expect(await whole.resume()).toHaveLength(1);
    expect(await whole.resume()).toEqual([]);
  });

  test("a thread that is damaged is named by its hash, and a receipt is given only where that is accepted", async () => {
    const path = join(folder, "damaged.db");
    const checkpointer = sqliteCheckpointer({ path });
    for (const threadId of ["damaged-ann", "whole"]) {
      await checkpointer.save(AgentState.create().withMessage(userMessage("Ann", about("ann"))), threadId);
    }
    const database = await openDatabase(path);
    database.exec("UPDATE holdfast_records SET body = x'00' WHERE id = (SELECT min(id) FROM holdfast_records)");
    database.close();
    const data = dataOn({ checkpointers: [checkpointer] });
    await expect(data.eraseUser("ann")).rejects.toMatchObject({ code: "CORRUPT" });
    expect((await checkpointer.load("whole"))?.messages[0]?.content).toBe(ERASED);
    expect(await data.receipts()).toEqual([]);
    const [receipt] = await data.resume({ acceptUnreached: true });
    expect(receipt).toMatchObject({ verified: false, unreached: [{ why: "CORRUPT" }, {}] });
    expect(JSON.stringify(receipt)).not.toContain("damaged-ann");
    await checkpointer.close();
  });

  test("a backend that lost its mark is swept again, and what a person gave after the erasure stays", async () => {
    let time = Date.parse("2030-01-01");
    const now = () => time;
    const store = new InMemoryStore({ now });
    const data = dataOn({ stores: [store], now });
    await store.put(["notes"], "old", "Ann", about("ann"));
    await data.eraseUser("ann");
    await store.put(["notes"], "old", "Ann, from a backup", about("ann"));
    time += 3 * 86_400_000;
    await store.put(["notes"], "new", "Ann is back", about("ann"));
    await data.open();
    expect(await store.get(["notes"], "old")).toBe("Ann, from a backup");
    await store.delete(["holdfast:erasures"], "applied");
    await data.open();
    expect([await store.get(["notes"], "old"), await store.get(["notes"], "new")]).toEqual([undefined, "Ann is back"]);
  });
});

describe("receipts", () => {
  test("one that was changed anywhere, left out or moved is found out", async () => {
    const data = dataOn({ stores: [new InMemoryStore()] });
    for (const person of ["a1", "b2", "c3"]) await data.eraseUser(person, { reason: "on request" });
    const receipts = await data.receipts();
    const [first, second, third] = receipts as [ErasureReceipt, ErasureReceipt, ErasureReceipt];
    expect(faultInReceipts(receipts, data.publicKey)).toBeUndefined();
    expect(faultInReceipts([first, third], data.publicKey)).toMatch(/receipt 3 does not follow 1/);
    expect(faultInReceipts([second, first], data.publicKey)).toMatch(/does not follow/);
    expect(faultInReceipts(receipts, dataOn({ key: `${KEY}x` }).publicKey)).toMatch(
      /receipt 1 is not as it was signed/,
    );
    const text = JSON.stringify(second);
    let tried = 0;
    for (let at = 0; at < text.length; at++) {
      const edited = `${text.slice(0, at)}${text[at] === "1" ? "2" : "1"}${text.slice(at + 1)}`;
      let parsed: ErasureReceipt;
      try {
        parsed = JSON.parse(edited) as ErasureReceipt;
      } catch {
        continue;
      }
      tried++;
      expect(faultInReceipts([parsed], data.publicKey), edited).toBeDefined();
    }
    expect(tried).toBeGreaterThan(300);
  });

  test("a result of a tool and its call stay a pair when only one of them is about the person", async () => {
    const checkpointer = new MemoryCheckpointer();
    const call = { id: "c1", name: "look_up", arguments: { q: "weather" } };
    const state = AgentState.create()
      .withMessage(userMessage("Weather?"))
      .withMessage(assistantMessage("", { toolCalls: [call] }))
      .withMessage(toolMessage("Ann says rain", { ...about("ann"), toolCallId: "c1", toolName: "look_up" }))
      .withMessage(assistantMessage("Rain."));
    await checkpointer.save(state, "t");
    await dataOn({ checkpointers: [checkpointer] }).eraseUser("ann");
    const left = await checkpointer.load("t");
    for (const valid of [assertValidForOpenAI, assertValidForAnthropic]) valid(left?.messages ?? []);
    expect(left?.messages[1]).toEqual(state.messages[1]);
    expect(left?.messages[2]?.content).toBe(ERASED);
  });
});
