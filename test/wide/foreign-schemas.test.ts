import { Type } from "@sinclair/typebox";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { tool as aiTool, jsonSchema } from "ai";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as z3 } from "zod-v3";
import { aiSdkTools } from "../../src/adapters/ai-sdk/ai-sdk-tools.ts";
import type { RunEvent, StopReason } from "../../src/agent/events.ts";
import { type ToolContext, tool } from "../../src/agent/tool-call/tool.ts";
import { type AnySchema, readySchema } from "../../src/models/schema.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { Agent } from "../../src/wiring/agent.ts";
import { agentOf } from "../agent/agent-of.ts";

const CITY = { type: "object", properties: { city: { type: "string" }, days: { type: "number" } }, required: ["city"] };

describe("schemas of others", () => {
  const schemas: Readonly<Record<string, unknown>> = {
    "zod 4": z.object({ city: z.string(), days: z.number().optional() }),
    "zod mini": mini.object({ city: mini.string(), days: mini.optional(mini.number()) }),
    "zod 3": z3.object({ city: z3.string(), days: z3.number().optional() }),
    "a raw shape of zod 4": { city: z.string(), days: z.number().optional() },
    "a raw shape of zod 3": { city: z3.string(), days: z3.number().optional() },
    TypeBox: Type.Object({ city: Type.String(), days: Type.Optional(Type.Number()) }),
    "the AI SDK's jsonSchema()": jsonSchema(CITY as never),
    valibot: toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number()) })),
    arktype: type({ city: "string", "days?": "number" }),
  };

  test.each(Object.entries(schemas))(
    "%s: a model is told what fits, and what does not is refused",
    async (_, schema) => {
      const { jsonSchema: told, check } = readySchema(schema as AnySchema, "inputSchema");
      expect(told).toMatchObject(CITY);
      expect(await check({ city: "Rome", days: 2 })).toEqual({ value: { city: "Rome", days: 2 } });
      expect(await check({ city: "Rome" })).toEqual({ value: { city: "Rome" } });
      expect(await check({ city: 7 })).toHaveProperty("faults");
      expect(await check({})).toHaveProperty("faults");
    },
  );

  test("zod 3 with enums, limits, unions, defaults and effects is written as JSON Schema", () => {
    const schema = z3.object({
      kind: z3.enum(["a", "b"]).describe("which"),
      n: z3.number().int().min(1).max(9),
      either: z3.union([z3.string(), z3.literal(3)]).nullable(),
      list: z3.array(z3.record(z3.boolean())).default([]),
      text: z3
        .string()
        .min(2)
        .transform((text) => text.length),
    });
    expect(readySchema(schema as unknown as AnySchema, "s").jsonSchema).toEqual({
      type: "object",
      properties: {
        kind: { enum: ["a", "b"], description: "which" },
        n: { type: "integer", minimum: 1, maximum: 9 },
        either: { anyOf: [{ anyOf: [{ type: "string" }, { const: 3 }] }, { type: "null" }] },
        list: { type: "array", items: { type: "object", additionalProperties: { type: "boolean" } } },
        text: { type: "string", minLength: 2 },
      },
      required: ["kind", "n", "either", "text"],
    });
    expect(() => readySchema(z3.object({ on: z3.date() }) as unknown as AnySchema, "s")).toThrow(/ZodDate cannot be/);
  });

  test("the AI SDK's tools, with preliminary results and approval, are tools here", async () => {
    const seen: unknown[] = [];
    const tools = aiSdkTools({
      "look.up": aiTool({
        description: "Looks.",
        inputSchema: z.object({ city: z.string() }),
        async *execute({ city }, { toolCallId }) {
          yield `looking for ${city}`;
          seen.push(toolCallId);
          yield `found ${city}`;
        },
      }),
    });
    expect(tools).toMatchObject([{ name: "look_up", description: "Looks.", effect: "atMostOnce" }]);
    const model = scriptedModel([{ toolCalls: [{ name: "look_up", id: "c", arguments: { city: "Rome" } }] }, "ready"]);
    const { state } = await agentOf({ model, tools }).run("go");
    expect(state.messages[2]?.content).toBe("found Rome");
    expect(seen).toEqual(["c"]);
    expect(() => aiSdkTools({ page: { description: "in the browser" } })).toThrow(/"page" has no execute/);
    expect(() => aiSdkTools([] as never)).toThrow(/takes the AI SDK's record of tools/);
  });
});

test("arguments and the runtime of tools are inferred for zod 4, valibot, arktype, TypeBox and raw shapes", () => {
  const name = "t";
  tool({
    name,
    inputSchema: z.object({ a: z.number() }),
    execute: (input) => expectTypeOf(input).toEqualTypeOf<{ a: number }>(),
  });
  const ofValibot = toStandardJsonSchema(v.object({ a: v.number() }));
  tool({ name, inputSchema: ofValibot, execute: (input) => expectTypeOf(input).toEqualTypeOf<{ a: number }>() });
  tool({
    name,
    inputSchema: type({ a: "number" }),
    execute: (input) => expectTypeOf(input).toEqualTypeOf<{ a: number }>(),
  });
  const ofTypeBox = Type.Object({ a: Type.Number() });
  tool({ name, inputSchema: ofTypeBox, execute: (input) => expectTypeOf(input).toEqualTypeOf<{ a: number }>() });
  tool({ name, inputSchema: { a: z.number() }, execute: (input) => expectTypeOf(input.a).toEqualTypeOf<number>() });
  const needing = tool({ name, execute: (_: unknown, { runtime }: ToolContext<{ db: string }>) => runtime.db });
  const agent = agentOf<unknown, { db: string }>({ model: scriptedModel([]), tools: [needing] });
  expectTypeOf(agent.run).parameter(1).toMatchTypeOf<{ readonly runtime: { db: string } }>();
  expectTypeOf(agent.complete).parameter(0).toMatchTypeOf<{ readonly runtime: { db: string } }>();
});

test("the output and the events of a run are inferred for zod 4, valibot and arktype", () => {
  const model = scriptedModel([]);
  type Answer = { city: string; days: number };
  const byZod = new Agent({ model, outputSchema: z.object({ city: z.string(), days: z.number() }) });
  const valibotSchema = toStandardJsonSchema(v.object({ city: v.string(), days: v.number() }));
  const byValibot = new Agent({ model, outputSchema: valibotSchema });
  const byArktype = new Agent({ model, outputSchema: type({ city: "string", days: "number" }) });
  expectTypeOf<Awaited<ReturnType<typeof byZod.run>>["output"]>().toEqualTypeOf<Answer | undefined>();
  expectTypeOf<Awaited<ReturnType<typeof byValibot.run>>["output"]>().toEqualTypeOf<Answer | undefined>();
  expectTypeOf<Awaited<ReturnType<typeof byArktype.run>>["output"]>().toEqualTypeOf<Answer | undefined>();
  expectTypeOf<Awaited<ReturnType<typeof byZod.answer>>["output"]>().toEqualTypeOf<Answer | undefined>();
  type Event = ReturnType<typeof byZod.run> extends AsyncIterable<infer Found> ? Found : never;
  expectTypeOf<Event>().toEqualTypeOf<RunEvent>();
  expectTypeOf<Extract<Event, { type: "model-delta" }>["text"]>().toEqualTypeOf<string>();
  expectTypeOf<Extract<Event, { type: "tool-start" }>["attempt"]>().toEqualTypeOf<number>();
  expectTypeOf<Extract<Event, { type: "run-end" }>["stopReason"]>().toEqualTypeOf<StopReason>();
});
