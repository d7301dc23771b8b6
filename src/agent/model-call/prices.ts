import { StateError } from "../../errors.ts";
import type { ModelUsage } from "../../models/model.ts";

/** The price of a million tokens, in the currency of the table. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Of input that was read from the provider's cache. @default input */
  readonly cachedInput?: number;
  /** Of input that was written into it. @default input */
  readonly cacheWrite?: number;
}

/** By model id, "openai:gpt-5", or by the model's name alone. */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

const MILLION = 1_000_000;

export function assertPrices(prices: PriceTable): void {
  for (const [model, price] of Object.entries(prices)) {
    const { input, output, cachedInput = 0, cacheWrite = 0 } = price ?? {};
    const isGood = [input, output, cachedInput, cacheWrite].every((value) => typeof value === "number" && value >= 0);
    if (isGood) continue;
    const what = `prices[${JSON.stringify(model)}] must be { input, output }, the price of a million tokens each`;
    throw new StateError("INVALID_ARGUMENT", what);
  }
}

/** `undefined` for a model that the table does not know: it must not be taken for free. */
export function costOf(prices: PriceTable | undefined, modelId: string, usage: ModelUsage): number | undefined {
  const name = modelId.slice(modelId.indexOf(":") + 1);
  const found = [modelId, name].find((key) => prices !== undefined && Object.hasOwn(prices, key));
  const price = found === undefined ? undefined : prices?.[found];
  if (price === undefined) return undefined;
  const { cachedInputTokens: cached, cacheWriteTokens: written = 0 } = usage;
  const plain = Math.max(usage.inputTokens - cached - written, 0);
  const { input, output, cachedInput = input, cacheWrite = input } = price;
  return (plain * input + cached * cachedInput + written * cacheWrite + usage.outputTokens * output) / MILLION;
}
