import type { Validator } from "@cfworker/json-schema";
import { StateError } from "../errors.ts";
import { mistakeInJsonSchema, unwritable } from "./mistaken-schema.ts";
import type { JsonSchema } from "./model.ts";
import { isZodMini, zodMiniJsonSchema } from "./zod-mini-schema.ts";
import { isZod3, zod3JsonSchema } from "./zod3-schema.ts";

/** The part of Standard Schema (https://standardschema.dev) that is used: zod, valibot and arktype have it. */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Version 1.1 of the specification. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => Record<string, unknown> };
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Any Standard Schema, or plain JSON Schema. */
export type AnySchema<Output = unknown> = StandardSchema<Output> | JsonSchema;

export type SchemaOutput<Schema> =
  Schema extends StandardSchema<infer Output>
    ? Output
    : // TypeBox writes JSON Schema and says what it means in a member that is never there.
      Schema extends { readonly static: infer Output }
      ? Output
      : Schema extends Readonly<Record<string, StandardSchema>>
        ? { readonly [Name in keyof Schema]: SchemaOutput<Schema[Name]> }
        : unknown;

export interface ReadySchema {
  readonly jsonSchema: JsonSchema;
  /** The value as the schema gives it back, or what is wrong with it, in words a model can act on. */
  check(value: unknown): Promise<{ readonly value: unknown } | { readonly faults: readonly string[] }>;
}

export function readySchema(schema: AnySchema, where: string): ReadySchema {
  if (isStandardSchema(schema)) {
    return { jsonSchema: jsonSchemaOf(schema, where), check: (value) => checkStandard(schema, value) };
  }
  // arktype's schemas are functions; every other schema is an object.
  if (typeof schema !== "object" || schema === null) {
    throw new TypeError(`${where} must be a Standard Schema (zod, valibot, arktype) or a JSON Schema object`);
  }
  const foreign = asForeignSchema(schema, where);
  if (foreign !== undefined) return foreign;
  const mistake = Array.isArray(schema) ? "is a list, not a schema" : mistakeInJsonSchema(schema);
  if (mistake !== undefined) throw new TypeError(`${where} ${mistake}`);
  return { jsonSchema: schema, check: jsonChecker(schema) };
}

/** Schemas that are neither: zod's raw shapes, and what the AI SDK's `jsonSchema()` makes. */
function asForeignSchema(schema: object, where: string): ReadySchema | undefined {
  if (Symbol.for("vercel.ai.schema") in schema) return ofAiSdk(schema as AiSdkSchema);
  if (Array.isArray(schema)) return undefined;
  const members = Object.entries(schema);
  const isShape =
    members.length > 0 &&
    members.every(([, member]) => isStandardSchema(member) && member["~standard"].vendor === "zod");
  return isShape ? ofShape(schema as Readonly<Record<string, StandardSchema>>, where) : undefined;
}

interface AiSdkSchema {
  readonly jsonSchema: JsonSchema;
  readonly validate?: (value: unknown) => AiSdkVerdict | PromiseLike<AiSdkVerdict>;
}
type AiSdkVerdict =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: Error };

function ofAiSdk({ jsonSchema, validate }: AiSdkSchema): ReadySchema {
  if (validate === undefined) return { jsonSchema, check: jsonChecker(jsonSchema) };
  return {
    jsonSchema,
    check: async (value) => {
      const verdict = await validate(value);
      return verdict.success ? { value: verdict.value } : { faults: [verdict.error.message] };
    },
  };
}

/** `{ city: z.string() }`: an object with these members and no others. */
function ofShape(shape: Readonly<Record<string, StandardSchema>>, where: string): ReadySchema {
  const members = Object.entries(shape).map(
    ([name, schema]) => [name, readySchema(schema, `${where}.${name}`), schema] as const,
  );
  const required = members.filter(([, , schema]) => !takesNothing(schema)).map(([name]) => name);
  const properties = Object.fromEntries(members.map(([name, { jsonSchema }]) => [name, jsonSchema]));
  return {
    jsonSchema: { type: "object", properties, ...(required.length > 0 && { required }), additionalProperties: false },
    check: async (value) => {
      if (typeof value !== "object" || value === null || Array.isArray(value))
        return { faults: ["expected an object"] };
      const given = value as Readonly<Record<string, unknown>>;
      const faults = Object.keys(given)
        .filter((name) => !Object.hasOwn(shape, name))
        .map((name) => `${name}: is not known`);
      const checked: [string, unknown][] = [];
      for (const [name, { check }] of members) {
        const result = await check(given[name]);
        if ("faults" in result) faults.push(...result.faults.map((fault) => `${name}: ${fault}`));
        else if (result.value !== undefined) checked.push([name, result.value]);
      }
      return faults.length > 0 ? { faults } : { value: Object.fromEntries(checked) };
    },
  };
}

function takesNothing(schema: StandardSchema): boolean {
  const result = schema["~standard"].validate(undefined);
  return !(result instanceof Promise) && result.issues === undefined;
}

function isStandardSchema(schema: unknown): schema is StandardSchema {
  const holder = typeof schema === "function" || (typeof schema === "object" && schema !== null);
  return holder && "~standard" in (schema as object);
}

function jsonSchemaOf(schema: StandardSchema, where: string): JsonSchema {
  const { jsonSchema, vendor } = schema["~standard"];
  if (jsonSchema !== undefined) {
    try {
      const { $schema: _, ...rest } = jsonSchema.input({ target: "draft-2020-12" });
      return rest;
    } catch (error) {
      throw new StateError("INVALID_ARGUMENT", `${where}: ${unwritable(error, vendor)}`, { cause: error });
    }
  }
  if (isZod3(schema) || isZodMini(schema)) {
    try {
      return isZod3(schema) ? zod3JsonSchema(schema) : zodMiniJsonSchema(schema);
    } catch (error) {
      throw new StateError("INVALID_ARGUMENT", `${where}: ${unwritable(error, vendor)}`, { cause: error });
    }
  }
  const advice =
    vendor === "valibot"
      ? "wrap it: toStandardJsonSchema(schema) from @valibot/to-json-schema"
      : `use a version of ${vendor} whose schemas give JSON Schema (Standard Schema 1.1), or pass JSON Schema`;
  throw new StateError(
    "INVALID_ARGUMENT",
    `${where}: a model needs JSON Schema, which this ${vendor} schema cannot give; ${advice}`,
  );
}

async function checkStandard(
  schema: StandardSchema,
  value: unknown,
): Promise<{ value: unknown } | { faults: readonly string[] }> {
  const result = await schema["~standard"].validate(value);
  if (result.issues === undefined) return { value: result.value };
  return { faults: result.issues.map(({ path, message }) => `${pathOf(path)}${message}`) };
}

function pathOf(path: StandardIssue["path"]): string {
  if (path === undefined || path.length === 0) return "";
  return `${path.map((step) => String(typeof step === "object" ? step.key : step)).join(".")}: `;
}

/** Loads the validator on first use: a program without plain JSON Schema never pays for it. */
function jsonChecker(schema: JsonSchema): ReadySchema["check"] {
  let opening: Promise<Validator> | undefined;
  return async (value) => {
    opening ??= openValidator(schema);
    const { valid, errors } = (await opening).validate(value);
    if (valid) return { value };
    // "properties" and "items" only repeat that something below them failed.
    const exact = errors.filter(({ keyword }) => keyword !== "properties" && keyword !== "items");
    return { faults: exact.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`) };
  };
}

let validators: Promise<typeof import("@cfworker/json-schema")> | undefined;

async function openValidator(schema: JsonSchema): Promise<Validator> {
  // Once for all tools: even a module that is there takes its time to be imported.
  validators ??= import("@cfworker/json-schema");
  const { Validator } = await validators;
  // The validator writes notes of its own into the schema it is given.
  return new Validator(structuredClone(schema), "2020-12", false);
}
