import assert from "node:assert/strict";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { assistantMessage, userMessage } from "../../state/message.ts";
import { failureOf } from "../expect-failure.ts";
import { KEPT_VALUES, REFUSED_VALUES } from "../hostile-values.ts";
import { assertSame } from "../same-value.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { assertNoThread, conversation, loaded } from "./conversations.ts";

/** Every place in a state where a user's value can lie. */
const PLACES: Readonly<Record<string, (value: unknown) => AgentState>> = {
  "state.metadata": (value) => conversation(1).withMetadata({ value }),
  "state.providerState": (value) => conversation(1).withProviderState({ value }),
  "state.messages": (value) => conversation(1).withMessage(userMessage("with it", { metadata: { value } })),
  "a tool call's arguments": (value) =>
    conversation(1).withMessage(assistantMessage("", { toolCalls: [{ id: "c", name: "x", arguments: { value } }] })),
  "an unknown field": (value) => AgentState.fromFields({ ...conversation(1).fields, value } as AgentState["fields"]),
};

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
