import type { ProviderMetadata, ReasoningPart } from "../../state/message.ts";

/**
 * What the adapter has to remember with a part lies beside the providers'
 * metadata under a name of its own. No provider ever sees it.
 */
const OWN = "holdfast";

interface OwnNotes {
  /** The part came after this call. In a message, calls stand behind all parts; providers want their order back. */
  readonly afterToolCall?: string;
  readonly kept?: KeptPart;
}

/** Something that only its own provider understands, and wants back: `family` is that provider. */
export type KeptPart = { readonly family: string } & (
  | { readonly kind: "tool-call"; readonly id: string; readonly name: string; readonly arguments: unknown }
  | {
      readonly kind: "tool-result";
      readonly id: string;
      readonly name: string;
      readonly result: unknown;
      readonly isError: boolean;
    }
  | { readonly kind: "custom"; readonly name: string }
  | { readonly kind: "reasoning-file" }
);

/** `openai` for `openai.responses`: the provider, whatever interface of it a model uses. */
export const familyOf = (provider: string): string => provider.split(".", 1)[0] ?? provider;

export function ownNotes(metadata: ProviderMetadata | undefined): OwnNotes {
  return (metadata?.[OWN] ?? {}) as OwnNotes;
}

export function withOwnNotes(metadata: ProviderMetadata | undefined, notes: OwnNotes): ProviderMetadata {
  return { ...metadata, [OWN]: { ...ownNotes(metadata), ...notes } };
}

/** A part without words that carries what our format has no part for. */
export const keptPart = (kept: KeptPart, metadata: ProviderMetadata | undefined): ReasoningPart => ({
  type: "reasoning",
  text: "",
  providerMetadata: withOwnNotes(metadata, { kept }),
});

/** What goes back to a provider, ready to be spread: nothing when nothing but our notes is there. */
export function asProviderOptions(...metadata: readonly (ProviderMetadata | undefined)[]): {
  providerOptions?: ProviderMetadata;
} {
  const { [OWN]: _, ...options } = mergeMetadata(...metadata);
  return Object.keys(options).length === 0 ? {} : { providerOptions: options };
}

/** Later ones win, provider by provider and key by key. */
export function mergeMetadata(...metadata: readonly (ProviderMetadata | undefined)[]): ProviderMetadata {
  const merged = new Map<string, unknown>();
  for (const [name, value] of metadata.flatMap((one) => Object.entries(one ?? {}))) {
    const before = merged.get(name);
    merged.set(name, isRecord(before) && isRecord(value) ? { ...before, ...value } : value);
  }
  return Object.fromEntries(merged);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
