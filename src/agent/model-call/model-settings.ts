import { StateError } from "../../errors.ts";
import { assertRanges } from "../../internal/option-table.ts";
import type { ModelRequest } from "../../models/model.ts";
import type { ProviderMetadata } from "../../state/message.ts";
import { AGENT_OPTIONS } from "../option-tables.ts";

/** What a model is told besides the conversation. What is left out is the provider's to choose. */
export interface ModelSettings {
  /** The longest answer, in tokens. One that is cut off there ends as `"length"`. */
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
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
  const { maxOutputTokens, temperature } = AGENT_OPTIONS;
  assertRanges(where, settings, { maxOutputTokens, temperature });
  const { providerOptions } = settings;
  if (providerOptions !== undefined && (typeof providerOptions !== "object" || providerOptions === null)) {
    throw new StateError("INVALID_ARGUMENT", `${where}: providerOptions must be an object, by provider name`);
  }
  assertToolChoice(where, settings, toolNames);
}

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

/** The settings as a part of a request; later ones win, provider options key by key. */
export function requestSettings(
  given: readonly ModelSettings[],
  hasTools: boolean,
): Pick<ModelRequest, keyof ModelSettings> {
  const { maxOutputTokens, temperature, toolChoice }: ModelSettings = Object.assign({}, ...given.map(defined));
  const providerOptions = mergedOptions(given.map((settings) => settings.providerOptions));
  return {
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    // Providers refuse a choice where there is nothing to choose from.
    ...(toolChoice !== undefined && hasTools && { toolChoice }),
    ...(providerOptions !== undefined && { providerOptions }),
  };
}

const defined = (settings: ModelSettings): object =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));

function mergedOptions(given: readonly (ProviderMetadata | undefined)[]): ProviderMetadata | undefined {
  const merged = new Map<string, object>();
  for (const options of given) {
    for (const [provider, settings] of Object.entries(options ?? {})) {
      merged.set(provider, { ...merged.get(provider), ...(settings as object) });
    }
  }
  return merged.size === 0 ? undefined : Object.fromEntries(merged);
}
