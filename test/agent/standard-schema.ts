import type { StandardResult, StandardSchema } from "../../src/models/schema.ts";

/** A schema as zod, valibot and arktype make them, written by hand. */
export const standardSchema = <Output = unknown>(
  jsonSchema: Readonly<Record<string, unknown>>,
  validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>,
): StandardSchema<Output> => ({
  "~standard": {
    version: 1,
    vendor: "by hand",
    validate,
    jsonSchema: { input: () => ({ $schema: "https://json-schema.org/draft/2020-12/schema", ...jsonSchema }) },
  },
});
