import fc from "fast-check";
import { expect, test } from "vitest";
import { exactForm } from "../../test/exact-form.ts";
import { runs } from "../../test/property-seed.ts";
import { AgentState } from "./agent-state.ts";
import { DeltaFold, diffFields, type StateDelta } from "./delta.ts";
import type { StateFields } from "./fields.ts";
import { assistantMessage, type Message, userMessage } from "./message.ts";
import { decodeText, encodeText } from "./values/codec.ts";

function applyDeltas(before: StateFields, deltas: readonly StateDelta[]): StateFields {
  const fold = new DeltaFold(before);
  for (const delta of deltas) fold.add(delta);
  return fold.end();
}

interface Change {
  readonly touches: keyof StateFields | undefined;
  readonly apply: (state: AgentState) => AgentState;
}

const on = (touches: Change["touches"], apply: Change["apply"]): Change => ({ touches, apply });

const value = fc.oneof(
  fc.constantFrom(null, true, -0, Number.NaN, "text", 1n),
  fc.integer(),
  fc.date({ noInvalidDate: false }),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.dictionary(fc.constantFrom("a", "$", "__proto__"), fc.integer(), { maxKeys: 2 }),
);
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.string({ maxLength: 5 }).map((content) => userMessage(content)),
  fc.tuple(fc.string({ maxLength: 5 }), value).map(([content, x]) => assistantMessage(content, { metadata: { x } })),
);
const entries = fc
  .array(
    fc.tuple(
      fc.constantFrom("a", "b", "1", "0", "__proto__", "constructor", "$"),
      fc.option(value, { nil: undefined }),
    ),
    {
      maxLength: 3,
    },
  )
  .map((pairs) => Object.fromEntries(pairs));
const callId = fc.constantFrom("c0", "c1", "c2", "c3");
const status = fc.constantFrom("intended" as const, "started" as const, "succeeded" as const);

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: message.map((one) => on("messages", (state) => state.withMessage(one))) },
  fc.array(message, { maxLength: 4 }).map((many) => on("messages", (state) => state.withMessages(many))),
  fc.nat(8).map((keep) => on("messages", (state) => state.withHistory(state.messages.slice(0, keep)))),
  fc.tuple(fc.nat(8), message).map(([at, one]) =>
    on("messages", (state) => {
      if (state.messages.length === 0) return state;
      return state.withHistory(state.messages.with(at % state.messages.length, one));
    }),
  ),
  fc
    .tuple(callId, status)
    .map(([toolCallId, now]) =>
      on("toolExecutions", (state) => state.withToolExecution({ toolCallId, toolName: "t", status: now })),
    ),
  fc.nat().map((iteration) => on("reasoningSteps", (state) => state.withReasoningStep({ iteration, thought: "t" }))),
  fc.nat().map((at) => on("errors", (state) => state.withError({ at, where: "w", message: "m" }))),
  callId.map((id) =>
    on("interrupts", (state) =>
      state.withInterrupt({ id, toolCallId: id, kind: "question", question: "?", askedAt: 1 }),
    ),
  ),
  fc
    .tuple(fc.constantFrom("a", "1", "__proto__"), fc.string({ maxLength: 3 }))
    .map(([name, text]) => on("artifacts", (state) => state.withArtifact(name, text))),
  fc.nat(9).map((inputTokens) => on("totals", (state) => state.withUsage({ inputTokens }))),
  { weight: 3, arbitrary: entries.map((keys) => on("metadata", (state) => state.withMetadata(keys))) },
  entries.map((keys) => on("providerState", (state) => state.withProviderState(keys))),
  entries.map((metadata) => on("metadata", (state) => state.with({ metadata }))),
  fc.constantFrom("x", "y").map((agentId) => on("agentId", (state) => state.with({ agentId }))),
  fc.constant(on(undefined, (state) => state)),
);

/** Every state on the way, the first one included. */
function lifeOf(changes: readonly Change[]): readonly AgentState[] {
  const states = [AgentState.create()];
  for (const { apply } of changes) states.push(apply(states.at(-1)!));
  return states;
}

/** What a log would hold: a base where there is no delta, and every part through the codec. */
function store(states: readonly AgentState[]): { readonly base: StateFields; readonly deltas: readonly StateDelta[] } {
  let base = stored(states[0]!.fields);
  let deltas: StateDelta[] = [];
  for (const [index, state] of states.slice(1).entries()) {
    const { delta, isRewrite } = diffFields(states[index]!.fields, state.fields);
    if (!isRewrite) deltas.push(stored(delta));
    else [base, deltas] = [stored(state.fields), []];
  }
  return { base, deltas };
}

const stored = <T>(part: T): T => decodeText(encodeText(part, "part"), "part") as T;

test("folding the deltas of any life of a state gives that state, to the order of its keys", () => {
  const property = fc.property(fc.array(change, { maxLength: 25, size: "max" }), (changes) => {
    const states = lifeOf(changes);
    for (let length = 1; length <= states.length; length += 6) {
      const { base, deltas } = store(states.slice(0, length));
      expect(exactForm(applyDeltas(base, deltas))).toBe(exactForm(states[length - 1]!.fields));
    }
  });
  fc.assert(property, runs(1_000));
});

test("a step over several changes folds as well as the changes one by one", () => {
  const property = fc.property(fc.array(change, { maxLength: 12 }), fc.nat(12), (changes, skip) => {
    const states = lifeOf(changes);
    const [first, last] = [states[Math.min(skip, changes.length)]!, states.at(-1)!];
    const { delta, isRewrite } = diffFields(first.fields, last.fields);
    if (!isRewrite) {
      expect(exactForm(applyDeltas(stored(first.fields), [stored(delta)]))).toBe(exactForm(last.fields));
    }
  });
  fc.assert(property, runs(1_000));
});

test("a change replaces the field it is about and shares every other", () => {
  const property = fc.property(fc.array(change, { maxLength: 20 }), (changes) => {
    const states = lifeOf(changes);
    for (const [index, { touches }] of changes.entries()) {
      const [before, after] = [states[index]!.fields, states[index + 1]!.fields];
      for (const name of Object.keys(after) as (keyof StateFields)[]) {
        if (name !== touches) expect(after[name], name).toBe(before[name]);
      }
    }
  });
  fc.assert(property, runs(300));
});

test("no change touches any earlier state", () => {
  const property = fc.property(fc.array(change, { maxLength: 20 }), (changes) => {
    const states = [AgentState.create()];
    const forms = [exactForm(states[0]!.fields)];
    for (const { apply } of changes) {
      states.push(apply(states.at(-1)!));
      forms.push(exactForm(states.at(-1)!.fields));
    }
    expect(states.map((state) => exactForm(state.fields))).toEqual(forms);
  });
  fc.assert(property, runs(300));
});

test("a state survives toCheckpoint and fromCheckpoint, whatever happened to it", () => {
  const property = fc.property(fc.array(change, { maxLength: 15 }), (changes) => {
    const state = lifeOf(changes).at(-1)!;
    const read = AgentState.fromCheckpoint(JSON.parse(JSON.stringify(state.toCheckpoint())));
    expect(exactForm(read.fields)).toBe(exactForm(state.fields));
  });
  fc.assert(property, runs(500));
});
