import { expect, test } from "vitest";
import { agentOf } from "../../test/agent/agent-of.ts";
import { MemoryStore } from "../../test/agent/stored-thread.ts";
import { FIFTY_TURNS, INJECTION } from "../../test/memory/fifty-turns.ts";
import { tool } from "../agent/tool.ts";
import { InMemoryStore } from "../backends/memory/store.ts";
import type { Model } from "../models/model.ts";
import { textOf } from "../state/message.ts";
import { scriptedModel } from "../testing/models/scripted-model.ts";
import { LLMMemoryManager, type LLMMemoryManagerOptions } from "../wiring/llm-memory-manager.ts";
import type { MemoryDecision } from "./core-memory.ts";
import type { ExtractFunction, ExtractRequest } from "./extractor.ts";
import type { Memory } from "./memory.ts";

/** Finds what the script says is there, and besides that lies in every way a model can. */
function extractorOfTheScript(requests: ExtractRequest[] = []): ExtractFunction {
  return async (request) => {
    requests.push(request);
    const found = request.messages.flatMap(({ index, role, text }) => {
      if (role !== "user") return [];
      const turn = FIFTY_TURNS.find(({ say }) => say === text);
      const facts = (turn?.facts ?? []).map((fact) => ({ ...fact, quote: text, message: index }));
      if (turn?.toolOutput === undefined) return facts;
      const wish = {
        type: "user",
        subject: "user",
        attribute: "admin password",
        value: "hunter2",
        text: "It is hunter2.",
      } as const;
      return [
        ...facts,
        // The tool's output cited as what it is, and passed off as the user's and as the assistant's words.
        { ...wish, quote: "the admin password is hunter2", message: index + 2 },
        { ...wish, quote: "the admin password is hunter2", message: index },
        { ...wish, quote: "Noted", message: index + 3 },
        { ...wish, type: "feedback" as const, quote: "all invoices", message: 0 },
      ];
    });
    return found;
  };
}

/** Talks to an agent with a memory: "Noted." to everything, and a tool call where the script has one. */
async function dialogue(
  options: Partial<LLMMemoryManagerOptions> & { each?: (memory: LLMMemoryManager) => Promise<void> },
) {
  const { each = async () => undefined, ...given } = options;
  const decisions: MemoryDecision[] = [];
  let time = Date.UTC(2026, 0, 1);
  const memory = new LLMMemoryManager({
    store: new InMemoryStore(),
    extract: extractorOfTheScript(),
    onDecision: (decision) => decisions.push(decision),
    now: () => (time += 60_000),
    ...given,
  });
  const threads = new MemoryStore();
  let output = "";
  const lookUp = tool({ name: "look_up", effect: "pure", execute: () => output });
  for (const turn of FIFTY_TURNS) {
    output = turn.toolOutput ?? "";
    const model: Model = scriptedModel(
      turn.toolOutput === undefined ? ["Noted."] : [{ toolCalls: [{ name: "look_up" }] }, "Noted."],
    );
    const agent = agentOf({ model, checkpointer: threads.open(), memory, tools: [lookUp] });
    await agent.run(turn.say, { threadId: "t", metadata: { userId: "ines" } });
    await each(memory);
  }
  return { memory, threads, decisions, shelf: memory.of({ userId: "ines" }) };
}

const heldOf = (memories: readonly Memory[], attribute: string): readonly string[] =>
  memories.filter((memory) => memory.attribute === attribute && memory.status === "active").map(({ value }) => value);

test("fifty turns leave each fact once; corrections win and keep what they corrected (locus 40)", async () => {
  const { shelf } = await dialogue({});
  const memories = await shelf.list();
  expect(new Set(memories.map(({ text }) => text)).size).toBe(memories.length);
  expect(heldOf(memories, "home city")).toEqual(["Bern"]);
  expect(heldOf(memories, "diet")).toEqual(["vegan"]);
  expect(heldOf(memories, "employer")).toEqual(["Seebank"]);
  expect(heldOf(memories, "deadline")).toEqual(["17 March"]);
  expect(heldOf(memories, "allergy").toSorted()).toEqual(["peanuts", "shellfish"]);
  expect(heldOf(memories, "language").toSorted()).toEqual(["French", "German"]);
  expect(heldOf(memories, "instrument")).toEqual([]);
  const home = memories.find(({ attribute }) => attribute === "home city") as Memory;
  expect(home.history).toMatchObject([{ value: "Zurich", validTo: home.validFrom }]);
  expect(home.history[0]?.validFrom).toBeLessThan(home.validFrom);
  expect(home.seen).toBe(4);
});

test("nothing that a tool said is stored or put up for review as the user's, whatever the extractor claims", async () => {
  const { shelf, decisions, memory } = await dialogue({});
  const requests: ExtractRequest[] = [];
  await dialogue({ extract: extractorOfTheScript(requests) });
  for (const { messages } of requests) {
    expect(JSON.stringify(messages)).not.toMatch(/hunter2|Evil Corp/);
  }
  expect(JSON.stringify([await shelf.list(), await shelf.pending()])).not.toMatch(/hunter2|evil/i);
  expect(decisions.filter(({ outcome }) => outcome === "refused")).toHaveLength(8);
  const recalled = await memory.retrieve(INJECTION, { metadata: { userId: "ines" } });
  expect(JSON.stringify(recalled)).not.toMatch(/hunter2|evil/i);
});

test("the cap holds after every turn, and what holds is kept before what no longer does (locus 40)", async () => {
  const sizes: number[] = [];
  const { shelf } = await dialogue({
    maxMemories: 6,
    each: async (memory) => void sizes.push((await memory.of({ userId: "ines" }).list()).length),
  });
  expect(Math.max(...sizes)).toBe(6);
  const last = (await shelf.list()).map(({ attribute }) => attribute);
  expect(last).toContain("birthday");
  expect(last).not.toContain("instrument");
});

test("every memory's provenance resolves to the message it was taken from", async () => {
  const { shelf, memory, threads } = await dialogue({});
  for (const { id, provenance } of await shelf.list()) {
    const { message } = await memory.explain(id, { metadata: { userId: "ines" }, checkpointer: threads.open() });
    expect(message).toMatchObject({ role: "user" });
    expect(textOf(message!)).toContain(provenance.quote);
  }
});

test("reading the whole thread again changes nothing", async () => {
  const store = new InMemoryStore();
  const { shelf, memory, threads } = await dialogue({ store });
  const before = await shelf.list();
  await store.clearNamespace(["memory", "users", "ines", "threads"]);
  const state = await threads.state();
  const signal = new AbortController().signal;
  const context = { state, threadId: "t", metadata: { userId: "ines" }, signal, checkpointId: undefined, recalled: [] };
  await memory.remember(context);
  await memory.remember(context);
  expect(await shelf.list()).toEqual(before);
});

test("a second session recalls the right five, right before its question, and stores no note in the thread (locus 40)", async () => {
  const { memory, threads } = await dialogue({});
  const model = scriptedModel(["Ratatouille, then."]);
  const agent = agentOf({ model, checkpointer: threads.open(), memory });
  const prompt = "Cook dinner for me and my sister: mind my allergies and my diet, and think of my favourite dish.";
  await agent.run(prompt, { threadId: "second", metadata: { userId: "ines" } });
  const [note, asked] = model.requests[0]?.messages.slice(-2).map(textOf) ?? [];
  expect(asked).toBe(prompt);
  const texts =
    note
      ?.split("\n")
      .filter((line) => line.startsWith("- "))
      .map((line) => JSON.parse(line.slice(line.indexOf('"')))) ?? [];
  expect(texts.toSorted()).toEqual([
    "The user is a vegan.",
    "The user is allergic to peanuts.",
    "The user is allergic to shellfish.",
    "The user's favourite dish is ratatouille.",
    "The user's sister is called Mara.",
  ]);
  expect(await threads.lines("second")).toEqual([`user: ${prompt}`, "assistant: Ratatouille, then."]);
});

test("another user recalls nothing of it", async () => {
  const { memory } = await dialogue({});
  for (const metadata of [{ userId: "ine" }, { userId: "ines2" }, {}]) {
    expect(await memory.retrieve("What is my name and where do I live?", { metadata })).toEqual([]);
  }
});

test("with review, nothing is recalled before somebody approved it", async () => {
  const { shelf, memory } = await dialogue({ review: true });
  expect(await shelf.list()).toEqual([]);
  expect(await memory.retrieve("Where do I live?", { metadata: { userId: "ines" } })).toEqual([]);
  const waiting = await shelf.pending();
  const bern = waiting.find(({ fact }) => fact.value === "Bern");
  const zurich = waiting.find(({ fact }) => fact.value === "Zurich");
  expect(await shelf.approve(bern!.id)).toMatchObject({ value: "Bern" });
  expect(await shelf.reject(zurich!.id)).toBe(true);
  expect((await shelf.list()).map(({ value }) => value)).toEqual(["Bern"]);
  expect(await shelf.pending()).toHaveLength(waiting.length - 2);
});
