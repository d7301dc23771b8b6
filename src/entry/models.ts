/** The port that models are called through, for a model of your own, and the ways to get one. */
export { fallbackModel } from "../models/fallback-model.ts";
export type {
  FinishReason,
  JsonSchema,
  Model,
  ModelPart,
  ModelReport,
  ModelRequest,
  ModelTool,
  ModelUsage,
} from "../models/model.ts";
export { ModelError } from "../models/model-error.ts";
export type { AnySchema, SchemaOutput, StandardSchema } from "../models/schema.ts";
export { modelFromString } from "../providers/strings.ts";
