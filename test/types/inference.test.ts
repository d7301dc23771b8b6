import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import type { RunEvent } from "../../src/agent/events.ts";
import type { Run } from "../../src/agent/run.ts";
import { type Tool, type ToolContext, tool } from "../../src/agent/tool-call/tool.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { Agent } from "../../src/wiring/agent.ts";

/**
 * Most of this is for the compiler, which `npm run types` asks. It runs as well,
 * so that no type speaks of something that is not there.
 */

interface Receipt {
  readonly id: string;
  readonly euros: number;
}

interface Bank {
  readonly pay: (euros: number) => Promise<Receipt>;
}

const bank: Bank = { pay: async (euros) => ({ id: "r-1", euros }) };

const lookUp = tool({
  name: "look_up",
  effect: "pure",
  inputSchema: toStandardJsonSchema(v.object({ name: v.string() })),
  execute: ({ name }) => {
    expectTypeOf(name).toEqualTypeOf<string>();
    return [name.length];
  },
});
const render = tool({
  name: "render",
  inputSchema: type({ pages: "number" }),
  execute: async ({ pages }, { later }) => {
    expectTypeOf(pages).toEqualTypeOf<number>();
    return pages === 0 ? "nothing to do" : later<{ readonly url: string }>();
  },
});
const pay = tool({
  name: "pay",
  inputSchema: z.object({ euros: z.number() }),
  execute: async ({ euros }, { runtime }: ToolContext<Bank>) => {
    expectTypeOf(euros).toEqualTypeOf<number>();
    return runtime.pay(euros);
  },
});

test("zod, valibot and arktype: a tool's type says its name, what it takes, gives and needs", () => {
  expectTypeOf(pay).toEqualTypeOf<Tool<Bank, "pay", { euros: number }, Receipt>>();
  expectTypeOf(lookUp).toEqualTypeOf<Tool<unknown, "look_up", { name: string }, number[]>>();
  expectTypeOf(render).toEqualTypeOf<
    Tool<unknown, "render", { pages: number }, "nothing to do" | { readonly url: string }>
  >();
  expectTypeOf(pay).toExtend<Tool<Bank>>();
  // @ts-expect-error: it needs a bank
  expectTypeOf(pay).toExtend<Tool>();
  expect([pay.name, lookUp.name, render.name]).toEqual(["pay", "look_up", "render"]);
});

const steps = () => [
  {
    toolCalls: [
      { name: "pay", id: "p", arguments: { euros: 5 } },
      { name: "look_up", id: "l", arguments: { name: "Ada" } },
    ],
  },
  '{"said":"paid"}',
];
const agentWith = () =>
  new Agent({
    model: scriptedModel(steps()),
    tools: [pay, lookUp, render],
    outputSchema: z.object({ said: z.string() }),
  });

test("the events of a run tell arguments and results by the tool's name", async () => {
  const seen: unknown[] = [];
  const run = agentWith().run("pay five euros", { runtime: bank });
  for await (const event of run) {
    if (event.type === "tool-start") {
      expectTypeOf(event.toolName).toEqualTypeOf<"pay" | "look_up" | "render" | "read_result">();
      if (event.toolName === "pay") {
        expectTypeOf(event.arguments).toEqualTypeOf<{ euros: number }>();
        seen.push(event.arguments.euros);
      }
      if (event.toolName === "look_up") expectTypeOf(event.arguments).toEqualTypeOf<{ name: string }>();
      if (event.toolName === "render") expectTypeOf(event.arguments).toEqualTypeOf<{ pages: number }>();
    }
    if (event.type === "tool-end" && event.status === "succeeded") {
      if (event.toolName === "pay") {
        expectTypeOf(event.result).toEqualTypeOf<Receipt | undefined>();
        seen.push(event.result?.id);
      }
      if (event.toolName === "look_up") {
        expectTypeOf(event.result).toEqualTypeOf<number[] | undefined>();
        seen.push(event.result?.[0]);
      }
    } else if (event.type === "tool-end") {
      // A model may ask for a tool that is not there.
      expectTypeOf(event.toolName).toEqualTypeOf<string>();
      expectTypeOf(event).not.toHaveProperty("result");
    }
  }
  expect(seen.toSorted()).toEqual([3, 5, "r-1"]);
  const { output } = await run;
  expectTypeOf(output).toEqualTypeOf<{ said: string } | undefined>();
  expect(output).toEqual({ said: "paid" });
});

test("the output is of the schema's type: zod, valibot, arktype", () => {
  const model = scriptedModel(["ready"]);
  const ofValibot = new Agent({ model, outputSchema: toStandardJsonSchema(v.object({ n: v.number() })) });
  const ofArktype = new Agent({ model, outputSchema: type({ n: "number" }) });
  const typed = async (): Promise<void> => {
    const [valibot, arktype] = [await ofValibot.run(), await ofArktype.run()];
    expectTypeOf(valibot.output).toEqualTypeOf<{ n: number } | undefined>();
    expectTypeOf(arktype.output).toEqualTypeOf<{ n: number } | undefined>();
    // A run that is complete has an answer that fits.
    if (valibot.stopReason === "complete") expectTypeOf(valibot.output).toEqualTypeOf<{ n: number }>();
    const ofRun = await ofValibot.run("hi", { outputSchema: type({ said: "string" }) });
    expectTypeOf(ofRun.output).toEqualTypeOf<{ said: string } | undefined>();
  };
  expect(typed).toBeTypeOf("function");
});

test("what the tools need of the runtime must be given, and a result that is brought must be one of theirs", () => {
  const typed = (): unknown => [
    // @ts-expect-error: a tool needs the bank
    agentWith().run("pay"),
    // @ts-expect-error: this is no bank
    agentWith().run("pay", { runtime: { pay: 5 } }),
    agentWith().complete({ threadId: "t", toolCallId: "r", result: { url: "https://a.example" }, runtime: bank }),
    // @ts-expect-error: no tool gives a Date
    agentWith().complete({ threadId: "t", toolCallId: "r", result: new Date(), runtime: bank }),
  ];
  expect(typed).toBeTypeOf("function");
});

test("tools that are written in the agent are inferred, too; a list of any tools says nothing of them", () => {
  const model = scriptedModel(["ready"]);
  const inline = new Agent({
    model,
    tools: [
      tool({ name: "now", inputSchema: z.object({ zone: z.string() }), execute: ({ zone }) => ({ zone, hour: 5 }) }),
      tool({ name: "stop", execute: () => undefined }),
    ],
  });
  type Inline = typeof inline extends { run(): Run<unknown, infer Tools> } ? Tools["name"] : never;
  expectTypeOf<Inline>().toEqualTypeOf<"now" | "stop">();
  const anything: readonly Tool[] = [render];
  const mixed = new Agent({ model, tools: [...anything, lookUp] });
  expectTypeOf(mixed.run).returns.toExtend<AsyncIterable<RunEvent>>();
  // An agent of known tools stands wherever any agent may.
  const any: Agent = inline;
  expectTypeOf(any.run).returns.toExtend<AsyncIterable<RunEvent>>();
});

test("a tool that leaves its outcome to others, and does not say which, may be completed with anything", () => {
  const begins = tool({ name: "begin", execute: (_, { later }) => later() });
  expectTypeOf(begins).toEqualTypeOf<Tool<unknown, "begin", unknown, unknown>>();
  const typed = (): unknown =>
    new Agent({ model: scriptedModel(["ready"]), tools: [begins] }).complete({
      threadId: "t",
      toolCallId: "b",
      result: new Date(),
    });
  expect(typed).toBeTypeOf("function");
});

test("the prompt of a sub-agent is made of what its schema says", () => {
  const clerk = new Agent({ model: scriptedModel(["ready"]) });
  const asTool = clerk.asTool({
    name: "fly",
    inputSchema: z.object({ to: z.string(), seats: z.number() }),
    prompt: (input) => {
      expectTypeOf(input).toEqualTypeOf<{ to: string; seats: number }>();
      return `Fly to ${input.to}.`;
    },
  });
  expect(asTool.name).toBe("fly");
});
