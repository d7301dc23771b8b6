import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { type Message, textOf } from "../state/message.ts";
import type { Memory, PastValue, Provenance } from "./memory.ts";

/** Why something is remembered: what holds, since when, by whose words, and what held before. */
export interface Explanation {
  readonly memory: Memory;
  readonly provenance: Provenance;
  readonly history: readonly PastValue[];
  /** The message that it was taken from, where a checkpointer was given and the thread still holds it with the quoted words. */
  readonly message: Message | undefined;
}

/** The message that a memory was taken from, as the thread holds it now; `undefined` where it is gone or says something else. */
export async function resolveProvenance(
  { threadId, checkpointId, message, quote }: Provenance,
  checkpointer: BaseCheckpointer,
): Promise<Message | undefined> {
  if (threadId === null) return undefined;
  const atThatTime = checkpointId === null ? undefined : await checkpointer.load(threadId, { checkpointId });
  // A checkpoint may have been vacuumed while the thread continued.
  const state = atThatTime ?? (await checkpointer.load(threadId));
  const found = state?.messages[message.index];
  return found !== undefined && found.role === message.role && textOf(found).includes(quote.trim()) ? found : undefined;
}
