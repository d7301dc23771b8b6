import { assertKnownOptions, described, type OptionKinds } from "../internal/known-options.ts";
import { isAiSdkModel } from "../providers/ai-sdk/index.ts";
import { parseModelString } from "../providers/strings.ts";
import type { AgentOptions } from "./agent.ts";

const OPTIONS: OptionKinds<AgentOptions> = {
  model: "anything",
  tools: "anything",
  checkpointer: "anything",
  systemPrompt: "string",
  checkpointEveryNIterations: ["number", "string"],
  toolConcurrency: "number",
  maxToolResultChars: "number",
  memory: "object",
  conversation: "object",
  hooks: "object",
  outputSchema: ["object", "function"],
  maxOutputRepairs: "number",
  lease: ["boolean", "object"],
  whenBusy: "string",
  saveRetryMs: "number",
  now: "function",
  maxIterations: "number",
  tokenBudget: "number",
  timeBudgetMs: "number",
  toolLoopThreshold: "number",
  stopWhen: "function",
  name: "string",
  prices: "object",
  fallbackModels: "object",
  prepareStep: "function",
  maxOutputTokens: "number",
  temperature: "number",
  toolChoice: ["string", "object"],
  providerOptions: "object",
};

/** Refuses wrong options when the agent is made, each with what to write instead. */
export function assertAgentOptions(options: unknown): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(
      `new Agent() takes an options object, not ${described(options)}. Write new Agent({ model: "openai:gpt-5" })`,
    );
  }
  assertKnownOptions("new Agent()", options, OPTIONS);
  const { model, fallbackModels = [] } = options as { model?: unknown; fallbackModels?: unknown };
  assertModel("new Agent({ model })", model);
  if (!Array.isArray(fallbackModels)) throw new TypeError("new Agent({ fallbackModels }) takes a list of models");
  for (const fallback of fallbackModels) assertModel("new Agent({ fallbackModels })", fallback);
}

export function assertModel(where: string, model: unknown): void {
  if (typeof model === "string") return void parseModelString(model);
  if (isAiSdkModel(model)) return;
  const isOwn = typeof model === "object" && model !== null && "stream" in model && typeof model.stream === "function";
  if (isOwn) {
    if ("id" in model && typeof model.id === "string" && model.id !== "") return;
    throw new TypeError(`${where}: a model of your own needs an id, such as { id: "acme:large", stream() { … } }`);
  }
  const advice = typeof model === "function" ? '. A provider is called with a name: openai("gpt-5")' : "";
  throw new TypeError(
    `${where}: model must be a name like "openai:gpt-5", an AI SDK language model, or an object with stream(), not ${described(model)}${advice}`,
  );
}
