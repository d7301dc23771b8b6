import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { AgentState } from "./agent-state.ts";
import { findOrigin, rememberOrigin } from "./lineage.ts";
import { userMessage } from "./message.ts";

const remember = (state: AgentState, key: string, position: unknown): void =>
  rememberOrigin(state, key, { fields: state.fields, position });
const positionOf = (state: AgentState, key: string): unknown => findOrigin(state, key)?.position;

test("a state that was never saved has no origin", () => {
  expect(findOrigin(AgentState.create().withMessage(userMessage("a")), "k")).toBeUndefined();
});

test("a state made from a saved one finds that checkpoint, through any number of changes", () => {
  const saved = AgentState.create();
  remember(saved, "k", 1);
  const later = saved.withMessage(userMessage("a")).withMetadata({ x: 1 }).with({ agentId: "a" }).withHistory([]);
  expect(positionOf(later, "k")).toBe(1);
  expect(findOrigin(later, "k")?.fields).toBe(saved.fields);
});

test("a state made before its parent was saved finds that save", () => {
  const parent = AgentState.create();
  const child = parent.withMessage(userMessage("a"));
  remember(parent, "k", 1);
  expect(positionOf(child, "k")).toBe(1);
});

test("two states made from one checkpoint stay rivals: saving one tells the other nothing", () => {
  const parent = AgentState.create();
  remember(parent, "k", 1);
  const [one, two] = [parent.withMetadata({ n: 1 }), parent.withMetadata({ n: 2 })];
  remember(one, "k", 2);
  expect(positionOf(one, "k")).toBe(2);
  expect(positionOf(two, "k")).toBe(1);
  expect(positionOf(parent, "k")).toBe(1);
});

test("the nearest checkpoint counts", () => {
  const first = AgentState.create();
  remember(first, "k", 1);
  const second = first.withMetadata({ n: 2 });
  remember(second, "k", 2);
  expect(positionOf(second.withMetadata({ n: 3 }), "k")).toBe(2);
});

test("a state may lie in several stores at once, each with its own place", () => {
  const first = AgentState.create();
  remember(first, "a", 1);
  const second = first.withMetadata({ n: 2 });
  remember(second, "b", 7);
  const third = second.withMetadata({ n: 3 });
  expect([positionOf(third, "a"), positionOf(third, "b"), positionOf(third, "c")]).toEqual([1, 7, undefined]);
  remember(third, "a", 2);
  expect([positionOf(third, "a"), positionOf(third, "b"), positionOf(second, "a")]).toEqual([2, 7, 1]);
});

test("a state saved into very many threads still knows the latest of them", () => {
  const state = AgentState.create();
  for (let thread = 0; thread < 100; thread++) remember(state, `thread ${thread}`, thread);
  expect(positionOf(state, "thread 99")).toBe(99);
  expect(positionOf(state, "thread 98")).toBe(98);
});

test("a long run that saves as it goes does not keep its whole past alive", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const early = (state: AgentState): WeakRef<object> => new WeakRef(state.fields);
  let state = AgentState.create().withMetadata({ step: 0 });
  remember(state, "k", 0);
  const past = early(state);
  for (let step = 1; step <= 3; step++) {
    state = state.withMetadata({ step });
    remember(state, "k", step);
  }
  await setImmediate();
  collectGarbage();
  expect(past.deref()).toBeUndefined();
  expect(positionOf(state, "k")).toBe(3);
});

test("keys with the names of inherited properties are ordinary keys", () => {
  const state = AgentState.create();
  expect(findOrigin(state, "__proto__")).toBeUndefined();
  remember(state, "__proto__", 1);
  expect(positionOf(state.withMetadata({ a: 1 }), "__proto__")).toBe(1);
  expect(findOrigin(state, "constructor")).toBeUndefined();
});
