import { AgentState } from "../../state/agent-state.ts";
import type { StateFields } from "../../state/fields.ts";
import { userMessage } from "../../state/message.ts";
import { assertSame } from "../same-value.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, conversation, fullState, loaded } from "./conversations.ts";

type Change = (state: AgentState, step: number) => AgentState;

const withFields = (state: AgentState, change: (fields: Record<string, unknown>) => void): AgentState => {
  const fields: Record<string, unknown> = { ...state.fields };
  change(fields);
  return state.with(fields as Partial<StateFields>);
};

/** One of each kind: what a delta must carry, and what requires a new base. */
const CHANGES: Readonly<Record<string, Change>> = {
  "a message is added": (state, step) => and(state, `added at ${step}`),
  "several messages are added": (state, step) => state.withMessages([userMessage(`a${step}`), userMessage(`b${step}`)]),
  "the last message is edited": (state, step) =>
    state.withHistory([...state.messages.slice(0, -1), userMessage(`edited ${step}`)]),
  "the first message is edited": (state, step) =>
    state.withHistory([userMessage(`first ${step}`), ...state.messages.slice(1)]),
  "the conversation is cut": (state) =>
    state.withHistory(state.messages.slice(0, Math.ceil(state.messages.length / 2))),
  "the conversation is compacted": (state, step) =>
    state.withHistory([userMessage(`summary ${step}`), ...state.messages.slice(-2)]),
  "the conversation is emptied": (state) => state.withHistory([]),
  "nothing changes": (state) => state,
  "a tool call is recorded": (state, step) =>
    state.withToolExecution({ toolCallId: `call ${step}`, toolName: "x", status: "started" }),
  "a tool call is settled": (state) =>
    state.toolExecutions.reduce(
      (next, execution) => next.withToolExecution({ ...execution, status: "succeeded" }),
      state,
    ),
  "a step of reasoning is recorded": (state, step) => state.withReasoningStep({ iteration: step, thought: "so" }),
  "an error is recorded": (state, step) => state.withError({ at: step, where: "here", message: "no" }),
  "usage is added": (state, step) => state.withUsage({ iterations: 1, inputTokens: step }),
  "a key of metadata is set": (state, step) => state.withMetadata({ [`key ${step % 3}`]: [step, new Date(step)] }),
  "keys of metadata are removed": (state) => state.withMetadata({ "key 0": undefined, "key 1": undefined }),
  "metadata is put in another order": (state) =>
    state.with({ metadata: Object.fromEntries(Object.entries(state.metadata).toReversed()) }),
  "metadata has an own __proto__": (state) =>
    state.with({ metadata: JSON.parse('{"__proto__":{"polluted":1},"a":2}') }),
  "provider state changes": (state, step) => state.withProviderState({ openai: { item: step } }),
  "an unknown field appears or changes": (state, step) =>
    withFields(state, (fields) => {
      fields["later"] = { step };
    }),
  "the agent is named": (state, step) => state.with({ agentId: `agent ${step}` }),
};

/** Small and repeatable; the seed is in every message. */
function randomBelow(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

const walk = (seed: number): Omit<CheckpointerCase, "area"> => ({
  name: `a walk of 60 changes loads as it was at every checkpoint (seed ${seed})`,
  needs: ["history"],
  run: async ({ subject }) => {
    const below = randomBelow(seed);
    const names = Object.keys(CHANGES);
    const saved = new Map<string, AgentState>();
    let state = fullState();
    for (let step = 0; step < 60; step++) {
      const change = CHANGES[names[below(names.length)] ?? ""] as Change;
      state = change(state, step);
      saved.set(await subject.save(state, "t"), state);
      if (below(4) === 0) state = await loaded(subject, "t");
    }
    for (const [checkpointId, expected] of saved) {
      const actual = await loaded(subject, "t", { checkpointId });
      assertSame(actual.fields, expected.fields, `seed ${seed}, checkpoint ${[...saved.keys()].indexOf(checkpointId)}`);
    }
  },
});

export const changingCases: readonly CheckpointerCase[] = checkpointerCasesOf("changes between saves", [
  ...Object.entries(CHANGES).map(
    ([name, change]) =>
      ({
        name: `the thread loads as it was after ${name}`,
        run: async ({ subject }) => {
          let state = conversation(6).withMetadata({ "key 0": 0, "key 1": 1, "key 2": 2 });
          state = state.withToolExecution({ toolCallId: "call", toolName: "x", status: "started" });
          await subject.save(state, "t");
          for (const step of [1, 2]) {
            state = change(state, step);
            await subject.save(state, "t");
            assertSame((await loaded(subject, "t")).fields, state.fields, `after ${name}`);
          }
          const goesOn = and(await loaded(subject, "t"), "and on");
          await subject.save(goesOn, "t");
          assertSame((await loaded(subject, "t")).fields, goesOn.fields, `a message later`);
        },
      }) satisfies Omit<CheckpointerCase, "area">,
  ),
  {
    name: "a field that went away stays away",
    run: async ({ subject }) => {
      const named = conversation(2).with({ agentId: "agent" });
      await subject.save(named, "t");
      const { agentId: _, ...fields } = named.fields;
      const nameless = AgentState.fromFields(fields);
      await subject.delete("t");
      await subject.save(nameless, "t");
      assertSame((await loaded(subject, "t")).fields, nameless.fields, "state");
    },
  },
  ...[1, 2, 3].map(walk),
]);
