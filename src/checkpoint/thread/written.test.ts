import { expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import type { ErrorCode } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { FaultyLog } from "../../testing/faulty-log.ts";
import { Checkpointer } from "../checkpointer.ts";

const state = AgentState.create().withMessage(userMessage("hello"));

/** Fails the first `count` appends. */
function failing(code: ErrorCode, when: "before" | "after", count: number): Checkpointer {
  let failed = 0;
  const log = new FaultyLog(new MemoryLog(), {
    faultAt: ({ method }) => (method === "append" && failed++ < count ? { when, code } : undefined),
  });
  return new Checkpointer(log, { retry: { attempts: 2, baseDelayMs: 0 } });
}

test.each(["before", "after"] as const)(
  "a save that got no answer (lost %s the effect) may have been written, and can be repeated",
  async (when) => {
    const checkpointer = failing("UNAVAILABLE", when, 2);
    const failure = await failureOf(() => checkpointer.save(state, "t"));
    expect(failure).toMatchObject({ code: "UNAVAILABLE", retryable: true, context: { written: "unknown" } });
    expect(failure.message).toMatch(/It may have been written; saving the same state again applies it once$/);
    await checkpointer.save(state, "t");
    expect(await checkpointer.listCheckpoints("t")).toHaveLength(1);
  },
);

test("a save that was declined was not written", async () => {
  const failure = await failureOf(() => failing("PERMISSION_DENIED", "before", 1).save(state, "t"));
  expect(failure).toMatchObject({ code: "PERMISSION_DENIED", context: { written: "no" } });
  expect(failure.message).toMatch(/Nothing was written$/);
});

test("a save that was declined after an attempt without an answer may have been written", async () => {
  let appends = 0;
  const log = new FaultyLog(new MemoryLog(), {
    faultAt: ({ method }) => {
      if (method !== "append") return undefined;
      return appends++ === 0 ? { when: "after", code: "TIMEOUT" } : { when: "before", code: "PERMISSION_DENIED" };
    },
  });
  const checkpointer = new Checkpointer(log, { retry: { attempts: 2, baseDelayMs: 0 } });
  const failure = await failureOf(() => checkpointer.save(state, "t"));
  expect(failure).toMatchObject({ code: "PERMISSION_DENIED", context: { written: "unknown" } });
  expect(await checkpointer.exists("t")).toBe(true);
});

test("a save that met another writer says that nothing was written", async () => {
  const checkpointer = new Checkpointer(new MemoryLog());
  await checkpointer.save(state, "t");
  const rival = AgentState.create().withMessage(userMessage("rival"));
  const failure = await failureOf(() => checkpointer.save(rival, "t"));
  expect(failure).toMatchObject({ code: "CONFLICT", context: { written: "no" } });
});
