import type { RunEvent } from "../events.ts";

/** Says that a thread was named and is not saved: in every run, and loudly once for each agent, since few look at events. */
export class UnsavedThreads {
  #hasWarned = false;

  warn(threadId: string, emit: (event: RunEvent) => void): void {
    const text = `the agent has no checkpointer, so thread ${JSON.stringify(threadId)} is not saved; pass one to new Agent(), or leave the threadId out`;
    emit({ type: "warning", where: "thread", error: new Error(text) });
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    process.emitWarning(text, { type: "HoldfastWarning", code: "HOLDFAST_NOT_SAVED" });
  }
}
