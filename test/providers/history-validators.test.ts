import { describe, expect, test } from "vitest";
import { assistantMessage, type Message, systemMessage, toolMessage, userMessage } from "../../src/state/message.ts";
import {
  assertValidForAnthropic,
  assertValidForGemini,
  assertValidForOpenAI,
} from "../../src/testing/models/history-validators.ts";
import { assertValidAnthropicBody } from "./wire-anthropic.ts";
import { assertValidOpenAIChatBody } from "./wire-openai-chat.ts";
import { assertValidOpenAIResponsesBody } from "./wire-openai-responses.ts";

const asks = (...ids: readonly string[]): Message =>
  assistantMessage("", { toolCalls: ids.map((id) => ({ id, name: "lookup", arguments: {} })) });
const answers = (id: string, toolName = "lookup"): Message => toolMessage("found", { toolCallId: id, toolName });
const hi = userMessage("Hi");

const GOOD: readonly (readonly [what: string, messages: readonly Message[]])[] = [
  ["a question", [hi]],
  [
    "a whole conversation",
    [systemMessage("On call."), hi, asks("a", "b"), answers("b"), answers("a"), assistantMessage("Done.")],
  ],
  ["a user who writes twice", [hi, hi, assistantMessage("Yes?")]],
  [
    "thought before words",
    [
      hi,
      assistantMessage([
        { type: "reasoning", text: "Hm" },
        { type: "text", text: "Hi." },
      ]),
    ],
  ],
];

/** Each is refused by all of them, for this reason. */
const BAD: readonly (readonly [what: string, reason: string, messages: readonly Message[]])[] = [
  ["nothing", "no message but the system's", []],
  ["only a system message", "no message but the system's", [systemMessage("x")]],
  [
    "a system message in the middle",
    "messages[1]: a system message stands only at the start",
    [hi, systemMessage("x")],
  ],
  ["two system messages", "messages[1]: a system message", [systemMessage("x"), systemMessage("y"), hi]],
  ["an empty assistant message", "messages[1]: the assistant message is empty", [hi, assistantMessage("")]],
  ["an assistant message of spaces", "messages[1]: the assistant message is empty", [hi, assistantMessage(" \n")]],
  [
    "thought without an answer",
    "the assistant message is empty",
    [hi, assistantMessage([{ type: "reasoning", text: "Hm" }])],
  ],
  ["an empty question", "messages[0]: the user message is empty", [userMessage("")]],
  ["a call at the end", 'messages[1]: no result right behind it for the calls "a"', [hi, asks("a")]],
  [
    "a call that is never answered",
    'messages[1]: no result right behind it for the calls "b"',
    [hi, asks("a", "b"), answers("a"), hi],
  ],
  ["a result that comes too late", 'no result right behind it for the calls "a"', [hi, asks("a"), hi, answers("a")]],
  ["a result without a call", 'messages[1]: a result that no call right before it asked for: "a"', [hi, answers("a")]],
  [
    "a result of an older call",
    "a result that no call right before it",
    [hi, asks("a"), answers("a"), asks("b"), answers("c")],
  ],
  ["two results of one call", 'messages[3]: a second result: "a"', [hi, asks("a"), answers("a"), answers("a")]],
  [
    "a result of another tool",
    "the result is of other, the call a was of lookup",
    [hi, asks("a"), answers("a", "other")],
  ],
  ["an id twice in a message", 'the tool call id "a" was used before', [hi, asks("a", "a"), answers("a")]],
  [
    "an id twice in a thread",
    'messages[3]: the tool call id "a" was used before',
    [hi, asks("a"), answers("a"), asks("a"), answers("a")],
  ],
  ["an empty id", "messages[1]: a tool call has an empty id", [hi, asks(""), answers("")]],
  [
    "a name with a space",
    'the tool\'s name "look up" is not accepted',
    [hi, assistantMessage("", { toolCalls: [{ id: "a", name: "look up", arguments: {} }] }), answers("a", "look up")],
  ],
];

const validators = [assertValidForOpenAI, assertValidForAnthropic, assertValidForGemini];

test.each(GOOD)("%s is valid for every provider", (_, messages) => {
  for (const validate of validators) expect(() => validate(messages)).not.toThrow();
});

test.each(BAD)("%s is a history that no provider takes: %s", (_, reason, messages) => {
  for (const validate of validators) expect(() => validate(messages)).toThrow(reason);
});

test("OpenAI alone accepts an answer before a question, and arguments that are no object", () => {
  const greeted = [assistantMessage("How can I help?"), hi];
  const listed = [hi, assistantMessage("", { toolCalls: [{ id: "a", name: "lookup", arguments: [1] }] }), answers("a")];
  for (const messages of [greeted, listed]) expect(() => assertValidForOpenAI(messages)).not.toThrow();
  expect(() => assertValidForAnthropic(greeted)).toThrow("the first message must be the user's, not the assistant's");
  expect(() => assertValidForGemini(listed)).toThrow("the arguments of the call a must be an object");
});

describe("on the wire", () => {
  const call = { id: "c1", type: "function", function: { name: "lookup", arguments: "{}" } };
  const user = { role: "user", content: "Hi" };

  test.each([
    ["must be followed by tool messages", [user, { role: "assistant", content: null, tool_calls: [call] }, user]],
    ["c1", [user, { role: "assistant", content: null, tool_calls: [call] }]],
    ["must be a response to a preceeding message", [user, { role: "tool", tool_call_id: "c1", content: "x" }]],
    ["expected a string, got null", [user, { role: "assistant", content: null }]],
    ["1 to 40 characters", [user, { role: "assistant", tool_calls: [{ ...call, id: "c".repeat(41) }] }]],
    ["is too short", []],
  ])("OpenAI's chat completions: %s", (reason, messages) => {
    expect(() => assertValidOpenAIChatBody({ messages })).toThrow(reason);
  });

  test.each([
    [
      "No tool output found for function call c1.",
      [{ type: "function_call", call_id: "c1", name: "f", arguments: "{}" }],
    ],
    [
      "No tool call found for function call output with call_id c1.",
      [{ type: "function_call_output", call_id: "c1", output: "x" }],
    ],
    ["Item with id 'msg_1' not found", [{ type: "item_reference", id: "msg_1" }]],
    [
      "'rs_1' of type 'reasoning' was provided without its required following item",
      [{ type: "reasoning", id: "rs_1", encrypted_content: "x" }, user],
    ],
    [
      "Duplicate item found with id rs_1",
      [
        { type: "reasoning", id: "rs_1", encrypted_content: "x" },
        { type: "reasoning", id: "rs_1", encrypted_content: "x" },
      ],
    ],
    ["begins with 'fc'", [{ type: "function_call", id: "c1", call_id: "c1", name: "f", arguments: "{}" }]],
  ])("OpenAI's responses: %s", (reason, input) => {
    expect(() => assertValidOpenAIResponsesBody({ input: [user, ...input] })).toThrow(reason);
  });

  const use = { type: "tool_use", id: "t1", name: "lookup", input: {} };
  const result = { type: "tool_result", tool_use_id: "t1", content: "x" };
  test.each([
    ["ids were found without `tool_result` blocks", [user, { role: "assistant", content: [use] }, user]],
    ["ids were found without `tool_result` blocks", [user, { role: "assistant", content: [use] }]],
    ["unexpected `tool_use_id`", [{ role: "user", content: [result] }]],
    [
      "each tool_use must have a single result",
      [user, { role: "assistant", content: [use] }, { role: "user", content: [result, result] }],
    ],
    [
      "ids must be unique",
      [
        user,
        { role: "assistant", content: [use] },
        { role: "user", content: [result] },
        { role: "assistant", content: [use] },
        { role: "user", content: [result] },
      ],
    ],
    ["text content blocks must be non-empty", [{ role: "user", content: "" }]],
    ["non-whitespace text", [{ role: "user", content: [{ type: "text", text: " " }] }]],
    ["all messages must have non-empty content", [user, { role: "assistant", content: [] }, user]],
    [
      "cannot be `thinking`",
      [user, { role: "assistant", content: [{ type: "thinking", thinking: "Hm", signature: "s" }] }, user],
    ],
    ["first message must use", [{ role: "assistant", content: "Hi" }, user]],
    ['Unexpected role "system"', [user, { role: "system", content: "x" }]],
    [
      "should be a valid dictionary",
      [user, { role: "assistant", content: [{ ...use, input: "x" }] }, { role: "user", content: [result] }],
    ],
    ["String should match pattern", [user, { role: "assistant", content: [{ ...use, id: "t:1" }] }, user]],
    ["does not support assistant message prefill", [user, { role: "assistant", content: "So" }]],
  ])("Anthropic: %s", (reason, messages) => {
    expect(() => assertValidAnthropicBody({ messages, max_tokens: 10 })).toThrow(reason);
  });

  test("Anthropic: a tool in use needs the thought that asked for it", () => {
    const messages = [user, { role: "assistant", content: [use] }, { role: "user", content: [result] }];
    expect(() => assertValidAnthropicBody({ messages, max_tokens: 10 })).not.toThrow();
    expect(() => assertValidAnthropicBody({ messages, max_tokens: 10, thinking: { type: "enabled" } })).toThrow(
      "Expected `thinking`",
    );
  });
});
