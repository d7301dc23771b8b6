import { describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { InMemoryStore, MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { AppendOutcome, AppendRequest } from "../../src/checkpoint/log/thread-log.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { newCheckpointId } from "../../src/saver/saver.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import type { ToolExecution } from "../../src/state/fields.ts";
import { assistantMessage, userMessage } from "../../src/state/message.ts";
import { attributed, ERASED, ofNobody } from "../../src/state/people/subjects.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { Agent } from "../../src/wiring/agent.ts";
import { PersonalData, type PersonalDataOptions } from "../../src/wiring/personal-data.ts";
import { KEY } from "./people.ts";

const about = (subject: string) => ({ metadata: { subject } });

const dataOn = (options: Partial<PersonalDataOptions>) =>
  new PersonalData({ ledger: new InMemoryStore(), key: KEY, ...options });

const overlay = (summary: string) => ({ version: 1, covers: 1, summary, standing: [summary], fingerprint: "f" });

async function exportOf(data: PersonalData, person: string): Promise<string> {
  let text = "";
  for await (const line of data.exportUser(person)) text += `${line}\n`;
  return text;
}

const textOf = async (checkpointer: Checkpointer, threadId = "t"): Promise<string> =>
  JSON.stringify((await checkpointer.load(threadId))?.toCheckpoint());

const CALL = { id: "c1", name: "pay", arguments: { to: "Ann" } };

/** What is kept of a call beside its message. */
const execution = (fields: Partial<ToolExecution>): ToolExecution => ({
  toolCallId: "c1",
  toolName: "pay",
  status: "succeeded",
  ...fields,
});

const PLACES: readonly (readonly [where: string, change: (state: AgentState) => AgentState])[] = [
  ["the summary of a compaction", (state) => state.with({ overlay: overlay("secret of Ann") })],
  [
    "errors of attempts that were retried",
    (state) => state.withToolExecution(execution({ failures: [{ attempt: 1, at: 1, error: "secret of Ann" }] })),
  ],
  [
    "arguments that a person or a guard edited",
    (state) => state.withToolExecution(execution({ arguments: { to: "secret of Ann" } })),
  ],
  [
    "why a person settled a call",
    (state) => state.withToolExecution(execution({ settledBy: { by: "op", reason: "secret of Ann" } })),
  ],
  ["errors of the thread", (state) => state.withError({ at: 1, where: "secret of Ann", message: "no" })],
  ["what a provider wants back", (state) => state.withProviderState({ cache: { of: "secret of Ann" } })],
];

describe.each([
  ["a thread of the person's own", true],
  ["a thread that others share", false],
])("in %s", (_, own) => {
  test.each(PLACES)("%s is exported, then erased, and the thread goes on", async (_where, change) => {
    const checkpointer = new MemoryCheckpointer();
    const start = AgentState.create(own ? { metadata: { subject: "ann" } } : {})
      .withMessage(userMessage("I am Ann", own ? {} : about("ann")))
      .withMessage(assistantMessage("", { ...(own ? {} : about("ann")), toolCalls: [CALL] }))
      .withMessage(userMessage("I am Bob", about("bob")));
    await checkpointer.save(start, "t");
    await checkpointer.save(change(start), "t");
    if (checkpointer.capabilities.branching) await checkpointer.fork("t", "forked");
    const data = dataOn({ checkpointers: [checkpointer] });
    expect(await exportOf(data, "ann")).toContain("secret of Ann");
    expect(await data.eraseUser("ann")).toMatchObject({ verified: true });
    for (const threadId of ["t", "forked"]) {
      expect(await textOf(checkpointer, threadId)).not.toContain("secret");
      expect(await textOf(checkpointer, threadId)).toContain("I am Bob");
    }
    const agent = new Agent({ model: scriptedModel(["Hello."]), checkpointer });
    expect((await agent.run("Go on", { threadId: "t" })).text).toBe("Hello.");
  });
});

test("a call that waits with edited arguments is refused once they are erased: it runs neither with them nor without", async () => {
  const checkpointer = new MemoryCheckpointer();
  const given: unknown[] = [];
  const pay = tool({ name: "pay", effect: "idempotent", execute: (input) => given.push(input) });
  const state = AgentState.create()
    .withMessage(userMessage("Pay Ann", about("ann")))
    .withMessage(assistantMessage("", { ...about("ann"), toolCalls: [CALL] }))
    .withToolExecution(execution({ status: "started", argumentsHash: "of the edit", arguments: { to: "Ann B." } }));
  await checkpointer.save(state, "t");
  await dataOn({ checkpointers: [checkpointer] }).eraseUser("ann");
  const agent = new Agent({ model: scriptedModel(["It was not paid."]), tools: [pay], checkpointer });
  const { state: after } = await agent.run(undefined, { threadId: "t" });
  expect(given).toEqual([]);
  expect(after.toolExecutions[0]?.status).not.toBe("succeeded");
});

test("what another person's call said stays where one of the two is erased, and what may quote both goes", async () => {
  const checkpointer = new MemoryCheckpointer();
  const state = AgentState.create()
    .withMessage(userMessage("I am Ann", about("ann")))
    .withMessage(assistantMessage("", { ...about("bob"), toolCalls: [CALL] }))
    .withToolExecution(execution({ status: "failed", error: "Bob is not known" }))
    .withArtifact("c1", "all of Bob")
    .withArtifact("of no call", "of Ann or Bob")
    .with({ overlay: overlay("Ann and Bob") });
  await checkpointer.save(state, "t");
  await dataOn({ checkpointers: [checkpointer] }).eraseUser("ann");
  const left = await checkpointer.load("t");
  expect(left?.toolExecutions[0]?.error).toBe("Bob is not known");
  expect(left?.artifacts).toEqual({ c1: "all of Bob", "of no call": ERASED });
  expect(left?.overlay).toMatchObject({ summary: ERASED, standing: [ERASED] });
});

test("what may quote a person under a legal hold stays as long as the hold", async () => {
  const checkpointer = new MemoryCheckpointer();
  const state = AgentState.create()
    .withMessage(userMessage("I am Ann", about("ann")))
    .withMessage(userMessage("I am Bob", about("bob")))
    .with({ overlay: overlay("Ann and Bob") });
  await checkpointer.save(state, "t");
  const data = dataOn({ checkpointers: [checkpointer] });
  const hold = await data.placeHold({ subject: "bob", reason: "case 17", by: "counsel" });
  await expect(data.eraseUser("ann")).rejects.toMatchObject({ code: "HELD" });
  const held = await checkpointer.load("t");
  expect(held?.messages[0]?.content).toBe(ERASED);
  expect(held?.overlay).toMatchObject({ summary: "Ann and Bob" });
  await data.liftHold(hold.id, { by: "counsel", reason: "closed" });
  const [receipt] = await data.resume();
  expect(receipt).toMatchObject({ verified: true });
});

test("a message that says itself that it was erased is erased all the same", async () => {
  const checkpointer = new MemoryCheckpointer();
  const sly = userMessage("I am Ann", { metadata: { subject: "ann", erased: true } });
  await checkpointer.save(AgentState.create().withMessage(sly), "t");
  expect(await dataOn({ checkpointers: [checkpointer] }).eraseUser("ann")).toMatchObject({ verified: true });
  expect((await checkpointer.load("t"))?.messages[0]?.content).toBe(ERASED);
});

test("what is inside of something about others, and says itself that it is about the person, goes", async () => {
  const checkpointer = new MemoryCheckpointer();
  const metadata = { plan: attributed("bob", { with: attributed("ann", "Ann"), at: "noon" }) };
  await checkpointer.save(AgentState.create({ metadata }), "t");
  await dataOn({ checkpointers: [checkpointer] }).eraseUser("ann");
  expect((await checkpointer.load("t"))?.metadata).toEqual({
    plan: attributed("bob", { with: ofNobody(ERASED), at: "noon" }),
  });
});

/** Breaks off before the given edit. */
class EndingLog extends MemoryLog {
  editsLeft = Number.POSITIVE_INFINITY;
  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    if ((request.replace ?? []).length > 0 && this.editsLeft-- <= 0) throw new Error("killed");
    return super.append(threadId, request);
  }
}

test.each([1, 2, 3])(
  "an erasure of many records that breaks off before its edit %i leaves nothing unfound: who is named goes last",
  async (edits) => {
    const log = new EndingLog();
    const checkpointer = new Checkpointer(log);
    let state = AgentState.create().withError({ at: 1, where: "mail", message: "no mailbox of Ann's" });
    for (let index = 0; index < 150; index++) {
      state = state.withMessage(userMessage(`line ${index}`));
      await checkpointer.save(state, "t");
    }
    await checkpointer.save(state.withMessage(userMessage("I am Ann", about("ann"))), "t");
    const data = dataOn({ checkpointers: [checkpointer] });
    log.editsLeft = edits - 1;
    await data.eraseUser("ann").catch(() => undefined);
    log.editsLeft = Number.POSITIVE_INFINITY;
    await data.resume();
    expect((await data.receipts()).at(-1)).toMatchObject({ verified: true });
    for await (const { checkpointId } of checkpointer.history("t")) {
      const text = JSON.stringify((await checkpointer.load("t", checkpointId))?.toCheckpoint());
      expect(text).not.toContain("Ann");
    }
  },
);

test("metadata of items is exported with them, and what in it is about a person goes from items about no person", async () => {
  const store = new InMemoryStore();
  await store.put(["notes"], "whole", "Ann's", { metadata: { subject: "ann", source: "a letter" } });
  await store.put(["notes"], "part", "of no person", {
    metadata: { of: attributed("ann", "Ann's part"), kind: "note" },
  });
  const data = dataOn({ stores: [store] });
  const exported = (await exportOf(data, "ann")).trim().split("\n").slice(1);
  expect(exported.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ path: "metadata.of", value: "Ann's part" }),
    expect.objectContaining({ path: "value", value: "Ann's", metadata: { subject: "ann", source: "a letter" } }),
  ]);
  await data.eraseUser("ann");
  expect(await store.get(["notes"], "whole")).toBeUndefined();
  expect(await store.getItem(["notes"], "part")).toMatchObject({
    value: "of no person",
    metadata: { of: ofNobody(ERASED), kind: "note" },
  });
});

test("of a person's graph, only what LangGraph finds its way by stays: not who was signed in, nor what was sent ahead", async () => {
  const checkpointer = new MemoryCheckpointer();
  const saver = saverOf(checkpointer);
  const checkpointId = newCheckpointId();
  const metadata = { step: 1, source: "loop", langgraph_node: "agent" };
  await saver.put({
    threadId: "t",
    checkpointId,
    checkpointData: {
      v: 3,
      id: checkpointId,
      channel_values: {},
      channel_versions: { messages: 1 },
      versions_seen: {},
      pending_sends: [{ node: "mail", args: { to: "secret of Ann" } }],
    },
    metadata: { ...metadata, subject: "ann", langgraph_auth_user_id: "secret of Ann", label: "secret of Ann" },
  });
  const data = dataOn({ checkpointers: [checkpointer] });
  expect((await exportOf(data, "ann")).match(/secret of Ann/g)).toHaveLength(3);
  await data.eraseUser("ann");
  expect(await saver.get({ threadId: "t" })).toMatchObject({
    checkpointData: {
      v: 3,
      channel_versions: { messages: 1 },
      pending_sends: [{ node: "mail", args: { to: ERASED } }],
    },
    metadata: { ...metadata, langgraph_auth_user_id: ERASED, label: ERASED },
  });
});
