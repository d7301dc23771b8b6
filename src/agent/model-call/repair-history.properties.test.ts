import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/property-seed.ts";
import { AgentState } from "../../state/agent-state.ts";
import { type ContentPart, type Message, textOf } from "../../state/message.ts";
import {
  assertValidForAnthropic,
  assertValidForGemini,
  assertValidForOpenAI,
} from "../../testing/models/history-validators.ts";
import { HistoryRepair, repairHistory } from "./repair-history.ts";

/** What crashes, edits, imports and other programs could leave behind, and then some. Few ids, so that they collide. */
const id = fc.constantFrom("a", "b", "c", "d", "", "a_2", "call 1");
const name = fc.constantFrom("work", "search", "functions.search", "", "a name!", "x".repeat(80));
const text = fc.oneof(fc.constantFrom("", " ", "\n"), fc.string({ unit: "binary", maxLength: 8 }));
const part: fc.Arbitrary<ContentPart> = fc.oneof(
  text.map((words) => ({ type: "text" as const, text: words })),
  text.map((words) => ({ type: "reasoning" as const, text: words })),
  fc.constant({ type: "file" as const, mediaType: "image/png", data: { url: "https://example.com/a.png" } }),
);
const content = fc.oneof(text, fc.array(part, { maxLength: 3 }));
const call = fc.record({
  id,
  name,
  arguments: fc.oneof(fc.constantFrom({}, { q: 1 }), fc.constantFrom([], null, "text", 5, undefined)),
});
const message: fc.Arbitrary<Message> = fc.oneof(
  content.map((said): Message => ({ role: "user", content: said })),
  content.map((said): Message => ({ role: "system", content: said })),
  fc.tuple(content, fc.option(fc.array(call, { maxLength: 3 }), { nil: undefined }), fc.boolean()).map(
    ([said, toolCalls, incomplete]): Message => ({
      role: "assistant",
      content: said,
      ...(toolCalls !== undefined && { toolCalls }),
      ...(incomplete && toolCalls === undefined && { incomplete }),
    }),
  ),
  fc.tuple(content, id, name, fc.boolean()).map(
    ([said, toolCallId, toolName, isError]): Message => ({
      role: "tool",
      content: said,
      toolCallId,
      toolName,
      ...(isError && { isError }),
    }),
  ),
);
/** Every message that says something can be told apart from the others. */
const garbage = fc
  .array(message, { maxLength: 12 })
  .map((messages) => messages.map((one, index) => ({ ...one, content: marked(one.content, index) }) as Message));

function marked(said: Message["content"], index: number): Message["content"] {
  if (typeof said === "string") return said.trim() === "" ? said : `<${index}>${said}`;
  return said.map((one) =>
    one.type === "text" && one.text.trim() !== "" ? { ...one, text: `<${index}>${one.text}` } : one,
  );
}

/** Which of the original messages are here, in the order in which they are. */
const marksOf = (messages: readonly Message[]): readonly number[] =>
  messages.flatMap((one) => {
    const mark = /^<(\d+)>/.exec(textOf(one).trimStart())?.[1];
    return mark === undefined ? [] : [Number(mark)];
  });

const saysSomething = ({ content: said }: Message): boolean =>
  typeof said === "string"
    ? said.trim() !== ""
    : said.some((one) => one.type === "file" || (one.type === "text" && one.text.trim() !== ""));

test("whatever the history, what comes out is valid for every provider", () => {
  fc.assert(
    fc.property(garbage, (messages) => {
      const repaired = repairHistory(messages);
      if (!repaired.some(({ role }) => role !== "system")) return;
      assertValidForOpenAI(repaired);
      assertValidForAnthropic(repaired);
      assertValidForGemini(repaired);
    }),
    runs(2000),
  );
});

test("repairing twice changes nothing more", () => {
  fc.assert(
    fc.property(garbage, (messages) => {
      const once = repairHistory(messages);
      expect(repairHistory(once)).toEqual(once);
    }),
    runs(1000),
  );
});

test("nothing that the user said is dropped", () => {
  fc.assert(
    fc.property(garbage, (messages) => {
      const said = messages.filter((one) => one.role === "user" && saysSomething(one));
      const kept = repairHistory(messages).filter(({ role }) => role === "user");
      expect(marksOf(kept)).toEqual(marksOf(said));
    }),
    runs(1000),
  );
});

test("nothing that the model said in full is dropped", () => {
  fc.assert(
    fc.property(garbage, (messages) => {
      const said = messages.filter((one) => one.role === "assistant" && saysSomething(one) && !one.incomplete);
      const kept = new Set(marksOf(repairHistory(messages).filter(({ role }) => role === "assistant")));
      expect(marksOf(said).filter((mark) => !kept.has(mark))).toEqual([]);
    }),
    runs(1000),
  );
});

test("the order of what was said is kept", () => {
  fc.assert(
    fc.property(garbage, (messages) => {
      const spoken = repairHistory(messages).filter(({ role }) => role === "user" || role === "assistant");
      const marks = marksOf(spoken);
      expect(marks).toEqual(marks.toSorted((a, b) => a - b));
    }),
    runs(1000),
  );
});

test("no success is made up: every result without an error was recorded, and counts once", () => {
  fc.assert(
    fc.property(garbage, (messages) => {
      const successes = (all: readonly Message[]): string[] =>
        all.flatMap((one) =>
          one.role === "tool" && one.isError !== true ? JSON.stringify(wellFormed(one.content)) : [],
        );
      const recorded = successes(messages);
      for (const shown of successes(repairHistory(messages))) {
        const at = recorded.indexOf(shown);
        expect(at).not.toBe(-1);
        recorded.splice(at, 1);
      }
    }),
    runs(1000),
  );
});

test("a thread that grows is repaired as if each request were the first", () => {
  fc.assert(
    fc.property(garbage, (messages) => {
      const stored = AgentState.create().withMessages(messages).messages;
      for (let length = 0; length <= stored.length; length++) {
        const shown = stored.slice(0, length);
        expect(repairHistory(shown)).toEqual(repairHistory(structuredClone(shown)));
      }
    }),
    runs(300),
  );
});

test("the history that is given is not touched", () => {
  fc.assert(
    fc.property(garbage, (messages) => {
      const before = structuredClone(messages);
      repairHistory(messages);
      expect(messages).toEqual(before);
    }),
    runs(300),
  );
});

function wellFormed(said: Message["content"]): unknown {
  return JSON.parse(JSON.stringify(said, (_, value) => (typeof value === "string" ? value.toWellFormed() : value)));
}

test("a conversation repaired as it grows, or is cut back, is the same as one repaired at once", () => {
  fc.assert(
    fc.property(garbage, fc.array(fc.nat({ max: 12 }), { maxLength: 12 }), (messages, lengths) => {
      const growing = new HistoryRepair();
      for (const length of [...messages.keys(), messages.length, ...lengths]) {
        const soFar = messages.slice(0, length);
        expect(growing.repair(soFar)).toEqual(repairHistory(soFar));
      }
    }),
    runs(300),
  );
});

test("a conversation whose beginning was rewritten is repaired anew", () => {
  fc.assert(
    fc.property(garbage, garbage, (one, other) => {
      const growing = new HistoryRepair();
      growing.repair(one);
      const rewritten = [...other, ...one];
      expect(growing.repair(rewritten)).toEqual(repairHistory(rewritten));
      expect(growing.repair(one)).toEqual(repairHistory(one));
    }),
    runs(300),
  );
});
