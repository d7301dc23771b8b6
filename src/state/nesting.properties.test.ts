import fc from "fast-check";
import { expect, test } from "vitest";
import { exactForm } from "../../test/exact-form.ts";
import { runs } from "../../test/property-seed.ts";
import { MemoryLog } from "../backends/memory/log.ts";
import { Checkpointer } from "../checkpoint/checkpointer.ts";
import { StateError } from "../errors.ts";
import { AgentState } from "./agent-state.ts";
import type { StateFields, ToolExecution } from "./fields.ts";
import { assistantMessage, userMessage } from "./message.ts";
import { MAX_DEPTH } from "./values/doorway.ts";

const LEVELS: readonly ((value: unknown) => unknown)[] = [
  (value) => [value],
  (value) => ({ in: value }),
  (value) => new Map([["in", value]]),
  (value) => new Map([[value, "in"]]),
  (value) => new Set([value]),
  (value) => ({ $: value }),
  (value) => Object.assign(Object.create(null), { in: value }),
];

const LEAVES: readonly unknown[] = [1, "text", new Date(0), new Uint8Array(1), undefined, -0, 7n, []];

/** How deep below the state each puts its value. */
const PLACES: readonly [depth: number, put: (state: AgentState, value: unknown) => AgentState][] = [
  [2, (state, value) => state.withMetadata({ value })],
  [2, (state, value) => state.withProviderState({ value })],
  [2, (state, value) => state.with({ metadata: { value } })],
  [4, (state, value) => state.withMessage(userMessage("m", { metadata: { value } }))],
  [4, (state, value) => state.withHistory([userMessage("m", { metadata: { value } })])],
  [
    5,
    (state, value) =>
      state.withMessage(assistantMessage("", { toolCalls: [{ id: "c", name: "x", arguments: value }] })),
  ],
  [3, (state, value) => state.withToolExecution({ toolCallId: "new", value } as unknown as ToolExecution)],
  [3, (state, value) => state.withToolExecution({ toolCallId: "old", value } as unknown as ToolExecution)],
  [1, (state, value) => state.with({ unknown: value } as Partial<StateFields>)],
  [1, (state, value) => AgentState.fromFields({ ...state.fields, unknown: value } as StateFields)],
];

const start = AgentState.create({
  toolExecutions: [{ toolCallId: "old", toolName: "x", status: "started" }],
});

test("what a state takes loads, and what is one level deeper is refused, wherever it stands", async () => {
  const property = fc.asyncProperty(
    fc.constantFrom(...PLACES),
    fc.constantFrom(...LEAVES),
    fc.array(fc.constantFrom(...LEVELS), { minLength: 1, maxLength: 9 }),
    fc.integer({ min: -2, max: 2 }),
    async ([depth, put], leaf, kinds, over) => {
      const room = MAX_DEPTH - depth - (typeof leaf === "object" ? 1 : 0);
      let value: unknown = leaf;
      for (let level = 0; level < room + over; level++) value = kinds[level % kinds.length]?.(value);
      if (over > 0) {
        expect(() => put(start, value)).toThrow(StateError);
        return;
      }
      const state = put(start, value);
      const form = exactForm(state.fields);
      const tree = JSON.parse(JSON.stringify(state.toCheckpoint())) as unknown;
      expect(exactForm(AgentState.fromCheckpoint(tree).fields)).toBe(form);
      const checkpointer = new Checkpointer(new MemoryLog());
      await checkpointer.save(start, "delta");
      for (const [threadId, given] of [
        ["base", AgentState.fromFields(state.fields)],
        ["delta", state],
      ] as const) {
        await checkpointer.save(
          given,
          threadId,
          threadId === "delta" ? { expectedHead: await head(checkpointer) } : {},
        );
        const loaded = await checkpointer.load(threadId);
        expect(exactForm(loaded?.fields)).toBe(form);
        await checkpointer.save(loaded!.withMessage(userMessage("on")), threadId);
        expect((await checkpointer.load(threadId))?.messages).toHaveLength(state.messages.length + 1);
      }
    },
  );
  await fc.assert(property, runs(150));
});

const head = async (checkpointer: Checkpointer): Promise<string> =>
  (await checkpointer.listCheckpoints("delta"))[0]?.checkpointId ?? "";
