import { describe, expect, test } from "vitest";
import { exactForm } from "../../test/exact-form.ts";
import { AgentState, heldFieldsOf } from "./agent-state.ts";
import { addedItems, DeltaFold, diffFields, type StateDelta } from "./delta.ts";
import { EMPTY_FIELDS, type StateFields } from "./fields.ts";
import { type Message, userMessage } from "./message.ts";

function applyDeltas(before: StateFields, deltas: readonly StateDelta[]): StateFields {
  const fold = new DeltaFold(before);
  for (const delta of deltas) fold.add(delta);
  return fold.end();
}

const messages = (count: number): Message[] => Array.from({ length: count }, (_, index) => userMessage(`m${index}`));
const ten = AgentState.create()
  .withMessages(messages(10))
  .withMetadata({ a: 1, b: { c: 2 } });

const deltaOf = (before: AgentState, after: AgentState): StateDelta => diffFields(before.fields, after.fields).delta;

describe("a delta holds what is new and nothing else", () => {
  test("nothing changed", () => {
    expect(deltaOf(ten, ten)).toEqual({});
    expect(deltaOf(ten, ten.with({}))).toEqual({});
  });

  test("one message more", () => {
    const delta = deltaOf(ten, ten.withMessage(userMessage("new")));
    expect(addedItems(delta, "messages")).toEqual([userMessage("new")]);
    expect(JSON.stringify(delta)).not.toContain("m9");
  });

  test("the end of a list replaced", () => {
    const delta = deltaOf(ten, ten.withHistory([...ten.messages.slice(0, 9), userMessage("edited")]));
    expect(addedItems(delta, "messages")).toEqual([userMessage("edited")]);
    expect(JSON.stringify(delta)).not.toContain("m8");
  });

  test("a list that only became shorter", () => {
    const shorter = ten.withHistory(ten.messages.slice(0, 6));
    expect(applyDeltas(ten.fields, [deltaOf(ten, shorter)]).messages).toEqual(messages(6));
    expect(JSON.stringify(deltaOf(ten, shorter))).not.toContain("m5");
  });

  test("one key of an object", () => {
    const delta = deltaOf(ten, ten.withMetadata({ a: 2 }));
    expect(delta).toEqual({ records: { metadata: { set: { a: 2 } } } });
  });

  test("a key removed", () => {
    const delta = deltaOf(ten, ten.withMetadata({ a: undefined }));
    expect(delta).toEqual({ records: { metadata: { unset: ["a"] } } });
  });

  test("a field set for the first time", () => {
    expect(deltaOf(ten, ten.with({ agentId: "a" }))).toEqual({ set: { agentId: "a" } });
  });

  test("a key removed and set again comes last, as in the state itself", () => {
    const after = ten.withMetadata({ a: undefined }).withMetadata({ a: 1 });
    const rebuilt = applyDeltas(ten.fields, [deltaOf(ten, after)]);
    expect(Object.keys(rebuilt.metadata)).toEqual(["b", "a"]);
    expect(exactForm(rebuilt)).toBe(exactForm(after.fields));
  });
});

test("a history that was rewritten has no delta", () => {
  expect(diffFields(ten.fields, ten.withHistory([userMessage("summary")]).fields).isRewrite).toBe(true);
});

test("the record of the only tool call can change without rewriting a long conversation", () => {
  const called = ten.withToolExecution({ toolCallId: "c", toolName: "t", status: "started" });
  const settled = called.withToolExecution({ toolCallId: "c", toolName: "t", status: "succeeded" });
  const { delta, isRewrite } = diffFields(called.fields, settled.fields);
  expect(isRewrite, "a delta, not a new base").toBe(false);
  expect(applyDeltas(called.fields, [delta]).toolExecutions).toEqual(settled.toolExecutions);
});

test("a hostile key is set and removed like any other", () => {
  const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "0", "$"];
  for (const name of names) {
    const added = ten.withMetadata(Object.fromEntries([[name, { polluted: true }]]));
    const removed = added.withMetadata(Object.fromEntries([[name, undefined]]));
    const rebuilt = applyDeltas(ten.fields, [deltaOf(ten, added)]);
    expect(exactForm(rebuilt)).toBe(exactForm(added.fields));
    expect(exactForm(applyDeltas(rebuilt, [deltaOf(added, removed)]))).toBe(exactForm(removed.fields));
  }
  expect(Reflect.has({}, "polluted")).toBe(false);
});

test("a field with a hostile name is kept, set and removed like any other", () => {
  const named = AgentState.fromFields(
    Object.defineProperty({ ...ten.fields }, "__proto__", { value: [1], enumerable: true }) as typeof ten.fields,
  );
  const { delta } = diffFields(ten.fields, named.fields);
  expect(exactForm(applyDeltas(ten.fields, [delta]))).toBe(exactForm(named.fields));
  expect(exactForm(applyDeltas(named.fields, [diffFields(named.fields, ten.fields).delta]))).toBe(
    exactForm(ten.fields),
  );
});

describe("applying", () => {
  const later = ten.withMessage(userMessage("new"));

  test("leaves the state it starts from alone and shares its parts", () => {
    const before = exactForm(ten.fields);
    const rebuilt = applyDeltas(ten.fields, [deltaOf(ten, later)]);
    expect(exactForm(ten.fields)).toBe(before);
    expect(rebuilt.metadata).toBe(ten.fields.metadata);
    expect(rebuilt.messages[3]).toBe(ten.fields.messages[3]);
  });

  test("gives a state that is frozen and recognised: making an AgentState of it copies nothing", () => {
    const rebuilt = applyDeltas(ten.fields, [deltaOf(ten, later)]);
    expect(Object.isFrozen(rebuilt.messages)).toBe(true);
    expect(AgentState.fromFields(rebuilt).fields).toBe(rebuilt);
  });

  test("many deltas at once give what each in turn would give", () => {
    const states = [ten, later, later.withMetadata({ z: 1 }), later.withHistory(later.messages.slice(0, 8))];
    const deltas = states.slice(1).map((state, index) => deltaOf(states[index]!, state));
    const one = applyDeltas(ten.fields, deltas);
    const inTurn = deltas.reduce((fields, delta) => applyDeltas(fields, [delta]), ten.fields);
    expect(exactForm(one)).toBe(exactForm(inTurn));
  });
});

test("a field with the name of an inherited property is compared as a field of its own", () => {
  const before = { ...EMPTY_FIELDS, gone: 1 } as StateFields;
  const after = { ...EMPTY_FIELDS, constructor: "mine", toString: "mine" } as unknown as StateFields;
  expect(diffFields(before, after).delta).toEqual({ set: { constructor: "mine", toString: "mine" }, unset: ["gone"] });
  expect(diffFields(after, after).delta).toEqual({});
});

test("deltas of a long conversation, added at its end, cut, replaced and added to again, give what came out", () => {
  const said = (name: string, count: number) =>
    Array.from({ length: count }, (_, index) => userMessage(`${name} ${index}`));
  const changes: readonly ((state: AgentState) => AgentState)[] = [
    (state) => state.withMessage(userMessage("more")),
    (state) => state.withMessages(said("many", 300)),
    (state) => state.withHistory([...state.messages.slice(0, -2), userMessage("instead")]),
    (state) => state.withMessage(userMessage("and more")).withMetadata({ a: 1 }),
    (state) => state.withHistory(said("new", 2500)),
    (state) => state.withMessages(said("behind", 3)),
    (state) => state.withHistory([userMessage("short")]),
    (state) => state.withMessages(said("again", 2)),
  ];
  for (let first = 0; first < changes.length; first++) {
    const start = AgentState.create({ messages: said("m", 2500) }).withMessage(userMessage("grown"));
    const fold = new DeltaFold(heldFieldsOf(start));
    let state = start;
    for (let step = 0; step < 2 * changes.length; step++) {
      const next = (changes[(first + step) % changes.length] as (typeof changes)[number])(state);
      fold.add(diffFields(heldFieldsOf(state), heldFieldsOf(next)).delta);
      state = next;
    }
    expect(exactForm(fold.end())).toBe(exactForm(state.fields));
    expect(start.messages).toHaveLength(2501);
  }
});
