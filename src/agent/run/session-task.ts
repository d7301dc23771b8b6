import type { StopReason } from "../events.ts";
import type { RunContext } from "./run-context.ts";

/** Tells the session that its task is done, where the run ended with an answer. The answer is saved: a failure is a warning. */
export async function finishTask({ task, session, threadId, emit }: RunContext, stopReason: StopReason): Promise<void> {
  if (task === undefined || !(stopReason === "complete" || stopReason === "terminal-tool")) return;
  try {
    await task.finished({ threadId, checkpointId: session.checkpointId, stopReason });
  } catch (error) {
    emit({ type: "warning", where: "session", error });
  }
}
