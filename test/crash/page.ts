import assert from "node:assert/strict";
import { followTurn } from "../../src/agent/page/following.ts";
import type { UIMessageChunk } from "../../src/agent/page/ui-stream.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import { textOf } from "../../src/state/message.ts";

/** A page that lost its server and reconnects to another one, which only reads. It stays until the turn ends or waits. */
export async function watchPage(log: ThreadLog, threadId: string): Promise<readonly UIMessageChunk[]> {
  const checkpointer = new Checkpointer(log);
  const shown: UIMessageChunk[] = [];
  if ((await checkpointer.load(threadId)) === undefined) return shown;
  for await (const chunk of followTurn(checkpointer, threadId, { pollMs: 5 })) shown.push(chunk);
  return shown;
}

/** Whatever it was shown is in the thread, once, and it was shown that the turn ended or waits. */
export function judgePage(shown: readonly UIMessageChunk[], final: AgentState | undefined): void {
  if (shown.length === 0) return;
  const said = new Set((final?.messages ?? []).map(textOf));
  const words = shown.flatMap((chunk) => (chunk.type === "text-delta" ? [String(chunk["delta"])] : []));
  for (const text of words) assert.ok(said.has(text), `the page was shown ${JSON.stringify(text)}, which is not there`);
  assert.equal(new Set(words).size, words.length, "the page was shown words twice");
  for (const kind of ["tool-input-available", "tool-output-available"]) {
    const calls = shown.flatMap((chunk) => (chunk.type === kind ? [chunk["toolCallId"]] : []));
    assert.equal(new Set(calls).size, calls.length, `the page was shown a call twice (${kind})`);
  }
  assert.equal(shown.at(-1)?.type, "finish", "the page was not told how it ended");
}
