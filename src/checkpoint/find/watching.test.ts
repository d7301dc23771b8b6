import { expect, test } from "vitest";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import type { LogEntry } from "../log/thread-log.ts";

test("a checkpoint that is saved between a watcher's two looks is shown once", async () => {
  let betweenLooks: () => Promise<void> = async () => undefined;
  class SlowLog extends MemoryLog {
    override async list(threadId: string, options: { before?: number; limit: number }): Promise<readonly LogEntry[]> {
      await betweenLooks();
      return super.list(threadId, options);
    }
  }
  const checkpointer = new Checkpointer(new SlowLog());
  const one = AgentState.create().withMessage(userMessage("one"));
  const two = one.withMessage(userMessage("two"));
  const steps = [one, two, two.withMessage(userMessage("three"))];
  const watched = checkpointer.watch("t")[Symbol.asyncIterator]();
  const first = watched.next();
  await new Promise((resolve) => setImmediate(resolve));
  const saved: string[] = [];
  const save = async (): Promise<void> => void saved.push(await checkpointer.save(steps[saved.length]!, "t"));
  let saving = Promise.resolve();
  betweenLooks = async () => {
    betweenLooks = async () => undefined;
    await saving;
    await save();
  };
  saving = save();
  await saving;
  const seen = [(await first).value?.checkpointId, (await watched.next()).value?.checkpointId];
  await save();
  seen.push((await watched.next()).value?.checkpointId);
  expect(seen).toEqual(saved);
  await watched.return?.();
});
