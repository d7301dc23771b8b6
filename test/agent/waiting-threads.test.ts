import { describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { failureOf } from "../failure-of.ts";
import { asksFor, newProcess, paint } from "./painting.ts";
import { MemoryStore } from "./stored-thread.ts";

describe("an answer is refused, and nothing changes,", () => {
  const waiting = async (schema?: object): Promise<MemoryStore> => {
    const store = new MemoryStore();
    const tools = [paint([], schema === undefined ? {} : { schema })];
    await newProcess(store, tools, [asksFor("ann")]).run("go", { threadId: "t" });
    return store;
  };
  const answer = (store: MemoryStore, id: string, response: unknown, schema?: object): Promise<unknown> => {
    const tools = [paint([], schema === undefined ? {} : { schema })];
    return Promise.resolve(newProcess(store, tools, ["ready"]).answer({ threadId: "t", id, response }));
  };
  const refused = async (store: MemoryStore, id: string, response: unknown): Promise<string> => {
    const before = await store.checkpointIds();
    const { code } = await failureOf(() => answer(store, id, response));
    expect(await store.checkpointIds()).toEqual(before);
    return code;
  };

  test("to a question that was never asked, and the ones that wait are named", async () => {
    const store = await waiting();
    expect(await refused(store, "nothing/1", "red")).toBe("NOT_FOUND");
    const failure = await failureOf(() => answer(store, "nothing/1", "red"));
    expect(failure.message).toContain("paint-ann/1");
  });

  test("to a question that was answered", async () => {
    const store = await waiting();
    await answer(store, "paint-ann/1", "red");
    expect(await refused(store, "paint-ann/1", "blue")).toBe("CONFLICT");
  });

  test("that does not fit the question's schema; one that fits is taken", async () => {
    const schema = { type: "string", enum: ["red", "blue"] };
    const store = await waiting(schema);
    expect(await refused(store, "paint-ann/1", "mauve")).toBe("INVALID_ARGUMENT");
    await answer(store, "paint-ann/1", "blue", schema);
    expect(await store.statuses()).toEqual(["succeeded"]);
  });

  test("that cannot be stored", async () => {
    expect(await refused(await waiting(), "paint-ann/1", () => "red")).toBe("INVALID_ARGUMENT");
  });

  test("in a thread that is not there", async () => {
    const store = new MemoryStore();
    expect((await failureOf(() => answer(store, "paint-ann/1", "red"))).code).toBe("NOT_FOUND");
    expect(await store.open().exists("t")).toBe(false);
  });
});

test("two processes that answer one question at once: one is refused, the tool runs once", async () => {
  const store = new MemoryStore();
  const painted: unknown[] = [];
  await newProcess(store, [paint(painted)], [asksFor("ann")]).run("go", { threadId: "t" });
  const answers = ["red", "blue"].map((response) =>
    newProcess(store, [paint(painted)], ["ready"]).answer({ threadId: "t", id: "paint-ann/1", response }),
  );
  const outcomes = await Promise.allSettled(answers);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "CONFLICT" } });
  expect(painted).toHaveLength(1);
});

describe("while a question waits,", () => {
  test("a prompt is refused as PENDING, names the question and changes nothing", async () => {
    const store = new MemoryStore();
    const tools = [paint([])];
    await newProcess(store, tools, [asksFor("ann")]).run("go", { threadId: "t" });
    const before = await store.lines();
    const failure = await failureOf(() => newProcess(store, tools, ["?"]).run("hurry up", { threadId: "t" }));
    expect(failure).toMatchObject({ code: "PENDING", context: { pendingIds: ["paint-ann/1"] } });
    expect(await store.lines()).toEqual(before);
    expect(await store.statuses()).toEqual(["waiting"]);
  });

  test("a prompt that is refused leaves no trace of its metadata and its tools either", async () => {
    const store = new MemoryStore();
    await newProcess(store, [paint([])], [asksFor("ann")]).run("go", { threadId: "t" });
    const before = await store.checkpointIds();
    const other = newProcess(store, [tool({ name: "other", execute: () => 1 })], ["?"]);
    await failureOf(() => other.run("hurry up", { threadId: "t", metadata: { impatient: true } }));
    expect(await store.checkpointIds()).toEqual(before);
    expect((await store.state()).metadata).toEqual({});
  });

  test("a run without a prompt ends as interrupted again, without asking the model", async () => {
    const store = new MemoryStore();
    const tools = [paint([])];
    await newProcess(store, tools, [asksFor("ann")]).run("go", { threadId: "t" });
    const again = await newProcess(store, tools, []).run(undefined, { threadId: "t" });
    expect(again).toMatchObject({ stopReason: "pending", pending: [{ id: "paint-ann/1" }] });
  });

  test("a run of an agent without that tool leaves the question alone", async () => {
    const store = new MemoryStore();
    await newProcess(store, [paint([])], [asksFor("ann")]).run("go", { threadId: "t" });
    await newProcess(store, [], ["?"]).run(undefined, { threadId: "t" });
    expect(await store.statuses()).toEqual(["waiting"]);
    expect((await store.state()).interrupts[0]).not.toHaveProperty("answer");
  });
});
