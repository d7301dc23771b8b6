import type { Model, ModelPart, ModelRequest } from "./model.ts";

/**
 * Asks the first model, and the next one when that failed before it said
 * anything: what a caller has seen cannot be taken back. Retries are for the
 * models themselves; only a model that gave up is passed over.
 */
export function fallbackModel(models: readonly Model[]): Model {
  const isList = Array.isArray(models) && models.every((model) => typeof model?.stream === "function");
  const [first, ...others] = isList ? models : [];
  if (first === undefined) throw new TypeError("fallbackModel() takes a list of models, the preferred one first");
  return others.length === 0 ? first : new FallbackModel(first, others);
}

class FallbackModel implements Model {
  readonly id: string;
  readonly runsTools: boolean;
  readonly contextWindow?: number;
  readonly #models: readonly Model[];

  constructor(first: Model, others: readonly Model[]) {
    this.#models = [first, ...others];
    this.id = first.id;
    this.runsTools = this.#models.some((model) => model.runsTools === true);
    // A conversation must fit whichever model answers.
    const windows = this.#models.flatMap(({ contextWindow }) => contextWindow ?? []);
    if (windows.length > 0) this.contextWindow = Math.min(...windows);
  }

  async *stream(request: ModelRequest): AsyncGenerator<ModelPart, void, undefined> {
    for (const [index, model] of this.#models.entries()) {
      let begun = false;
      try {
        for await (const part of model.stream(request)) {
          begun = true;
          yield index > 0 && part.type === "finish" ? { answeredBy: model.id, ...part } : part;
        }
        return;
      } catch (error) {
        const next = this.#models[index + 1];
        if (begun || next === undefined || request.signal?.aborted === true) throw error;
        request.report?.({ type: "model-fallback", from: model.id, to: next.id, error });
      }
    }
  }
}
