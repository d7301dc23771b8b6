import { describe, expect, test } from "vitest";
import { AgentState } from "./agent-state.ts";
import { diffStates, type StateDiff } from "./diff.ts";
import { type Message, userMessage } from "./message.ts";

const diff = (before: AgentState, after: AgentState): StateDiff => diffStates(before.fields, after.fields);
const [a, b, c] = ["a", "b", "c"].map((text) => userMessage(text)) as [Message, Message, Message];

test("equal states have no difference, wherever they come from", () => {
  const build = (): AgentState =>
    AgentState.create()
      .withMessages([a, b])
      .withMetadata({ at: new Date(0), n: Number.NaN });
  expect(diff(build(), build())).toEqual({ messages: { shared: 2, removed: [], added: [] }, fields: {} });
});

test("messages are compared from the start: what is common, what went, what came", () => {
  const before = AgentState.create().withMessages([a, b]);
  expect(diff(before, before.withMessage(c)).messages).toEqual({ shared: 2, removed: [], added: [c] });
  expect(diff(before, before.withHistory([a, c])).messages).toEqual({ shared: 1, removed: [b], added: [c] });
  expect(diff(before, before.withHistory([])).messages).toEqual({ shared: 0, removed: [a, b], added: [] });
});

test("objects are compared key by key", () => {
  const before = AgentState.create().withMetadata({ same: [1], gone: 1, changed: 1 });
  const after = AgentState.create().withMetadata({ same: [1], changed: 2, came: 3 });
  expect(diff(before, after).fields).toEqual({
    "metadata.gone": { before: 1, after: undefined },
    "metadata.changed": { before: 1, after: 2 },
    "metadata.came": { before: undefined, after: 3 },
  });
});

test("values that JSON would confuse are told apart", () => {
  const before = AgentState.create().withMetadata({ zero: 0, kind: new Date(0), bytes: Buffer.from("a") });
  const after = AgentState.create().withMetadata({
    zero: -0,
    kind: "1970-01-01T00:00:00.000Z",
    bytes: Uint8Array.of(97),
  });
  expect(Object.keys(diff(before, after).fields)).toEqual(["metadata.zero", "metadata.kind", "metadata.bytes"]);
});

test("totals, lists and single fields are named", () => {
  const before = AgentState.create();
  const after = before
    .withUsage({ inputTokens: 5 })
    .withError({ at: 1, where: "w", message: "m" })
    .with({ agentId: "x" });
  expect(Object.keys(diff(before, after).fields).sort()).toEqual(["agentId", "errors", "totals.inputTokens"]);
});

describe("a key with the name of something every object inherits is an ordinary key", () => {
  test.each(["toString", "constructor", "hasOwnProperty", "valueOf", "__proto__"])("%s", (name) => {
    const before = AgentState.create();
    const after = before.withMetadata(Object.fromEntries([[name, "mine"]]));
    const expected = { before: undefined, after: "mine" };
    expect(diff(before, after).fields[`metadata.${name}`]).toEqual(expected);
    expect(diff(after, before).fields[`metadata.${name}`]).toEqual({ before: "mine", after: undefined });
    expect(Object.getPrototypeOf(diff(before, after).fields)).toBeNull();
  });
});

test("a field of a newer version takes part", () => {
  const before = AgentState.fromCheckpoint({ format: 1, state: { plan: [1] } });
  const after = AgentState.fromCheckpoint({ format: 1, state: { plan: [1, 2] } });
  expect(diff(before, after).fields["plan"]).toEqual({ before: [1], after: [1, 2] });
});
