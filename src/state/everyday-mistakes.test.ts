import { describe, expect, test } from "vitest";
import { AgentState } from "./agent-state.ts";
import { userMessage } from "./message.ts";

describe("a mistake is refused where it is made, and not by whatever works on the thread later", () => {
  const made = AgentState.create();
  const wrong: readonly [how: string, make: () => unknown, says: RegExp][] = [
    ["new AgentState()", () => Reflect.construct(AgentState, []), /made by AgentState\.create/],
    [
      "new AgentState({ messages })",
      () => Reflect.construct(AgentState, [{ messages: [] }]),
      /made by AgentState\.create/,
    ],
    ["create(a list of messages)", () => AgentState.create([userMessage("x")] as never), /takes the fields of a state/],
    ["create(a state)", () => AgentState.create(made as never), /takes the fields of a state.*own with…\(\) methods/],
    ["create(null)", () => AgentState.create(null as never), /takes the fields of a state/],
    ["fromFields(undefined)", () => AgentState.fromFields(undefined as never), /takes the fields of a state/],
    ["with(a text)", () => made.with("xy" as never), /takes the fields of a state/],
    [
      "withMessages(one)",
      () => made.withMessages(userMessage("x") as never),
      /a list of messages; withMessage\(\) takes one/,
    ],
    ["withToolExecution(null)", () => made.withToolExecution(null as never), /toolExecutions\[\] must be an object/],
    ["a call without its id", () => made.withToolExecution({ id: "x" } as never), /\.toolCallId must be a text/],
    ["a list with null", () => made.with({ toolExecutions: [null as never] }), /toolExecutions\[0\] must be an object/],
    ["withInterrupt(5)", () => made.withInterrupt(5 as never), /interrupts\[\] must be an object/],
    [
      "a question without its id",
      () => AgentState.create({ interrupts: [{} as never] }),
      /interrupts\[0\]\.id must be/,
    ],
    ["withError(an Error's text)", () => made.withError("failed" as never), /errors\[\] must be an object/],
    ["withReasoningStep(null)", () => made.withReasoningStep(null as never), /reasoningSteps\[\] must be an object/],
    ["withArtifact(an object)", () => made.withArtifact("a", {} as never), /artifacts\["a"\] must be a text/],
    [
      "withUsage(NaN)",
      () => made.withUsage({ inputTokens: Number.NaN }),
      /totals\.inputTokens must be a finite number/,
    ],
    [
      "withUsage(a text)",
      () => made.withUsage({ inputTokens: "5" as never }),
      /totals\.inputTokens must be a finite number/,
    ],
    ["withUsage(null)", () => made.withUsage(null as never), /totals must be an object/],
  ];
  test.each(wrong)("%s", (_how, make, says) => {
    expect(make).toThrow(says);
  });

  test("a count that is not known adds nothing", () => {
    expect(made.withUsage({ inputTokens: undefined as never }).totals).toEqual(made.totals);
  });

  test("what was stored before it was refused still loads", () => {
    const stored = { format: 1, state: { toolExecutions: [5], totals: { inputTokens: "5" } } };
    expect(AgentState.fromCheckpoint(stored).toolExecutions).toEqual([5]);
  });
});
