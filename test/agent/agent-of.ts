import { CoreAgent, type CoreAgentOptions } from "../../src/agent/agent.ts";
import type { RunEvent } from "../../src/agent/events.ts";
import type { Run } from "../../src/agent/run.ts";
import type { BaseCheckpointer } from "../../src/checkpoint/base-checkpointer.ts";
import type { Model } from "../../src/models/model.ts";

export interface AgentOfOptions<Context = unknown> extends Omit<CoreAgentOptions<Context>, "model" | "checkpointer"> {
  readonly model: Model;
  readonly checkpointer?: BaseCheckpointer;
}

/** The agent of the loop alone: no provider, no URL, no retries around the model. */
export function agentOf<Output = unknown, Context = unknown>({
  model,
  checkpointer,
  ...rest
}: AgentOfOptions<Context>): CoreAgent<Output, Context> {
  return new CoreAgent<Output, Context>({
    ...rest,
    model: async () => model,
    ...(checkpointer !== undefined && { checkpointer: async () => checkpointer }),
  });
}

/** Every event of a run, also of one that fails in the end. */
export async function eventsOf(run: Run<unknown>): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  try {
    for await (const event of run) events.push(event);
  } catch {
    // A failure arrives as an event too; a caller that wants it awaits the run.
  }
  return events;
}

export type EventOf<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>;

export const ofType = <Type extends RunEvent["type"]>(
  events: readonly RunEvent[],
  type: Type,
): readonly EventOf<Type>[] => events.filter((event): event is EventOf<Type> => event.type === type);
