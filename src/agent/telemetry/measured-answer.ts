import type { Collected } from "../model-call/ask-model.ts";
import type { ModelQuestion } from "../model-call/model-question.ts";
import { costOf } from "../model-call/prices.ts";
import type { RunContext } from "../run/run-context.ts";
import {
  callAttributes,
  finishAttributes,
  modelSpan,
  namesOf,
  OPERATION_DURATION,
  responseAttributes,
  TOKEN_USAGE,
  usageAttributes,
} from "./gen-ai.ts";
import { errorType } from "./telemetry.ts";

/** One call of a model as a span and in the metrics, with what it cost. */
export async function measured(
  { parts, threadId }: RunContext,
  { model, request }: ModelQuestion,
  ask: () => Promise<Collected>,
): Promise<Collected & { readonly cost: number | undefined }> {
  const { telemetry, prices } = parts;
  const began = telemetry.clock();
  const attributes = callAttributes(model);
  const took = (more: object): void =>
    telemetry.record(OPERATION_DURATION, (telemetry.clock() - began) / 1000, { ...attributes, ...more });
  return telemetry.span(modelSpan(model, request, threadId), async (span) => {
    try {
      const answer = await ask();
      const { usage, finishReason, response, answeredBy } = answer;
      const told = responseAttributes({ model: namesOf(answeredBy).model, ...response });
      const cost = costOf(prices, answeredBy, usage);
      span.set({ ...told, ...finishAttributes(finishReason), ...usageAttributes(usage) });
      if (cost !== undefined) span.set({ "holdfast.cost": cost });
      const by = { ...attributes, "gen_ai.response.model": told["gen_ai.response.model"] ?? "" };
      telemetry.record(TOKEN_USAGE, usage.inputTokens, { ...by, "gen_ai.token.type": "input" });
      telemetry.record(TOKEN_USAGE, usage.outputTokens, { ...by, "gen_ai.token.type": "output" });
      if (cost !== undefined) telemetry.count("holdfast.cost", cost, by);
      took({ "gen_ai.response.model": by["gen_ai.response.model"] });
      return { ...answer, cost };
    } catch (error) {
      took({ "error.type": errorType(error) });
      throw error;
    }
  });
}
