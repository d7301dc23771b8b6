import { expect, test } from "vitest";
import { askedAnew, DINNER, dialogue, extractorOfTheScript, heldOf } from "../../test/memory/dialogue.ts";
import { INJECTION } from "../../test/memory/fifty-turns.ts";
import { InMemoryStore } from "../backends/memory/store.ts";
import { textOf } from "../state/message.ts";
import type { ExtractRequest } from "./extractor.ts";
import type { Memory } from "./memory.ts";

test("fifty turns leave each fact once; corrections win and keep what they corrected", async () => {
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
  const recalled = await memory.retrieve(INJECTION, { subject: "ines" });
  expect(JSON.stringify(recalled)).not.toMatch(/hunter2|evil/i);
});

test("the cap holds after every turn, and what holds is kept before what no longer does", async () => {
  const sizes: number[] = [];
  const { shelf } = await dialogue({
    maxMemories: 6,
    each: async (memory) => void sizes.push((await memory.of({ subject: "ines" }).list()).length),
  });
  expect(Math.max(...sizes)).toBe(6);
  const last = (await shelf.list()).map(({ attribute }) => attribute);
  expect(last).toContain("birthday");
  expect(last).not.toContain("instrument");
});

test("every memory's provenance resolves to the message it was taken from", async () => {
  const { shelf, memory, threads } = await dialogue({});
  for (const { id, provenance } of await shelf.list()) {
    const { message } = await memory.explain(id, { subject: "ines", checkpointer: threads.open() });
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
  const context = {
    state,
    threadId: "t",
    subject: "ines",
    metadata: {},
    signal,
    checkpointId: undefined,
    recalled: [],
  };
  await memory.remember(context);
  await memory.remember(context);
  expect(await shelf.list()).toEqual(before);
});

test("a second session recalls the right five, right before its question, and stores no note in the thread", async () => {
  const { notes, asked, stored } = await askedAnew(await dialogue({}), DINNER);
  expect(asked).toBe(DINNER);
  expect(notes).toEqual([
    "The user is a vegan.",
    "The user is allergic to peanuts.",
    "The user is allergic to shellfish.",
    "The user's favourite dish is ratatouille.",
    "The user's sister is called Mara.",
  ]);
  expect(stored).toEqual([`user: ${DINNER}`, "assistant: Ratatouille, then."]);
});

test("another user recalls nothing of it", async () => {
  const { memory } = await dialogue({});
  for (const whose of [{ subject: "ine" }, { subject: "ines2" }, { threadId: "t" }, { threadId: "second" }]) {
    expect(await memory.retrieve("What is my name and where do I live?", whose)).toEqual([]);
  }
});

test("with review, nothing is recalled before it was approved", async () => {
  const { shelf, memory } = await dialogue({ review: true });
  expect(await shelf.list()).toEqual([]);
  expect(await memory.retrieve("Where do I live?", { subject: "ines" })).toEqual([]);
  const waiting = await shelf.pending();
  const bern = waiting.find(({ fact }) => fact.value === "Bern");
  const zurich = waiting.find(({ fact }) => fact.value === "Zurich");
  expect(await shelf.approve(bern!.id)).toMatchObject({ value: "Bern" });
  expect(await shelf.reject(zurich!.id)).toBe(true);
  expect((await shelf.list()).map(({ value }) => value)).toEqual(["Bern"]);
  expect(await shelf.pending()).toHaveLength(waiting.length - 2);
});
