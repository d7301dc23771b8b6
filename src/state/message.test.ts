import { expect, test } from "vitest";
import { assistantMessage, systemMessage, textOf, toolMessage, userMessage } from "./message.ts";

test("a message is plain data with its role first", () => {
  expect(JSON.stringify([systemMessage("s"), userMessage("u"), assistantMessage("a", { incomplete: true })])).toBe(
    '[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":"a","incomplete":true}]',
  );
  expect(toolMessage("t", { toolCallId: "c", toolName: "n" })).toEqual({
    role: "tool",
    content: "t",
    toolCallId: "c",
    toolName: "n",
  });
});

test("the text of a message is its text parts, one to a line", () => {
  const parts = [
    { type: "text" as const, text: "one" },
    { type: "reasoning" as const, text: "thinking" },
    { type: "text" as const, text: "two" },
  ];
  expect(textOf(assistantMessage(parts))).toBe("one\ntwo");
  expect(textOf(userMessage("as it is"))).toBe("as it is");
  expect(textOf(userMessage([]))).toBe("");
});
