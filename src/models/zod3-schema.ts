import type { JsonSchema } from "./model.ts";

/** The part of a zod 3 schema that is looked at: it can check values, and cannot write itself as JSON Schema. */
interface Zod3Schema {
  readonly _def: Readonly<Record<string, unknown>> & { readonly typeName: string };
}

export function isZod3(schema: unknown): schema is Zod3Schema {
  if (typeof schema !== "object" || schema === null || !("_def" in schema)) return false;
  const { typeName } = (schema._def ?? {}) as { typeName?: unknown };
  return typeof typeName === "string" && typeName.startsWith("Zod");
}

/** What a value must look like before zod 3 checks it; throws for what JSON cannot say. */
export function zod3JsonSchema(schema: unknown): JsonSchema {
  if (!isZod3(schema)) return {};
  const { _def: def } = schema;
  const { description } = def as { description?: unknown };
  return { ...shapeOf(def), ...(typeof description === "string" && { description }) };
}

function shapeOf(def: Zod3Schema["_def"]): JsonSchema {
  switch (def.typeName) {
    case "ZodString":
      return { type: "string", ...limitsOf(def, { min: "minLength", max: "maxLength" }) };
    case "ZodNumber":
      return { type: isWhole(def) ? "integer" : "number", ...limitsOf(def, { min: "minimum", max: "maximum" }) };
    case "ZodBoolean":
      return { type: "boolean" };
    case "ZodNull":
      return { type: "null" };
    case "ZodLiteral":
      return { const: def["value"] };
    case "ZodEnum":
      return { enum: def["values"] };
    case "ZodNativeEnum":
      return { enum: Object.values(def["values"] as object) };
    case "ZodArray":
      return { type: "array", items: zod3JsonSchema(def["type"]) };
    case "ZodRecord":
      return { type: "object", additionalProperties: zod3JsonSchema(def["valueType"]) };
    case "ZodObject":
      return objectOf(def);
    case "ZodUnion":
    case "ZodDiscriminatedUnion":
      return { anyOf: [...(def["options"] as Iterable<unknown>)].map(zod3JsonSchema) };
    case "ZodIntersection":
      return { allOf: [zod3JsonSchema(def["left"]), zod3JsonSchema(def["right"])] };
    case "ZodNullable":
      return { anyOf: [zod3JsonSchema(def["innerType"]), { type: "null" }] };
    case "ZodOptional":
    case "ZodDefault":
    case "ZodCatch":
    case "ZodReadonly":
      return zod3JsonSchema(def["innerType"]);
    case "ZodBranded":
      return zod3JsonSchema(def["type"]);
    case "ZodEffects":
      return zod3JsonSchema(def["schema"]);
    case "ZodPipeline":
      return zod3JsonSchema(def["in"]);
    case "ZodAny":
    case "ZodUnknown":
      return {};
    default:
      throw new Error(`${def.typeName} cannot be represented in JSON Schema`);
  }
}

function objectOf(def: Zod3Schema["_def"]): JsonSchema {
  const shape = (def["shape"] as () => Readonly<Record<string, unknown>>)();
  const required = Object.keys(shape).filter((name) => !isOptional(shape[name]));
  const isStrict = def["unknownKeys"] === "strict";
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(shape).map(([name, member]) => [name, zod3JsonSchema(member)])),
    ...(required.length > 0 && { required }),
    ...(isStrict && { additionalProperties: false }),
  };
}

const isOptional = (schema: unknown): boolean =>
  typeof (schema as { isOptional?: unknown }).isOptional === "function" &&
  (schema as { isOptional(): boolean }).isOptional();

interface Check {
  readonly kind: string;
  readonly value?: unknown;
}

const checksOf = (def: Zod3Schema["_def"]): readonly Check[] => (def["checks"] ?? []) as readonly Check[];
const isWhole = (def: Zod3Schema["_def"]): boolean => checksOf(def).some(({ kind }) => kind === "int");

const limitsOf = (def: Zod3Schema["_def"], names: Readonly<Record<string, string>>): JsonSchema =>
  Object.fromEntries(
    checksOf(def).flatMap(({ kind, value }) => (names[kind] === undefined ? [] : [[names[kind], value]])),
  );
