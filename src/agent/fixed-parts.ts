import { assertLeaseOptions } from "../checkpoint/lease/lease.ts";
import { assertRanges, given } from "../internal/option-table.ts";
import { readySchema } from "../models/schema.ts";
import type { CoreAgentOptions } from "./agent-options.ts";
import { assertHooks, assertMethods, assertWhenBusy } from "./assert-run-options.ts";
import { assertModelSettings, settingsIn } from "./model-call/model-settings.ts";
import { assertPrices } from "./model-call/prices.ts";
import { AGENT_OPTIONS } from "./option-tables.ts";
import { NO_MEMORY, WHOLE_CONVERSATION } from "./ports.ts";
import type { AgentParts, RuntimeFor } from "./run/run-context.ts";

/** What can be said of an agent before its first run: a wrong option is refused when the agent is made. */
export type FixedParts = Omit<AgentParts, "model" | "tools" | "telemetry">;

type AnyOptions = Omit<CoreAgentOptions<never>, "runtimeFor"> & { readonly runtimeFor?: RuntimeFor };

export function fixedParts(options: AnyOptions): FixedParts {
  assertRanges("new Agent()", options, AGENT_OPTIONS);
  const every = given(options, AGENT_OPTIONS, "checkpointEveryNIterations");
  const { lease, whenBusy, outputSchema } = options;
  if (typeof lease === "object") assertLeaseOptions(lease);
  assertWhenBusy("Agent()", whenBusy);
  const { hooks = {}, memory = NO_MEMORY, conversation = WHOLE_CONVERSATION } = options;
  assertHooks(hooks);
  if (options.prices !== undefined) assertPrices(options.prices);
  const settings = settingsIn(options);
  assertModelSettings(
    "new Agent()",
    settings,
    (options.tools ?? []).map(({ name }) => name),
  );
  assertMethods("Agent({ memory })", memory, ["recall", "remember"]);
  assertMethods("Agent({ conversation })", conversation, ["shape"]);
  return {
    systemPrompt: options.systemPrompt as FixedParts["systemPrompt"],
    saveEvery: every === "end" ? Number.POSITIVE_INFINITY : every,
    toolConcurrency: given(options, AGENT_OPTIONS, "toolConcurrency"),
    maxResultChars: given(options, AGENT_OPTIONS, "maxToolResultChars"),
    memory,
    conversation,
    hooks,
    settings,
    prepareStep: options.prepareStep,
    output: outputSchema === undefined ? undefined : readySchema(outputSchema, "outputSchema"),
    maxOutputRepairs: given(options, AGENT_OPTIONS, "maxOutputRepairs"),
    saveRetryMs: given(options, AGENT_OPTIONS, "saveRetryMs"),
    prices: options.prices,
    runtimeFor: options.runtimeFor,
    agentName: options.name,
    now: options.now ?? Date.now,
    runClock: options.now ?? (() => performance.now()),
  };
}
