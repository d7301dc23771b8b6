import { StateError } from "../../errors.ts";
import type { OptionKinds } from "../../internal/known-options.ts";
import { assertRanges } from "../../internal/option-table.ts";
import type { ModelRequest } from "../../models/model.ts";
import type { ProviderMetadata } from "../../state/message.ts";
import { AGENT_OPTIONS } from "../option-tables.ts";

/** What a model is told besides the conversation. What is left out is the provider's to choose. */
export interface ModelSettings {
  /** The longest answer, in tokens. One that is cut off there ends as `"length"`. */
  readonly maxOutputTokens?: number;
  /** Passed to the model. */
  readonly temperature?: number;
  /** Passed to the model. */
  readonly topP?: number;
  /** The answer ends before the first of these texts. */
  readonly stopSequences?: readonly string[];
  /** The same seed and the same request give the same answer, as far as the provider can do that. */
  readonly seed?: number;
  /** How long one request to the model may take, to the last word of its answer. One that takes longer failed: it is tried again. @default no limit */
  readonly modelTimeoutMs?: number;
  /**
   * Whether the model may, must or must not call tools, or which one it must call. Where it must, it must in every
   * step: change that in `prepareStep`, or end with a `terminal` tool.
   */
  readonly toolChoice?: ToolChoice;
  /** Passed to the provider as it is, by provider name: `{ openai: { reasoningEffort: "low" } }`. */
  readonly providerOptions?: ProviderMetadata;
}

export type ToolChoice = NonNullable<ModelRequest["toolChoice"]>;

const CHOICES: ReadonlySet<unknown> = new Set(["auto", "none", "required"]);

/** Refuses settings of a step that no provider would take, and a choice of a tool that is not offered. */
export function assertModelSettings(where: string, settings: ModelSettings, toolNames: readonly string[]): void {
  const { maxOutputTokens, temperature, topP, seed, modelTimeoutMs } = AGENT_OPTIONS;
  assertRanges(where, settings, { maxOutputTokens, temperature, topP, seed, modelTimeoutMs });
  const { providerOptions, stopSequences } = settings;
  if (stopSequences !== undefined && !isListOfTexts(stopSequences)) {
    throw new StateError("INVALID_ARGUMENT", `${where}: stopSequences must be a list of texts, none of them empty`);
  }
  if (providerOptions !== undefined && (typeof providerOptions !== "object" || providerOptions === null)) {
    throw new StateError("INVALID_ARGUMENT", `${where}: providerOptions must be an object, by provider name`);
  }
  assertToolChoice(where, settings, toolNames);
}

const isListOfTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((text) => typeof text === "string" && text !== "");

export function assertToolChoice(where: string, { toolChoice }: ModelSettings, toolNames: readonly string[]): void {
  if (toolChoice === undefined || CHOICES.has(toolChoice)) return;
  const { name } = (typeof toolChoice === "object" && toolChoice !== null ? toolChoice : {}) as { name?: unknown };
  if (typeof name !== "string") {
    const forms = '"auto", "none", "required" or { name: "the tool\'s name" }';
    throw new StateError("INVALID_ARGUMENT", `${where}: toolChoice must be ${forms}`);
  }
  if (toolNames.includes(name)) return;
  const offered = toolNames.length === 0 ? "there are none" : `there are ${toolNames.join(", ")}`;
  throw new StateError(
    "INVALID_ARGUMENT",
    `${where}: toolChoice names ${JSON.stringify(name)}, which is no tool; ${offered}`,
  );
}

/** The kinds of the settings, by name. */
export const SETTINGS: OptionKinds<ModelSettings> = {
  maxOutputTokens: "number",
  temperature: "number",
  topP: "number",
  stopSequences: "object",
  seed: "number",
  modelTimeoutMs: "number",
  toolChoice: ["string", "object"],
  providerOptions: "object",
};

/** The settings among other options, without those that are `undefined`. */
export const settingsIn = (options: ModelSettings): ModelSettings =>
  Object.fromEntries(Object.entries(options).filter(([name, value]) => name in SETTINGS && value !== undefined));

/** The part of a request that the settings are; later ones win, provider options key by key. */
export function requestSettings(given: readonly ModelSettings[], hasTools: boolean): Partial<ModelRequest> {
  const merged: ModelSettings = Object.assign({}, ...given.map(settingsIn));
  const { toolChoice, providerOptions: _, modelTimeoutMs, ...settings } = merged;
  const providerOptions = mergedOptions(given.map((each) => each.providerOptions));
  return {
    ...settings,
    ...(modelTimeoutMs !== undefined && { timeoutMs: modelTimeoutMs }),
    // Providers refuse a choice where there is nothing to choose from.
    ...(toolChoice !== undefined && hasTools && { toolChoice }),
    ...(providerOptions !== undefined && { providerOptions }),
  };
}

function mergedOptions(given: readonly (ProviderMetadata | undefined)[]): ProviderMetadata | undefined {
  const merged = new Map<string, object>();
  for (const options of given) {
    for (const [provider, settings] of Object.entries(options ?? {})) {
      merged.set(provider, { ...merged.get(provider), ...(settings as object) });
    }
  }
  return merged.size === 0 ? undefined : Object.fromEntries(merged);
}
