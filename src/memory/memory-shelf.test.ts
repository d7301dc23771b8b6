import { describe, expect, test } from "vitest";
import { failureOf } from "../../test/failure-of.ts";
import { home, memoryOf, signal, whose } from "../../test/memory/memory-of.ts";
import { AgentState } from "../state/agent-state.ts";
import { assistantMessage, userMessage } from "../state/message.ts";

describe("deciding", () => {
  test("what is approved takes the place of what it corrects; twice suggested is one", async () => {
    const { hear, shelf } = memoryOf({ review: true });
    await hear([userMessage("I live in Bern.")]);
    await hear([userMessage("I live in Bern.")], "other");
    const [waiting] = await shelf.pending();
    expect(await shelf.pending()).toHaveLength(1);
    await shelf.approve(waiting!.id);
    await hear([userMessage("I live in Bern."), userMessage("I live in Basel.")]);
    expect(await shelf.list()).toMatchObject([{ value: "Bern" }]);
    const [correction] = await shelf.pending();
    expect(await shelf.approve(correction!.id)).toMatchObject({ value: "Basel", history: [{ value: "Bern" }] });
    expect(await failureOf(() => shelf.approve(correction!.id))).toMatchObject({ code: "NOT_FOUND" });
  });

  test("what is forgotten is gone with its past and with what waits to correct it", async () => {
    const { hear, shelf, store } = memoryOf();
    await hear([userMessage("I live in Bern."), userMessage("I live in Basel.")]);
    const [known] = await shelf.list();
    await shelf.suggest({ ...home("Rome"), attribute: "home" }, known!.provenance, "test");
    expect(await shelf.forget(known!.id)).toBe(true);
    expect(await shelf.forget(known!.id)).toBe(false);
    const left = await store.list(["memory"], { recursive: true });
    expect(JSON.stringify(left)).not.toMatch(/Bern|Basel|Rome/);
  });

  test("what is forgotten does not come back when the history is edited; the words of its last turn count", async () => {
    const { hear, shelf } = memoryOf();
    await hear([userMessage("I live in Bern."), assistantMessage("Nice.")]);
    const [known] = await shelf.list();
    await shelf.forget(known!.id);
    await hear([userMessage("I live in Bern."), assistantMessage("Edited."), userMessage("My dog is called Bruno.")]);
    expect(await shelf.list()).toMatchObject([{ value: "Bruno" }]);
  });

  test("where everything is pinned, nothing new is taken in, and approving says so", async () => {
    const { hear, shelf, decisions } = memoryOf({ maxMemories: 1 });
    await hear([userMessage("I live in Bern.")]);
    const [known] = await shelf.list();
    await shelf.pin(known!.id);
    await hear([userMessage("My dog is called Bruno.")], "other");
    expect(decisions.at(-1)).toMatchObject({ outcome: "full" });
    expect(await shelf.list()).toMatchObject([{ value: "Bern" }]);
    await shelf.suggest({ ...home("Bruno"), attribute: "dog" }, known!.provenance, "test");
    const [waiting] = await shelf.pending();
    expect(await failureOf(() => shelf.approve(waiting!.id))).toMatchObject({ code: "TOO_LARGE" });
    expect(await shelf.pending()).toHaveLength(1);
  });

  test("a memory that is not there cannot be explained or pinned", async () => {
    const { memory, shelf } = memoryOf();
    expect(await failureOf(() => memory.explain("m-none", whose))).toMatchObject({ code: "NOT_FOUND" });
    expect(await failureOf(() => shelf.pin("m-none"))).toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("whose memories", () => {
  test("a user's name is a segment: no name reaches into another's place", async () => {
    const { memory } = memoryOf();
    const say = (subject: string) =>
      memory.remember({
        state: AgentState.create({ messages: [userMessage("I live in Bern.", { metadata: { subject } })] }),
        subject,
        threadId: "t",
        metadata: {},
        signal,
        checkpointId: undefined,
        recalled: [],
      });
    await say("ann");
    for (const subject of ["an", "ann/facts", "ann:facts", "users/ann", "%", "_", "Ann"]) {
      expect(await memory.of({ subject }).list()).toEqual([]);
    }
    expect(await memory.of({ subject: "ann" }).list()).toHaveLength(1);
  });

  test("a function may say what the place begins with, and the person's own is below it; what names no one is refused", async () => {
    const { memory, store } = memoryOf({ namespacePrefix: ({ tenant }) => ["acme", String(tenant)] });
    const shelf = memory.of({ subject: "ann", metadata: { tenant: "x" } });
    const message = { index: 0, offset: 4, role: "user" } as const;
    const provenance = { threadId: "t", checkpointId: null, message, quote: "Bern", extractor: "test", at: 1 };
    await shelf.suggest(home("Bern"), provenance, "doubtful");
    const [item] = await store.list([], { recursive: true });
    expect(item).toMatchObject({ namespace: ["acme", "x", "users", "ann", "pending"], metadata: { subject: "ann" } });
    const { memory: other } = memoryOf();
    expect(() => other.of({ subject: 42 as never })).toThrow(/a subject is the id of a person/);
    expect(() => other.of({ subject: "" })).toThrow(/a subject is the id of a person/);
    expect(() => other.of({})).toThrow(/must be told whose memories are meant/);
    expect(() => other.of({ user_id: "ann" } as never)).toThrow(/named by subject, not by user_id/);
  });

  test("what one person said in a thread is no memory of another, nor of the thread", async () => {
    const { memory } = memoryOf();
    const said = (text: string, subject: string) => userMessage(text, { metadata: { subject } });
    const messages = [said("I live in Bern.", "ann"), said("I live in Oslo.", "bob"), userMessage("I live in Rome.")];
    const context = { state: AgentState.create({ messages }), threadId: "t", metadata: {}, signal, recalled: [] };
    for (const subject of ["ann", "bob", undefined]) {
      await memory.remember({ ...context, subject, checkpointId: undefined });
      const found = await memory.of(subject === undefined ? { threadId: "t" } : { subject }).list();
      expect(found.map(({ value }) => value)).toEqual([{ ann: "Bern", bob: "Oslo" }[subject ?? ""] ?? "Rome"]);
    }
  });
});
