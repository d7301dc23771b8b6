import assert from "node:assert/strict";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import type { Interrupt, ToolExecution } from "../../state/fields.ts";
import { assistantMessage, userMessage } from "../../state/message.ts";
import { MAX_DEPTH } from "../../state/values/doorway.ts";
import { failureOf } from "../expect-failure.ts";
import { KEPT_VALUES, REFUSED_VALUES } from "../hostile-values.ts";
import { assertSame } from "../same-value.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { assertNoThread, conversation, loaded } from "./conversations.ts";

const QUESTION: Interrupt = { id: "i", toolCallId: "c", kind: "question", question: "?", askedAt: 1 };

/** The ledger keeps what newer versions put there. */
const withExecution = (state: AgentState, value: unknown): AgentState =>
  state.withToolExecution({ toolCallId: "c", toolName: "x", status: "started", value } as ToolExecution);

/** Every place in a state where a user's value can lie. */
const PLACES: Readonly<Record<string, (value: unknown) => AgentState>> = {
  "state.metadata": (value) => conversation(1).withMetadata({ value }),
  "state.providerState": (value) => conversation(1).withProviderState({ value }),
  "state.messages": (value) => conversation(1).withMessage(userMessage("with it", { metadata: { value } })),
  "a tool call's arguments": (value) =>
    conversation(1).withMessage(assistantMessage("", { toolCalls: [{ id: "c", name: "x", arguments: { value } }] })),
  "a tool call that is replaced": (value) => withExecution(withExecution(conversation(1), 1), value),
  "an answer that is added": (value) =>
    conversation(1)
      .withInterrupt({ ...QUESTION, answer: { value, at: 1 } })
      .withInterrupt({ ...QUESTION, id: "j" }),
  "an answer that is replaced": (value) =>
    conversation(1)
      .withInterrupt(QUESTION)
      .withInterrupt({ ...QUESTION, answer: { value, at: 1 } }),
  "an unknown field": (value) => AgentState.fromFields({ ...conversation(1).fields, value } as AgentState["fields"]),
};

/** Everything that puts a value one level deeper. */
const LEVELS: Readonly<Record<string, (value: unknown) => unknown>> = {
  lists: (value) => [value],
  objects: (value) => ({ in: value }),
  Maps: (value) => new Map([["in", value]]),
  "keys of Maps": (value) => new Map([[value, 1]]),
  Sets: (value) => new Set([value]),
  "objects that look like tags": (value) => ({ $: value }),
};

/** The state with the deepest value that is not refused. */
function deepestTaken(stateWith: (value: unknown) => AgentState, wrap: (value: unknown) => unknown): AgentState {
  let value: unknown = "leaf";
  for (let depth = 0; depth < MAX_DEPTH - 10; depth++) value = wrap(value);
  let taken = stateWith(value);
  for (;;) {
    value = wrap(value);
    try {
      taken = stateWith(value);
    } catch (error) {
      assertRefusal(error, `deeper than ${MAX_DEPTH} levels`);
      return taken;
    }
  }
}

function assertRefusal(error: unknown, what: string): void {
  if (!StateError.is(error))
    throw new assert.AssertionError({ message: `${what}: expected a StateError, got ${error}` });
  assert.ok(error.code === "INVALID_ARGUMENT" || error.code === "TOO_LARGE", `${what}: ${error.code}`);
  assert.match(error.context.path ?? "", /value/, `${what}: the error says where`);
  assert.ok(error.message.length < 1000, `${what}: the error does not repeat the value`);
}

export const hostileValueCases: readonly CheckpointerCase[] = checkpointerCasesOf("hostile values", [
  ...Object.entries(PLACES).map(([place, stateWith]) => ({
    name: `every value of the corpus comes back from ${place} as it was, or is refused before anything is written`,
    run: async ({ subject }: Parameters<CheckpointerCase["run"]>[0]) => {
      for (const [index, { make }] of KEPT_VALUES.entries()) await subject.save(stateWith(make()), `thread ${index}`);
      for (const [index, { what, make }] of KEPT_VALUES.entries()) {
        assertSame((await loaded(subject, `thread ${index}`)).fields, stateWith(make()).fields, what);
      }
      for (const { what, make } of REFUSED_VALUES) {
        const save = async (): Promise<unknown> => subject.save(stateWith(make()), "refused");
        assertRefusal(await failureOf(save, what), what);
      }
      await assertNoThread(subject, "refused");
    },
  })),
  {
    name: "the deepest value that each place of a state takes loads as it was",
    run: async ({ subject }) => {
      for (const [place, stateWith] of Object.entries(PLACES)) {
        for (const [kind, wrap] of Object.entries(LEVELS)) {
          const deepest = deepestTaken(stateWith, wrap);
          const threadId = `${place}, ${kind}`;
          await subject.save(deepest, threadId);
          assertSame((await loaded(subject, threadId)).fields, deepest.fields, threadId);
          await subject.save(deepest.withMetadata({ more: 1 }), threadId);
          assert.equal((await loaded(subject, threadId)).metadata["more"], 1, threadId);
        }
      }
    },
  },
  {
    name: "every value of the corpus survives as a change to a thread that is there",
    run: async ({ subject }) => {
      let state = conversation(2);
      await subject.save(state, "t");
      for (const { what, make } of KEPT_VALUES) {
        state = state.withMetadata({ value: make() });
        await subject.save(state, "t");
        assertSame((await loaded(subject, "t")).metadata, { value: make() }, what);
      }
    },
  },
  {
    name: "every value of the corpus comes back from a checkpoint's metadata, or is refused before anything is written",
    needs: ["listWithMetadata"],
    run: async ({ subject }) => {
      for (const [index, { make }] of KEPT_VALUES.entries()) {
        await subject.save(conversation(1), `thread ${index}`, { metadata: { value: make() } });
      }
      for (const [index, { what, make }] of KEPT_VALUES.entries()) {
        assertSame(await subject.getMetadata(`thread ${index}`), { value: make() }, what);
      }
      for (const { what, make } of REFUSED_VALUES) {
        const save = async (): Promise<unknown> =>
          subject.save(conversation(1), "refused", { metadata: { value: make() } });
        assertRefusal(await failureOf(save, what), what);
      }
      await assertNoThread(subject, "refused");
    },
  },
  {
    name: "bytes of a loaded state that are written over do not reach the storage",
    run: async ({ subject }) => {
      const original = Uint8Array.of(1, 2, 3);
      await subject.save(conversation(1).withMetadata({ original }), "t");
      original.fill(9);
      const bytes = (await loaded(subject, "t")).metadata["original"] as Uint8Array;
      bytes.fill(7);
      assertSame((await loaded(subject, "t")).metadata["original"], Uint8Array.of(1, 2, 3), "bytes");
    },
  },
]);
