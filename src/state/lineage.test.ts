import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { AgentState } from "./agent-state.ts";
import { findOrigin, findOrigins, type Origin, rememberOrigin } from "./lineage.ts";
import { userMessage } from "./message.ts";

const remember = (state: AgentState, key: string, position: unknown): void =>
  rememberOrigin(state, key, "c", { fields: state.fields, generation: "g", position });
const originOf = (state: AgentState, key: string): Origin | undefined => findOrigin(state, key, "c");
const positionOf = (state: AgentState, key: string): unknown => originOf(state, key)?.position;

test("a state that was never saved has no origin", () => {
  expect(originOf(AgentState.create().withMessage(userMessage("a")), "k")).toBeUndefined();
});

test("a state made from a saved one finds that checkpoint, through any number of changes", () => {
  const saved = AgentState.create();
  remember(saved, "k", 1);
  const later = saved.withMessage(userMessage("a")).withMetadata({ x: 1 }).with({ agentId: "a" }).withHistory([]);
  expect(positionOf(later, "k")).toBe(1);
  expect(originOf(later, "k")?.fields).toBe(saved.fields);
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

test("a state saved into very many threads, and what is made of it, know them all", () => {
  const state = AgentState.create();
  const threads = Array.from({ length: 1000 }, (_, index) => index);
  for (const thread of threads) remember(state, `thread ${thread}`, thread);
  for (const thread of threads) expect(positionOf(state, `thread ${thread}`)).toBe(thread);
  const child = state.withMetadata({ n: 1 });
  remember(child, "thread 7", "again");
  expect(positionOf(child, "thread 7")).toBe("again");
  expect(positionOf(child, "thread 8")).toBe(8);
  expect(positionOf(state, "thread 7")).toBe(7);
});

test("a run that goes from thread to thread knows its last place in each", () => {
  let state = AgentState.create();
  for (let step = 0; step < 5000; step++) {
    state = state.withMetadata({ step });
    remember(state, `thread ${step % 100}`, step);
  }
  for (let thread = 0; thread < 100; thread++) expect(positionOf(state, `thread ${thread}`)).toBe(4900 + thread);
});

test("threads of one id in several stores are told apart by their generations", () => {
  const state = AgentState.create();
  const { fields } = state;
  rememberOrigin(state, "t", "one", { fields, generation: "g1", position: 1 });
  rememberOrigin(state, "t", "two", { fields, generation: "g2", position: 2 });
  expect(findOrigin(state, "t", "one")?.position).toBe(1);
  expect(findOrigin(state, "t", "two")?.position).toBe(2);
  rememberOrigin(state, "t", "three", { fields, generation: "g1", position: 3 });
  expect(findOrigin(state, "t", "one")?.position, "one store, two checkpointers").toBe(3);
  rememberOrigin(state, "t", "two", { fields, generation: "g3", position: 4 });
  expect(findOrigins(state, "t").map(({ generation }) => generation)).toEqual(["g3", "g1"]);
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
  expect(originOf(state, "__proto__")).toBeUndefined();
  remember(state, "__proto__", 1);
  expect(positionOf(state.withMetadata({ a: 1 }), "__proto__")).toBe(1);
  expect(originOf(state, "constructor")).toBeUndefined();
});
