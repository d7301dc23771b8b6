import { describe, expect, test } from "vitest";
import {
  type AssistantMessage,
  assistantMessage,
  type Message,
  systemMessage,
  type ToolMessage,
  toolMessage,
  userMessage,
} from "../../state/message.ts";
import { assertValidForAnthropic, assertValidForOpenAI } from "../../testing/models/history-validators.ts";
import { HistoryRepair, repairHistory } from "./repair-history.ts";

const calls = (...ids: string[]): AssistantMessage =>
  assistantMessage("", { toolCalls: ids.map((id) => ({ id, name: "work", arguments: {} })) });
const result = (id: string, content = `result of ${id}`): ToolMessage =>
  toolMessage(content, { toolCallId: id, toolName: "work" });
const hello = userMessage("hello");

/** Repairs, and holds what comes out against the providers' rules. */
function repaired(...messages: readonly Message[]): readonly Message[] {
  const history = repairHistory(messages);
  assertValidForOpenAI(history);
  assertValidForAnthropic(history);
  return history;
}

test("a history without faults is left as it is, message by message", () => {
  const messages = [
    systemMessage("be kind"),
    hello,
    calls("a", "b"),
    result("a"),
    result("b"),
    assistantMessage("done"),
    userMessage("thanks"),
  ];
  const history = repaired(...messages);
  expect(history).toHaveLength(messages.length);
  for (const [index, message] of history.entries()) expect(message).toBe(messages[index]);
});

test("a result that takes the place of the model's next message is shown, also where that message was shown before", () => {
  const asked = calls("a");
  const growing = new HistoryRepair();
  expect(growing.repair([hello, asked, assistantMessage("an answer")])[2]).toMatchObject({ isError: true });
  const messages = [hello, asked, result("a"), calls("b"), result("b")];
  expect(growing.repair(messages)).toEqual(repairHistory(messages));
});

describe("a call without a result", () => {
  test("gets one that claims nothing: an error, whatever the cause", () => {
    const [, , answer] = repaired(hello, calls("a"));
    expect(answer).toMatchObject({ role: "tool", toolCallId: "a", toolName: "work", isError: true });
    expect((answer as ToolMessage).content).toMatch(/may or may not have taken effect/);
    expect((answer as ToolMessage).content).not.toMatch(/cancel|user/i);
  });

  test("does not take a result that its siblings have", () => {
    const history = repaired(hello, calls("a", "b", "c"), result("b"));
    expect(history.slice(2).map((message) => (message as ToolMessage).isError ?? false)).toEqual([true, false, true]);
  });
});

describe("results", () => {
  test("stand right behind their call, also when a user spoke before they came", () => {
    const interjection = userMessage("hurry");
    expect(repaired(hello, calls("a"), interjection, result("a"))).toEqual([
      hello,
      calls("a"),
      result("a"),
      interjection,
    ]);
  });

  test("stand in the order of their calls", () => {
    const ids = repaired(hello, calls("a", "b"), result("b"), result("a")).slice(2);
    expect(ids.map((message) => (message as ToolMessage).toolCallId)).toEqual(["a", "b"]);
  });

  test("that no call asked for are left out", () => {
    expect(repaired(hello, result("x"), assistantMessage("hi"))).toEqual([hello, assistantMessage("hi")]);
  });

  test("that come twice count once, and the first counts", () => {
    expect(repaired(hello, calls("a"), result("a", "first"), result("a", "second"))[2]).toMatchObject({
      content: "first",
    });
  });

  test("of another tool are no answer to the call", () => {
    const foreign = toolMessage("of another", { toolCallId: "a", toolName: "other" });
    expect(repaired(hello, calls("a"), foreign)[2]).toMatchObject({ toolName: "work", isError: true });
  });

  test("of a later turn with the same id stay in their turn", () => {
    const history = repaired(hello, calls("a"), result("a", "first"), calls("a"), result("a", "second"));
    const results = history.filter((message): message is ToolMessage => message.role === "tool");
    expect(results.map(({ content }) => content)).toEqual(["first", "second"]);
    expect(new Set(results.map(({ toolCallId }) => toolCallId)).size).toBe(2);
  });
});

describe("calls", () => {
  test("with one id in one message count once", () => {
    expect(repaired(hello, calls("a", "a"), result("a"))).toHaveLength(3);
  });

  test("without an id get one, and so does the result", () => {
    const [, asked, answer] = repaired(hello, calls(""), result(""));
    const [call] = (asked as AssistantMessage).toolCalls ?? [];
    expect(call?.id).not.toBe("");
    expect(answer).toMatchObject({ toolCallId: call?.id, content: "result of " });
  });

  test("by a name that providers do not accept are shown by one that they do", () => {
    const wild = assistantMessage("", { toolCalls: [{ id: "a", name: "functions.search web", arguments: {} }] });
    const unknown = toolMessage("no such tool", { toolCallId: "a", toolName: "functions.search web", isError: true });
    const [, asked, answer] = repaired(hello, wild, unknown);
    expect((asked as AssistantMessage).toolCalls?.[0]?.name).toMatch(/functions.search.web/);
    expect(answer).toMatchObject({ content: "no such tool" });
  });

  test.each([[[1, 2]], ["text"], [null], [undefined]])("with the arguments %j are shown with an object", (input) => {
    const odd = assistantMessage("", { toolCalls: [{ id: "a", name: "work", arguments: input }] });
    repaired(hello, odd, result("a"));
  });
});

describe("messages without content", () => {
  test.each([
    ["an empty text", ""],
    ["blanks", " \n"],
    ["no parts", []],
    ["an empty part", [{ type: "text" as const, text: "" }]],
    ["a thought alone", [{ type: "reasoning" as const, text: "hm" }]],
  ])("are left out: %s", (_, content) => {
    expect(repaired(hello, assistantMessage(content), userMessage("and?"))).toEqual([hello, userMessage("and?")]);
  });

  test("stay when they make calls", () => {
    expect(repaired(hello, calls("a"), result("a"))).toHaveLength(3);
  });

  test("but with a file have content", () => {
    const picture = userMessage([{ type: "file", mediaType: "image/png", data: new Uint8Array([1]) }]);
    expect(repaired(picture)).toEqual([picture]);
  });
});

test("system messages become one, at the start, in their order", () => {
  expect(repaired(systemMessage("one"), hello, systemMessage("two"))).toEqual([systemMessage("one\n\ntwo"), hello]);
});

test("a history that does not begin with the user is still accepted, and what was said stays", () => {
  const history = repaired(assistantMessage("welcome"), hello);
  expect(history.slice(-2)).toEqual([assistantMessage("welcome"), hello]);
});

describe("an answer that was cut off", () => {
  const half = assistantMessage("half", { incomplete: true });

  test("is not shown where it is asked for again", () => {
    expect(repaired(hello, half)).toEqual([hello]);
    expect(repaired(hello, half, half)).toEqual([hello]);
  });

  test("is not shown once the answer was given", () => {
    expect(repaired(hello, half, assistantMessage("whole"))).toEqual([hello, assistantMessage("whole")]);
  });

  test("is shown where the user went on from it", () => {
    expect(repaired(hello, half, userMessage("go on"))).toHaveLength(3);
  });
});

test("text with half of a surrogate pair is made well-formed: providers refuse it for ever", () => {
  const cut = [{ id: "b", name: "work", arguments: { deep: ["\ud83d", { "key \ud83d": 1 }] } }];
  const history = repaired(
    userMessage("broken \ud83d"),
    calls("a"),
    result("a", "also \udc00"),
    assistantMessage("", { toolCalls: cut }),
  );
  expect(JSON.stringify(history)).not.toMatch(/\\ud[89a-f]/i);
});
