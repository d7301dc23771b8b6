import { expect, test } from "vitest";
import { standardSchema } from "../../../test/agent/standard-schema.ts";
import { modelTool, tool } from "./tool.ts";

const nothing = (): void => undefined;

const HERE = { threadId: undefined, metadata: {}, runtime: undefined };

test("a tool acts at most once unless it says otherwise", () => {
  expect(tool({ name: "a", execute: nothing }).effect).toBe("atMostOnce");
  expect(tool({ name: "a", effect: "pure", execute: nothing }).effect).toBe("pure");
});

test("a tool marked idempotent is so, and may still say more exactly what it does", () => {
  expect(tool({ name: "a", reuseResult: true, execute: nothing })).toMatchObject({
    effect: "idempotent",
    reusesResult: true,
  });
  expect(tool({ name: "a", reuseResult: true, effect: "pure", execute: nothing }).effect).toBe("pure");
});

test.each(["", "two words", "dots.are.not", "ümlaut", "x".repeat(65), 5])("%j is refused as a name", (name) => {
  expect(() => tool({ name: name as string, execute: nothing })).toThrow(TypeError);
});

test("an unknown effect is refused", () => {
  expect(() => tool({ name: "a", effect: "sometimes" as "pure", execute: nothing })).toThrow(
    /pure, idempotent, atMostOnce/,
  );
});

test("a tool without a function to execute is refused", () => {
  expect(() => tool({ name: "a", execute: "run" as unknown as () => void })).toThrow(/execute/);
});

test.each([Number.NaN, -1, 0, 3e9])("a time-out of %s ms is refused: a timer cannot keep it", (timeoutMs) => {
  expect(() => tool({ name: "a", timeoutMs, execute: nothing })).toThrow(/timeoutMs/);
});

test("a model is told the name, the words and the schema, and nothing else", async () => {
  const inputSchema = { type: "object", properties: { n: { type: "number" } } };
  expect(await modelTool(tool({ name: "a", description: "counts", inputSchema, execute: nothing }), HERE)).toEqual({
    name: "a",
    description: "counts",
    inputSchema,
  });
});

test("a Standard Schema is told to the model as JSON Schema", async () => {
  const inputSchema = standardSchema({ type: "object" }, (value) => ({ value }));
  expect((await modelTool(tool({ name: "a", inputSchema, execute: nothing }), HERE)).inputSchema).toEqual({
    type: "object",
  });
});

test("a Standard Schema that cannot be told to a model is refused with what to do", () => {
  const mute = { "~standard": { version: 1, vendor: "valibot", validate: () => ({ value: 1 }) } } as const;
  expect(() => tool({ name: "a", inputSchema: mute, execute: nothing })).toThrow(/toStandardJsonSchema/);
});

test.each(["string", 5])("%j is refused as a schema", (inputSchema) => {
  expect(() =>
    tool({ name: "a", inputSchema: inputSchema as unknown as Record<string, unknown>, execute: nothing }),
  ).toThrow(TypeError);
});
