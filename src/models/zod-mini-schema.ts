import { createRequire } from "node:module";
import type { JsonSchema } from "./model.ts";

/** Zod 4's small variant: its schemas leave it to a function of the package to write them as JSON Schema. */
export const isZodMini = (schema: unknown): boolean =>
  typeof schema === "object" && schema !== null && "_zod" in schema && !("toJSONSchema" in schema);

interface ZodCore {
  toJSONSchema(schema: unknown, options: { readonly io: "input" }): Record<string, unknown>;
}

/**
 * A caller with such a schema has the package. It is loaded here, because a program without it must not need it.
 */
export function zodMiniJsonSchema(schema: unknown): JsonSchema {
  const { toJSONSchema } = createRequire(import.meta.url)("zod/v4/core") as ZodCore;
  const { $schema: _, ...rest } = toJSONSchema(schema, { io: "input" });
  return rest;
}
