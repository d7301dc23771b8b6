import fc from "fast-check";
import { expect, test } from "vitest";
import { shapeContext } from "../../test/conversation/shape-context.ts";
import { runs } from "../../test/property-seed.ts";
import { repairHistory } from "../agent/model-call/repair-history.ts";
import type { ConversationPort, ShapedConversation } from "../agent/ports.ts";
import { AgentState } from "../state/agent-state.ts";
import { type AssistantMessage, type Message, textOf } from "../state/message.ts";
import {
  assertValidForAnthropic,
  assertValidForGemini,
  assertValidForOpenAI,
} from "../testing/models/history-validators.ts";
import { compactingConversation } from "./compacting.ts";
import { windowConversation } from "./window.ts";

/** One turn of an agent: the user speaks; steps with calls and results; perhaps an answer; perhaps a word in between. */
const length = fc.constantFrom(3, 40, 300, 1500);
const step = fc.record({
  calls: fc.integer({ min: 1, max: 3 }),
  result: length,
  missing: fc.constantFrom(0, 0, 0, 1),
  interjected: fc.constantFrom(false, false, false, true),
  reasoning: fc.boolean(),
});
const turn = fc.record({
  asked: length,
  steps: fc.array(step, { maxLength: 5 }),
  answered: fc.boolean(),
  said: length,
});
const history = fc.array(turn, { minLength: 1, maxLength: 14 }).map((turns) => {
  const messages: Message[] = [];
  const words = (count: number): string => `${messages.length}:${"word ".repeat(count / 5)}`;
  for (const { asked, steps, answered, said } of turns) {
    messages.push({ role: "user", content: words(asked) });
    for (const { calls, result, missing, interjected, reasoning } of steps) {
      const toolCalls = Array.from({ length: calls }, (_, index) => ({
        id: `c${messages.length}_${index}`,
        name: "work",
        arguments: { q: index },
      }));
      messages.push({
        role: "assistant",
        content: reasoning
          ? [{ type: "reasoning", text: "hm", providerMetadata: { anthropic: { signature: `s${messages.length}` } } }]
          : "",
        toolCalls,
      });
      if (interjected) messages.push({ role: "user", content: words(5) });
      for (const call of toolCalls.slice(missing)) {
        messages.push({ role: "tool", content: words(result), toolCallId: call.id, toolName: "work" });
      }
    }
    if (answered) messages.push({ role: "assistant", content: words(said) });
  }
  return messages;
});
const port = fc.oneof(
  fc
    .record({ maxTokens: fc.constantFrom(50, 200, 800, 3000), summarized: fc.boolean() })
    .map(
      ({ maxTokens, summarized }): ConversationPort =>
        compactingConversation({ maxTokens, summarize: summarized ? async () => "what was said" : false }),
    ),
  fc.integer({ min: 2, max: 20 }).map((maxMessages) => windowConversation({ maxMessages })),
);

/** Grows the conversation message by message, as a run does, with the overlay that was saved each time. */
async function grown(
  messages: readonly Message[],
  conversation: ConversationPort,
  look: (shown: readonly Message[], upTo: readonly Message[], changed: boolean) => void,
): Promise<void> {
  let overlay: unknown;
  let state = AgentState.create();
  for (const message of messages) {
    state = state.withMessage(message);
    if (message.role === "assistant") continue;
    const shaped = (await conversation.shape(state.messages, shapeContext({ state, overlay }))) as ShapedConversation;
    if (shaped.overlay !== undefined) overlay = structuredClone(shaped.overlay);
    look(shaped.messages, state.messages, shaped.overlay !== undefined);
  }
}

test("whatever is left out, what is shown is valid for every provider", async () => {
  await fc.assert(
    fc.asyncProperty(history, port, async (messages, conversation) => {
      await grown(messages, conversation, (shown) => {
        const sent = repairHistory(shown);
        assertValidForOpenAI(sent);
        assertValidForAnthropic(sent);
        assertValidForGemini(sent);
      });
    }),
    runs(80),
  );
});

test("a call and its result are shown together or not at all; reasoning is shown as it was, with its signature", async () => {
  await fc.assert(
    fc.asyncProperty(history, port, async (messages, conversation) => {
      await grown(messages, conversation, (shown, stored) => {
        const calls = new Set(shown.flatMap((one) => (one as AssistantMessage).toolCalls?.map(({ id }) => id) ?? []));
        const results = shown.flatMap((one) => (one.role === "tool" ? [one.toolCallId] : []));
        for (const id of results) expect(calls).toContain(id);
        for (const one of stored) {
          if (one.role === "tool" && calls.has(one.toolCallId)) expect(results).toContain(one.toolCallId);
        }
        for (const one of shown) if (one.role === "assistant") expect(stored).toContain(one);
      });
    }),
    runs(80),
  );
});

test("the newest message of the user's and every result that the model has not seen are shown whole", async () => {
  await fc.assert(
    fc.asyncProperty(history, port, async (messages, conversation) => {
      await grown(messages, conversation, (shown, stored) => {
        expect(shown).toContain(stored.findLast(({ role }) => role === "user"));
        const answered = stored.findLastIndex(({ role }) => role === "assistant");
        for (const unseen of stored.slice(answered + 1)) expect(shown).toContain(unseen);
      });
    }),
    runs(80),
  );
});

test("while nothing is compacted, each prompt begins with the whole of the one before", async () => {
  await fc.assert(
    fc.asyncProperty(history, port, async (messages, conversation) => {
      let before: readonly Message[] = [];
      await grown(messages, conversation, (shown, _, changed) => {
        if (!changed) expect(shown.slice(0, before.length).map(textOf)).toEqual(before.map(textOf));
        before = shown;
      });
    }),
    runs(80),
  );
});
