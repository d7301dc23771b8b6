import { setImmediate } from "node:timers/promises";
import { inspect } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { collectGarbage } from "../../test/collect-garbage.ts";
import { seededRandom } from "../../test/processes/seeded-random.ts";
import { seed } from "../../test/property-seed.ts";
import { MemoryLog } from "../backends/memory/log.ts";
import { Checkpointer } from "../checkpoint/checkpointer.ts";
import { AgentState, heldFieldsOf } from "./agent-state.ts";
import { diffFields } from "./delta.ts";
import { conversationOf, GrownList, MOST_ADDED } from "./growing-list.ts";
import { assistantMessage, type Message, userMessage } from "./message.ts";
import { standingOf } from "./tool-calls.ts";

const BASE = 2500;
const NOTHING = [undefined, undefined, undefined];
const said = (count: number, name = "m"): readonly Message[] =>
  Array.from({ length: count }, (_, index) => userMessage(`${name} ${index}`));
const long = (count = BASE): AgentState => AgentState.create({ messages: said(count) });

/** Every copy is counted. */
const reading = () => vi.spyOn(GrownList.prototype, "list");

afterEach(() => {
  vi.restoreAllMocks();
});

test("any sequence of additions, branches, readings and replacements gives the list that eager copies give", () => {
  console.log(`HOLDFAST_SEED=${seed}`);
  const random = seededRandom(seed);
  let count = 0;
  const some = (most: number) => said(1 + random.below(most), `step ${count++}`);
  interface Walker {
    readonly state: AgentState;
    readonly eager: readonly Message[];
  }
  const first = long();
  let pool: readonly Walker[] = [{ state: first, eager: [...first.messages] }];
  const look = ({ state, eager }: Walker): void => {
    expect(state.messages.length).toBe(eager.length);
    expect(state.messages.every((message, index) => message === eager[index])).toBe(true);
    expect(state.messages).toBe(state.messages);
    expect(state.fields.messages).toBe(state.messages);
  };
  const added = ({ state, eager }: Walker, messages: readonly Message[]): Walker => {
    const grown = state.withMessages(messages);
    // What passed the doorway is a copy; the end of the list tells which.
    const list = conversationOf(heldFieldsOf(grown));
    const items = messages.map((_, index) => list.at(index - messages.length) as Message);
    expect(items).toEqual(messages);
    return { state: grown, eager: [...eager, ...items] };
  };
  const steps: readonly ((walker: Walker) => Walker)[] = [
    (walker) => added(walker, some(3)),
    (walker) => added(walker, some(3)),
    (walker) => added(walker, some(3 * MOST_ADDED)),
    (walker) => added(added(walker, some(1)), some(MOST_ADDED)),
    ({ state, eager }) => ({ state: state.withMetadata({ count: count++ }), eager }),
    ({ state, eager }) => ({ state: AgentState.fromFields(state.fields), eager }),
    ({ state, eager }) => ({ state: state.withHistory(state.messages.slice(1)), eager: eager.slice(1) }),
    (walker) => {
      look(walker);
      return walker;
    },
  ];
  for (let step = 0; step < 400; step++) {
    const before = pool[random.below(pool.length)] as Walker;
    const after = (steps[random.below(steps.length)] as (typeof steps)[number])(before);
    pool = [...pool, after].slice(-8);
    const { state } = after;
    const other = pool[random.below(pool.length)] as Walker;
    for (const walker of [before, after, other]) {
      const { eager } = walker;
      const held = conversationOf(heldFieldsOf(walker.state));
      const place = random.below(eager.length);
      expect(held.length).toBe(eager.length);
      expect(held.at(place)).toBe(eager[place]);
      expect(held.at(-1 - place)).toBe(eager.at(-1 - place));
      expect([held.at(eager.length), held.at(eager.length + 1), held.at(-1 - eager.length)]).toEqual(NOTHING);
      expect(held.findLast((message) => message === eager[place])).toBe(eager[place]);
      expect(held.findLast(() => true)).toBe(eager.at(-1));
      if (held instanceof GrownList) expect(held.from(place).at(-1)).toBe(eager.at(-1));
    }
    const { delta } = diffFields(heldFieldsOf(other.state), heldFieldsOf(state));
    const { delta: eagerly } = diffFields(
      { ...heldFieldsOf(other.state), messages: other.eager },
      { ...heldFieldsOf(state), messages: after.eager },
    );
    expect(delta).toEqual(eagerly);
  }
  for (const walker of pool) look(walker);
});

test("20,000 additions one by one copy a long conversation once for every 256 of them", () => {
  const reads = reading();
  let state = long();
  const middle: AgentState[] = [];
  for (let index = 0; index < 20_000; index++) {
    state = state.withMessage(userMessage(`added ${index}`));
    if (index % 5000 === 0) middle.push(state);
  }
  expect(reads.mock.calls.length).toBeLessThanOrEqual(20_000 / MOST_ADDED);
  expect(state.messages).toHaveLength(BASE + 20_000);
  expect(state.messages.at(-1)?.content).toBe("added 19999");
  expect(state.messages[BASE]?.content).toBe("added 0");
  expect(middle.map(({ messages }) => messages.length)).toEqual([0, 1, 2, 3].map((each) => BASE + each * 5000 + 1));
});

test("what users see of a long state that grew is what they see of any other", () => {
  const grown = long().withMessage(userMessage("more"));
  const fields = grown.fields;
  expect(Object.keys(fields)).toEqual(Object.keys(AgentState.create().fields));
  expect(Object.getOwnPropertyDescriptor(fields, "messages")).toEqual({
    value: grown.messages,
    enumerable: true,
    writable: false,
    configurable: false,
  });
  expect(Object.getPrototypeOf(fields)).toBe(Object.prototype);
  expect(Object.getPrototypeOf(grown.messages)).toBe(Array.prototype);
  expect(Array.isArray(grown.messages) && Object.isFrozen(grown.messages) && Object.isFrozen(fields)).toBe(true);
  expect(grown.messages.every((message) => Object.isFrozen(message))).toBe(true);
  expect(Object.isFrozen(grown.messages.at(-1)?.content) && grown.fields === fields).toBe(true);
  expect({ ...fields }.messages).toBe(grown.messages);
  expect(AgentState.fromFields(fields).fields).toBe(fields);
  const eager = AgentState.create({ messages: [...long().messages, userMessage("more")] });
  expect(fields).toStrictEqual(eager.fields);
  expect(structuredClone(fields)).toStrictEqual(structuredClone(eager.fields));
  expect(JSON.stringify(grown.toCheckpoint())).toBe(JSON.stringify(eager.toCheckpoint()));
  expect(inspect(fields)).toBe(inspect(eager.fields));
  expect(inspect(grown)).toBe(inspect(eager));
});

test("a state that was left behind keeps at most 256 of the messages that were added later alive", async () => {
  const behind = long().withMessage(userMessage("the last one it has"));
  const later = ((): readonly WeakRef<Message>[] => {
    let state = behind;
    const made: WeakRef<Message>[] = [];
    for (let index = 0; index < 20 * MOST_ADDED; index++) {
      state = state.withMessage(userMessage(`later ${index}`));
      made.push(new WeakRef(conversationOf(heldFieldsOf(state)).at(-1) as Message));
    }
    return made;
  })();
  const alive = (): number => later.filter((each) => each.deref() !== undefined).length;
  for (let round = 0; round < 20 && alive() > MOST_ADDED; round++) {
    await setImmediate();
    collectGarbage();
  }
  expect(alive()).toBeLessThanOrEqual(MOST_ADDED);
  expect(behind.messages).toHaveLength(BASE + 1);
});

describe("the list of a long conversation is not put together", () => {
  test("by a save of what was added, nor by what a listing says of it", async () => {
    const log = new MemoryLog();
    const checkpointer = new Checkpointer(log);
    let state = long();
    await checkpointer.save(state, "t");
    const reads = reading();
    for (let index = 0; index < 5; index++) {
      state = state.withMessage(assistantMessage(`added ${index}`)).withMetadata({ index });
      await checkpointer.save(state, "t", { checkpointId: "latest" });
    }
    expect(standingOf(heldFieldsOf(state))).toBeUndefined();
    expect(reads).not.toHaveBeenCalled();
    expect((await new Checkpointer(log).load("t"))?.messages).toEqual(state.messages);
  });

  test("by the second of two states that continue the same one", async () => {
    const checkpointer = new Checkpointer(new MemoryLog());
    const state = long();
    await checkpointer.save(state, "t");
    state.withMessage(userMessage("given up"));
    const reads = reading();
    const second = state.withMessage(userMessage("kept"));
    await checkpointer.save(second.withMessage(userMessage("and more")), "t");
    expect(reads).not.toHaveBeenCalled();
  });

  test("by a warm load that reads what another process added", async () => {
    const log = new MemoryLog();
    const [ours, theirs] = [new Checkpointer(log), new Checkpointer(log)];
    await ours.save(long(), "t");
    await ours.load("t");
    let other = (await theirs.load("t")) as AgentState;
    for (const word of ["one", "two"]) {
      other = other.withMessage(userMessage(word));
      await theirs.save(other, "t");
    }
    const reads = reading();
    const loaded = (await ours.load("t")) as AgentState;
    await ours.save(loaded.withMessage(userMessage("three")), "t");
    expect(reads).not.toHaveBeenCalled();
    const words = (await theirs.load("t"))?.messages.slice(-4).map(({ content }) => content);
    expect(words).toEqual([`m ${BASE - 1}`, "one", "two", "three"]);
  });
});
