import { describe, expect, test, vi } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { InterruptedLog } from "../../../test/interrupted-log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";

describe.each([
  ["by itself", 2],
  ["by its caller", 1],
])("a save that got no answer and is repeated %s, after others saved", (_, attempts) => {
  async function repeatedAfter(
    log: InterruptedLog,
    moment: "before" | "after",
    meanwhile: () => Promise<void>,
  ): Promise<string> {
    const { save } = await begun(log, moment, meanwhile);
    return save();
  }

  async function begun(
    log: InterruptedLog,
    moment: "before" | "after",
    meanwhile: () => Promise<void>,
  ): Promise<{ readonly save: () => Promise<string> }> {
    await log.othersAdd(3);
    const checkpointer = new Checkpointer(log, { retry: { attempts, baseDelayMs: 1 } });
    const loaded = (await checkpointer.load("t")) ?? AgentState.create();
    const changed = loaded.withMessage(userMessage("mine"));
    log.meanwhile = meanwhile;
    log.failures.push(moment);
    const save = (): Promise<string> => checkpointer.save(changed, "t");
    if (attempts === 1) await failureOf(save);
    return { save };
  }

  test.each([
    ["after", 1],
    ["before", 0],
  ] as const)(
    "leaves it open whether it was written, where a vacuum took away what would show it (lost %s the write)",
    async (moment, times) => {
      const log = new InterruptedLog();
      const repeated = (): Promise<string> =>
        repeatedAfter(log, moment, async () => {
          await log.othersAdd(4);
          await log.vacuum();
        });
      const error = await failureOf(repeated);
      expect(error).toMatchObject({ code: "CONFLICT", context: { written: "unknown", threadId: "t" } });
      expect(error.message).toContain("redo the change only if it is not in it");
      expect(await log.timesSaid("mine")).toBe(times);
    },
  );

  test("says the same when that state is saved once more, also where the storage was away when it looked", async () => {
    const log = new InterruptedLog();
    const { save } = await begun(log, "after", async () => {
      await log.othersAdd(4);
      await log.vacuum();
      const list = vi.spyOn(log, "list");
      for (let failure = 0; failure < attempts; failure++) list.mockRejectedValueOnce(new Error("away"));
    });
    expect(await failureOf(save)).toMatchObject({ code: "UNAVAILABLE", context: { written: "unknown" } });
    for (const _ of [1, 2]) {
      expect(await failureOf(save)).toMatchObject({ code: "CONFLICT", context: { written: "unknown" } });
    }
    expect(await log.timesSaid("mine")).toBe(1);
  });

  test("is found where a vacuum left its checkpoint", async () => {
    const log = new InterruptedLog();
    const checkpointId = await repeatedAfter(log, "after", async () => {
      await log.othersAdd(1);
      await log.vacuum();
    });
    expect(await log.entry("t", checkpointId)).toBeDefined();
    expect(await log.timesSaid("mine")).toBe(1);
  });

  test("says that nothing was written where nothing was, and nothing was removed", async () => {
    const log = new InterruptedLog();
    const error = await failureOf(() => repeatedAfter(log, "before", () => log.othersAdd(4)));
    expect(error).toMatchObject({ code: "CONFLICT", context: { written: "no" } });
    expect(await log.timesSaid("mine")).toBe(0);
  });

  test("says that nothing was written where the thread was removed and made anew", async () => {
    const log = new InterruptedLog();
    const error = await failureOf(() =>
      repeatedAfter(log, "after", async () => {
        await new Checkpointer(log).delete("t");
        await log.othersAdd(4);
        await log.vacuum();
      }),
    );
    expect(error).toMatchObject({ code: "CONFLICT", context: { written: "no" } });
    expect(await log.timesSaid("mine")).toBe(0);
  });
});
