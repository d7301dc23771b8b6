import type { CoreAgentOptions } from "../../src/agent/agent.ts";
import type { Overlay } from "../../src/conversation/overlay.ts";
import type { Model, ModelRequest } from "../../src/models/model.ts";
import { type Message, textOf } from "../../src/state/message.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "../agent/agent-of.ts";
import { MemoryStore } from "../agent/stored-thread.ts";

export const LONG: string = "The parcel went from the depot to the harbour and back to the depot. ".repeat(4);
export const said = (request: ModelRequest | undefined): string => (request?.messages ?? []).map(textOf).join("\n");
export const overlayOf = async (store: MemoryStore, threadId?: string): Promise<Overlay> =>
  (await store.state(threadId)).overlay as Overlay;

/** Answers every prompt with the same long words, and every request for a record with the next of `records`. */
export function chatting(
  records: readonly ScriptStep[],
): Model & { readonly summaries: readonly ModelRequest[]; readonly prompts: readonly ModelRequest[] } {
  const summaries: ModelRequest[] = [];
  const prompts: ModelRequest[] = [];
  return {
    id: "chatting",
    summaries,
    prompts,
    stream(request) {
      const isRecord = textOf(request.messages[0] as Message).startsWith("You keep the record");
      (isRecord ? summaries : prompts).push(request);
      const step = isRecord ? records[summaries.length - 1] : LONG;
      return scriptedModel([step ?? new Error("no more records")]).stream(request);
    },
  };
}

/** This many turns of one thread, each by an agent of its own; and what they warned of. */
export async function talk(
  turns: number,
  options: Omit<CoreAgentOptions, "model" | "checkpointer"> & { model: Model; store?: MemoryStore },
): Promise<{ readonly store: MemoryStore; readonly warnings: readonly unknown[] }> {
  const { store = new MemoryStore(), model, ...rest } = options;
  const warnings: unknown[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    const run = agentOf({ model, checkpointer: store.open(), ...rest }).run(`Question ${turn}. ${LONG}`, {
      threadId: "t",
    });
    for (const { error } of ofType(await eventsOf(run), "warning")) warnings.push(error);
    await run;
  }
  return { store, warnings };
}
