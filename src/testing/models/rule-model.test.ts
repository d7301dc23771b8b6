import { expect, test } from "vitest";
import { collectAnswer } from "../../models/collect-answer.ts";
import type { ModelPart } from "../../models/model.ts";
import { assistantMessage, type Message, systemMessage, toolMessage, userMessage } from "../../state/message.ts";
import { type Rule, ruleModel } from "./rule-model.ts";

const said = async (rules: readonly Rule[], messages: readonly Message[]) =>
  collectAnswer(ruleModel(rules).stream({ messages, tools: [] }));

const SPIKE = userMessage("p99 on checkout-api spiked at 14:02. The deploy at 13:58 looks suspicious.");
const RULES: readonly Rule[] = [
  { when: /spiked at (\S+)\./, answer: ({ match }) => `Noted: a spike at ${match?.[1]}.` },
  { when: /anything like that/, answer: ({ recall }) => `Earlier you said: "${recall()}"` },
  {
    when: /roll back (\S+)/,
    toolCalls: ({ match }) => [{ name: "rollback", arguments: { service: match?.[1] } }],
    answer: ({ results }) => `Done: ${results[0]?.text}`,
  },
];

test("the first rule that fits answers, with what it caught", async () => {
  const answer = await said(RULES, [SPIKE]);
  expect(answer).toMatchObject({ content: "Noted: a spike at 14:02.", finish: { reason: "stop" } });
});

test("what was said before is recalled from the history alone", async () => {
  const history = [
    systemMessage("On call."),
    userMessage("Lunch is at noon."),
    assistantMessage("Fine."),
    SPIKE,
    assistantMessage("Noted."),
    userMessage("Has anything like that happened on checkout-api before?"),
  ];
  expect((await said(RULES, history)).content).toBe(`Earlier you said: "${SPIKE.content}"`);
});

test("when no words are shared, the newest message is recalled", async () => {
  const history = [
    userMessage("Lunch is at noon."),
    assistantMessage("Fine."),
    SPIKE,
    assistantMessage("Noted."),
    userMessage("Has anything like that happened?"),
  ];
  expect((await said(RULES, history)).content).toContain("13:58");
});

test("a rule calls its tool once, and answers when the result is there", async () => {
  const asked = userMessage("Please roll back checkout-api");
  const first = await said(RULES, [asked]);
  expect(first.finish?.reason).toBe("tool-calls");
  expect(first.toolCalls).toMatchObject([{ name: "rollback", argumentsText: '{"service":"checkout-api"}' }]);
  const { id } = first.toolCalls[0]!;
  const called = assistantMessage("", {
    toolCalls: [{ id, name: "rollback", arguments: { service: "checkout-api" } }],
  });
  const done = toolMessage("rolled back to 13:40", { toolCallId: id, toolName: "rollback" });
  expect((await said(RULES, [asked, called, done])).content).toBe("Done: rolled back to 13:40");
});

test("the same request gets the same parts, word by word", async () => {
  const model = ruleModel(RULES);
  const parts: ModelPart[][] = [[], []];
  for (const seen of parts) for await (const part of model.stream({ messages: [SPIKE], tools: [] })) seen.push(part);
  expect(parts[0]).toEqual(parts[1]);
  expect(parts[0]!.map((part) => ("text" in part ? part.text : part.type))).toEqual([
    "Noted:",
    " a",
    " spike",
    " at",
    " 14:02.",
    "finish",
  ]);
});

test("without a rule it says so, and what it was told", async () => {
  expect((await said([], [SPIKE])).content).toBe("I have no rule for that.");
  expect((await said([], [SPIKE, assistantMessage("Hm."), userMessage("And checkout-api?")])).content).toContain(
    "14:02",
  );
});
