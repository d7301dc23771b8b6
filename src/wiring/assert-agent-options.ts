import { AGENT_OPTIONS } from "../agent/option-tables.ts";
import { described } from "../internal/known-options.ts";
import { assertKinds } from "../internal/option-table.ts";
import { isAiSdkModel } from "../providers/ai-sdk/index.ts";
import { parseModelString } from "../providers/strings.ts";

/** Refuses wrong options when the agent is made, each with what to write instead. */
export function assertAgentOptions(options: unknown): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(
      `new Agent() takes an options object, not ${described(options)}. Write new Agent({ model: "openai:gpt-5" })`,
    );
  }
  assertKinds("new Agent()", options, AGENT_OPTIONS);
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
