import { describe, expect, test } from "vitest";
import { type PersonQuestion, type Tool, type ToolContext, tool } from "../../src/agent/tool-call/tool.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf } from "./agent-of.ts";
import { asksFor, newProcess, paint } from "./painting.ts";
import { MemoryStore } from "./stored-thread.ts";

const asks: ScriptStep = { toolCalls: [{ name: "ask", id: "c" }] };
const asker = (heard: unknown[], questions: readonly PersonQuestion[]): Tool =>
  tool({
    name: "ask",
    execute: async (_, { interrupt }) => {
      for (const question of questions) heard.push([question.question, await interrupt(question)]);
    },
  });

/** One process asks, another is deployed with other questions, and brings the answers. */
async function redeployed(
  before: readonly PersonQuestion[],
  after: readonly PersonQuestion[],
  answers: readonly unknown[],
): Promise<{ heard: readonly unknown[]; asked: readonly string[] }> {
  const store = new MemoryStore();
  await newProcess(store, [asker([], before)], [asks]).run("go", { threadId: "t" });
  const asked: string[] = [];
  let heard: unknown[] = [];
  for (const response of answers) {
    const [waiting] = (await store.state()).interrupts.filter(({ answer }) => answer === undefined);
    asked.push(waiting?.question ?? "nothing");
    heard = [];
    const agent = newProcess(store, [asker(heard, after)], ["ready"]);
    await agent.answer({ threadId: "t", id: waiting?.id ?? "", response });
  }
  return { heard, asked };
}

describe("an answer is given to the question that was answered, and to no other", () => {
  test("a tool that asks something else first, after a deployment, does not get it", async () => {
    const delivery = { question: "Delete the old address?" };
    const payment = { question: "Pay 900?" };
    expect(await redeployed([delivery], [payment, delivery], ["yes", "no"])).toEqual({
      asked: ["Delete the old address?", "Pay 900?"],
      heard: [
        ["Pay 900?", "no"],
        ["Delete the old address?", "yes"],
      ],
    });
  });

  test("the same words with another schema are another question", async () => {
    const before = { question: "How much?", schema: { type: "string" } };
    const after = { question: "How much?", schema: { type: "number" } };
    expect((await redeployed([before], [after], ["lots", 5])).heard).toEqual([["How much?", 5]]);
  });

  test("the same question twice has two answers", async () => {
    const again = { question: "More?" };
    expect((await redeployed([again, again], [again, again], ["yes", "no"])).heard).toEqual([
      ["More?", "yes"],
      ["More?", "no"],
    ]);
  });

  test("a question with a key is known by it, whatever its words", async () => {
    const before = { question: "It is 12:01. Pay?", key: "pay" };
    const after = { question: "It is 12:05. Pay?", key: "pay" };
    expect((await redeployed([before], [after], ["yes"])).heard).toEqual([["It is 12:05. Pay?", "yes"]]);
  });
});

describe("a question can be declined", () => {
  test("the call is settled as denied with the reason, and the tool is not begun again", async () => {
    const store = new MemoryStore();
    const painted: unknown[] = [];
    await newProcess(store, [paint(painted)], [asksFor("ann")]).run("go", { threadId: "t" });
    const second = newProcess(store, [paint(painted)], ["as you like"]);
    const decline = { threadId: "t", id: "paint-ann/1", decline: "out of office" };
    expect(await second.answer(decline)).toMatchObject({ stopReason: "complete", pending: [] });
    expect({ painted, statuses: await store.statuses() }).toEqual({ painted: [], statuses: ["denied"] });
    const { messages, interrupts } = await store.state();
    expect(messages[2]).toMatchObject({
      isError: true,
      content: "A person declined to answer: Which colour for ann? The reason: out of office",
    });
    expect(interrupts).toMatchObject([{ answer: { declined: true, reason: "out of office" } }]);
    const again = newProcess(store, [paint(painted)], []);
    expect((await failureOf(() => again.answer(decline))).code).toBe("CONFLICT");
  });

  test("a request for approval that is declined is denied", async () => {
    const store = new MemoryStore();
    let paid = 0;
    const pay = tool({ name: "pay", needsApproval: true, execute: () => ++paid });
    await newProcess(store, [pay], [{ toolCalls: [{ name: "pay", id: "p" }] }]).run("go", { threadId: "t" });
    await newProcess(store, [pay], ["well"]).answer({ threadId: "t", id: "p/approval", decline: true });
    expect({ paid, statuses: await store.statuses() }).toEqual({ paid: 0, statuses: ["denied"] });
  });

  test("a new prompt declines what waits, when it is asked to", async () => {
    const store = new MemoryStore();
    const painted: unknown[] = [];
    await newProcess(store, [paint(painted)], [asksFor("ann", "bob")]).run("go", { threadId: "t" });
    const agent = newProcess(store, [paint(painted)], ["forgotten"]);
    expect((await failureOf(() => agent.run("no, stop", { threadId: "t" }))).code).toBe("PENDING");
    const options = { threadId: "t", declinePending: "she changed her mind" };
    expect(await agent.run("no, stop", options)).toMatchObject({ stopReason: "complete", text: "forgotten" });
    expect({ painted, statuses: await store.statuses() }).toEqual({ painted: [], statuses: ["denied", "denied"] });
    expect((await store.lines()).at(-2)).toBe("user: no, stop");
    expect((await store.state()).messages[2]?.content).toContain("The reason: she changed her mind");
  });

  test("a resume says either what the answer is or that there will be none", () => {
    const agent = newProcess(new MemoryStore(), [], []);
    const place = { threadId: "t", id: "i" };
    expect(() => agent.answer(place)).toThrow(/needs a response, or decline: true/);
    expect(() => agent.answer({ ...place, response: 1, decline: true })).toThrow(/not both/);
  });
});

describe("what needs a person needs a thread", () => {
  const pay = tool({ name: "pay", needsApproval: (input) => input === 1, execute: () => "paid" });

  test("an agent with a tool that may need approval refuses a run that is not kept, before anything happens", () => {
    const model = scriptedModel([]);
    const saves = agentOf({ model, tools: [pay], checkpointer: new MemoryStore().open() });
    expect(() => saves.run("go")).toThrow(/"pay" needs approval.*this run needs a threadId/);
    const keepsNothing = agentOf({ model, tools: [pay] });
    expect(() => keepsNothing.run("go", { threadId: "t" })).toThrow(/an agent with a checkpointer/);
    expect(model.requests).toHaveLength(0);
  });

  test("a tool that asks a person in a run that is not kept fails, and the model is told", async () => {
    const painted: unknown[] = [];
    const model = scriptedModel([asksFor("ann"), "I could not ask"]);
    const result = await agentOf({ model, tools: [paint(painted)] }).run("go");
    expect(result).toMatchObject({ stopReason: "complete", pending: [] });
    expect({ painted, told: result.state.messages[2]?.content }).toEqual({
      painted: [],
      told: expect.stringContaining("no thread in which the question could wait"),
    });
  });
});

test("the thread's metadata reaches tools after a resume, and in later runs", async () => {
  const store = new MemoryStore();
  const seen: unknown[] = [];
  const ask = tool({
    name: "ask",
    execute: async (_, { interrupt, metadata }) => {
      seen.push(metadata);
      await interrupt({ question: "may I?" });
    },
  });
  const first = newProcess(store, [ask], [asks]);
  await first.run("go", { threadId: "t", metadata: { user: "ann", tries: 1 } });
  const second = newProcess(store, [ask], ["ready"]);
  await second.answer({ threadId: "t", id: "c/1", response: 1, metadata: { tries: 2 } });
  expect(seen).toEqual([
    { user: "ann", tries: 1 },
    { user: "ann", tries: 2 },
  ]);
});

describe("a run's runtime is handed to its tools and never stored", () => {
  interface Services {
    readonly db: { readonly name: string; close(): void };
  }
  const services: Services = { db: { name: "orders", close: () => undefined } };
  const seen: unknown[] = [];
  const query = tool({
    name: "query",
    inputSchema: { type: "object" },
    execute: async (_input, { runtime, interrupt }: ToolContext<Services>) => {
      seen.push(runtime.db.name);
      return interrupt({ question: "and?" });
    },
  });
  const open = (store: MemoryStore, steps: readonly ScriptStep[]) =>
    agentOf<unknown, Services>({ model: scriptedModel(steps), checkpointer: store.open(), tools: [query] });

  test("in a run and in a resume", async () => {
    const store = new MemoryStore();
    const step: ScriptStep = { toolCalls: [{ name: "query", id: "q" }] };
    await open(store, [step]).run("go", { threadId: "t", runtime: services });
    const agent = open(store, ["ready"]);
    await agent.answer({ threadId: "t", id: "q/1", response: 1, runtime: services });
    expect(seen).toEqual(["orders", "orders"]);
    expect(JSON.stringify((await store.state()).toCheckpoint())).not.toContain("orders");
  });

  test("the types ask for what the tools need", () => {
    const agent = open(new MemoryStore(), []);
    const typed = (): unknown => [
      // @ts-expect-error: the tools need a runtime
      agent.run("go"),
      // @ts-expect-error: the tools need a runtime
      agent.run("go", { threadId: "t" }),
      // @ts-expect-error: of another shape
      agent.run("go", { runtime: { db: 5 } }),
      // @ts-expect-error: a resume needs it as well
      agent.answer({ threadId: "t", id: "i", response: 1 }),
      // @ts-expect-error: an agent of tools that need nothing does not take this one
      agentOf<unknown, unknown>({ model: scriptedModel([]), tools: [query] }),
    ];
    expect(typed).toBeTypeOf("function");
  });
});
