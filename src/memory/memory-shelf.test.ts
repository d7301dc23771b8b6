import { describe, expect, test } from "vitest";
import { failureOf } from "../../test/failure-of.ts";
import { home, memoryOf, metadata, signal } from "../../test/memory/memory-of.ts";
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

  test("what is forgotten does not come back when the history is edited; what is said in its last turn counts", async () => {
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
    expect(await failureOf(() => memory.explain("m-none", { metadata }))).toMatchObject({ code: "NOT_FOUND" });
    expect(await failureOf(() => shelf.pin("m-none"))).toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("whose memories", () => {
  test("a user's name is a segment: no name reaches into another's place", async () => {
    const { memory } = memoryOf();
    const say = (userId: string) =>
      memory.remember({
        state: AgentState.create({ messages: [userMessage("I live in Bern.")] }),
        threadId: "t",
        metadata: { userId },
        signal,
        checkpointId: undefined,
        recalled: [],
      });
    await say("ann");
    for (const userId of ["an", "ann/facts", "ann:facts", "users/ann", "%", "_", "Ann"]) {
      expect(await memory.of({ userId }).list()).toEqual([]);
    }
    expect(await memory.of({ userId: "ann" }).list()).toHaveLength(1);
  });

  test("a function may say the whole place; what is no text is refused", async () => {
    const { memory } = memoryOf({ namespacePrefix: ({ tenant }) => ["acme", String(tenant)] });
    expect(await memory.of({ tenant: "x" }).list()).toEqual([]);
    expect(() => memoryOf().memory.of({ userId: 42 })).toThrow(/userId must be a text/);
    await expect(() => memoryOf().memory.of({ userId: "" }).list()).rejects.toThrow(/must not be empty/);
  });
});
