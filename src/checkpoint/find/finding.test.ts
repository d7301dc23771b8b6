import { describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";

describe("a message that outlives the checkpoint that brought it in can still be found", () => {
  /** The base of a compaction keeps "apple", which came with the checkpoint before. */
  async function compacted(): Promise<Checkpointer> {
    const checkpointer = new Checkpointer(new MemoryLog());
    let state = AgentState.create().withMessages(["one", "two", "three"].map((text) => userMessage(text)));
    await checkpointer.save(state, "t", { checkpointId: "first" });
    state = state.withMessage(userMessage("apple"));
    await checkpointer.save(state, "t", { checkpointId: "brought it" });
    state = state.withHistory([userMessage("summary"), ...state.messages.slice(-1)]);
    await checkpointer.save(state, "t", { checkpointId: "compacted" });
    return checkpointer;
  }
  const found = async (checkpointer: Checkpointer): Promise<string[]> =>
    (await checkpointer.search("apple")).map(({ checkpointId }) => checkpointId);

  test("where nothing was removed, by the checkpoint that brought it, once", async () => {
    expect(await found(await compacted())).toEqual(["brought it"]);
  });

  test("after that checkpoint was deleted", async () => {
    const checkpointer = await compacted();
    await checkpointer.delete("t", { checkpointId: "brought it" });
    expect(await found(checkpointer)).toEqual(["compacted"]);
  });

  test("after a vacuum", async () => {
    const checkpointer = await compacted();
    await checkpointer.vacuum({ keepLast: 1 });
    expect(await found(checkpointer)).toEqual(["compacted"]);
  });

  test("after its name was moved", async () => {
    const checkpointer = await compacted();
    const state = (await checkpointer.load("t"))!.withMessage(userMessage("more"));
    await checkpointer.save(state, "t", { checkpointId: "brought it" });
    expect(await found(checkpointer)).toEqual(["compacted"]);
  });
});

test("an edit in the middle of a history does not bring in what follows it a second time", async () => {
  const checkpointer = new Checkpointer(new MemoryLog());
  const state = AgentState.create().withMessages(
    ["one", "two", "three", "four", "five"].map((text) => userMessage(text)),
  );
  await checkpointer.save(state, "t", { checkpointId: "first" });
  await checkpointer.save(state.withHistory(state.messages.with(3, userMessage("fourth"))), "t", {
    checkpointId: "edited",
  });
  const found = async (word: string): Promise<string[]> =>
    (await checkpointer.search(word)).map(({ checkpointId }) => checkpointId);
  expect([await found("fourth"), await found("five")]).toEqual([["edited"], ["first"]]);
});

test("a limit is a whole number from 0 to 10000, and says so", async () => {
  const checkpointer = new Checkpointer(new MemoryLog());
  for (const limit of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 10_001, "5" as unknown as number]) {
    for (const call of [
      () => checkpointer.listThreads({ limit }),
      () => checkpointer.listCheckpoints("t", { limit }),
      () => checkpointer.search("a", { limit }),
      () => checkpointer.queryByMetadata("k", 1, { limit }),
    ]) {
      const failure = await failureOf(call);
      expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(failure.message).toBe(
        `limit must be a whole number from 0 to 10000, not ${typeof limit === "string" ? "a string" : limit}`,
      );
    }
  }
});

test("a cursor of another list is refused", async () => {
  const checkpointer = new Checkpointer(new MemoryLog());
  for (const cursor of ["", "0", "-1", "1e3", "x", "1 ", "__proto__"]) {
    expect(await failureOf(() => checkpointer.listCheckpoints("t", { cursor }))).toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  }
});
