import { assertLeaseOptions } from "../checkpoint/lease/lease.ts";
import { StateError } from "../errors.ts";
import { readySchema } from "../models/schema.ts";
import type { CoreAgentOptions } from "./agent-options.ts";
import { assertHooks, assertMethods, assertWhenBusy } from "./assert-run-options.ts";
import { assertModelSettings, type ModelSettings } from "./model-call/model-settings.ts";
import { assertPrices } from "./model-call/prices.ts";
import { NO_MEMORY, WHOLE_CONVERSATION } from "./ports.ts";
import type { AgentParts } from "./run/run-context.ts";

/** What can be said of an agent before its first run: a wrong option is refused when the agent is made. */
export type FixedParts = Omit<AgentParts, "model" | "tools" | "telemetry">;

export function fixedParts(options: CoreAgentOptions<never>): FixedParts {
  const { checkpointEveryNIterations: every = 1, toolConcurrency = 10, maxToolResultChars = 32_000 } = options;
  const { maxOutputRepairs = 2, outputSchema } = options;
  if (every !== "end") assertWhole("checkpointEveryNIterations", every, 1, ', or "end"');
  assertWhole("toolConcurrency", toolConcurrency, 1);
  assertWhole("maxToolResultChars", maxToolResultChars, 100);
  assertWhole("maxOutputRepairs", maxOutputRepairs, 0);
  const { saveRetryMs = 60_000, lease, whenBusy } = options;
  if (typeof lease === "object") assertLeaseOptions(lease);
  assertWhenBusy("Agent()", whenBusy);
  if (!(saveRetryMs >= 0)) throw new StateError("INVALID_ARGUMENT", "saveRetryMs must be a number from 0 on");
  const { hooks = {}, memory = NO_MEMORY, conversation = WHOLE_CONVERSATION } = options;
  assertHooks(hooks);
  if (options.prices !== undefined) assertPrices(options.prices);
  const { maxOutputTokens, temperature, toolChoice, providerOptions } = options;
  const settings = { maxOutputTokens, temperature, toolChoice, providerOptions } as ModelSettings;
  assertModelSettings(
    "Agent()",
    settings,
    (options.tools ?? []).map(({ name }) => name),
  );
  assertMethods("Agent({ memory })", memory, ["recall", "remember"]);
  assertMethods("Agent({ conversation })", conversation, ["shape"]);
  return {
    systemPrompt: options.systemPrompt,
    saveEvery: every === "end" ? Number.POSITIVE_INFINITY : every,
    toolConcurrency,
    maxResultChars: maxToolResultChars,
    memory,
    conversation,
    hooks,
    settings,
    prepareStep: options.prepareStep,
    output: outputSchema === undefined ? undefined : readySchema(outputSchema, "outputSchema"),
    maxOutputRepairs,
    saveRetryMs,
    prices: options.prices,
    agentName: options.name,
    now: options.now ?? Date.now,
    runClock: options.now ?? (() => performance.now()),
  };
}

function assertWhole(name: string, value: unknown, least: number, otherwise = ""): void {
  if (Number.isInteger(value) && (value as number) >= least) return;
  throw new StateError("INVALID_ARGUMENT", `${name} must be a whole number from ${least} on${otherwise}`);
}
