import { OpenOnce } from "../driver/open-once.ts";
import { reasonOf, StateError } from "../errors.ts";
import { assertKnownOptions, described, type OptionKinds } from "../internal/known-options.ts";
import { redact } from "../internal/redact.ts";
import { CoreMemory, type MemoryDecision } from "../memory/core-memory.ts";
import type { ExtractFunction, Extractor } from "../memory/extractor.ts";
import { InBackground } from "../memory/in-background.ts";
import { MEMORY_TYPES } from "../memory/memory.ts";
import { HALF_LIFE_DAYS, type HalfLives } from "../memory/worth.ts";
import type { Model } from "../models/model.ts";
import type { AiSdkModel } from "../providers/ai-sdk/index.ts";
import { BaseStore } from "../store/base-store.ts";
import { assertNamespace } from "../store/driver/namespaces.ts";
import type { Namespace } from "../store/driver/store-driver.ts";
import { checkedTimeout } from "../store/items/store-options.ts";
import { resolveModel } from "./agent.ts";

export interface LLMMemoryManagerOptions {
  /** Where memories are kept. */
  readonly store: BaseStore;
  /** The model that extracts facts from conversations: a name ("openai:gpt-5-mini"), an AI SDK model or a `Model`. */
  readonly model?: string | Model | AiSdkModel;
  /** Instead of a model: your own function, or `heuristicExtractor()`, which needs no model. */
  readonly extract?: ExtractFunction | Extractor;
  /** How long one extraction may take; after that it failed, and is tried again with the next turn. @default 120_000 */
  readonly extractTimeoutMs?: number;
  /**
   * Where in the store memories lie: a prefix below which each person, and each
   * thread whose runs name no one, has a place of its own. A function gives
   * the prefix for a run's metadata, so that tenants are apart. @default ["memory"]
   */
  readonly namespacePrefix?: Namespace | ((metadata: Readonly<Record<string, unknown>>) => Namespace);
  /**
   * The most memories kept for one person. Beyond that, those that no longer hold go
   * first, then the least important. @default 200
   */
  readonly maxMemories?: number;
  /** The most memories shown to a model. @default 5 */
  readonly retrieveLimit?: number;
  /** Every memory waits for `approve` before it is recalled. @default false: only doubtful ones wait */
  readonly review?: boolean;
  /**
   * Half-life in days, by type: a memory that was neither said again nor used for
   * so long counts half. @default { project: 90, reference: 180 }
   */
  readonly halfLifeDays?: Partial<HalfLives>;
  /** Answers do not wait for extraction. Call `await memory.settled()` before the process ends. @default false */
  readonly background?: boolean;
  /** Receives failures in the background. @default a process warning */
  readonly onError?: (error: unknown) => void;
  /** Receives what became of every finding, including the refused ones. */
  readonly onDecision?: (decision: MemoryDecision) => void;
  /** @default Date.now */
  readonly now?: () => number;
}

const OPTIONS: OptionKinds<LLMMemoryManagerOptions> = {
  store: "anything",
  model: "anything",
  extract: ["function", "object"],
  extractTimeoutMs: "number",
  namespacePrefix: ["object", "function"],
  maxMemories: "number",
  retrieveLimit: "number",
  review: "boolean",
  halfLifeDays: "object",
  background: "boolean",
  onError: "function",
  onDecision: "function",
  now: "function",
};

/** Long-term memory of people on any store: `new Agent({ memory: new LLMMemoryManager({ store, model }) })`. */
export class LLMMemoryManager extends CoreMemory {
  constructor(options: LLMMemoryManagerOptions) {
    assertOptions(options);
    const { store, namespacePrefix = ["memory"], maxMemories = 200, retrieveLimit = 5, review = false } = options;
    const { halfLifeDays = {}, onDecision = () => undefined, now = Date.now } = options;
    const { background = false, onError = warnOfFailure } = options;
    super({
      store,
      extractor: extractorOf(options),
      extractTimeoutMs: checkedTimeout("extractTimeoutMs", options.extractTimeoutMs) ?? 120_000,
      prefixOf: prefixFor(namespacePrefix),
      maxMemories,
      retrieveLimit,
      review,
      halfLives: { ...HALF_LIFE_DAYS, ...halfLifeDays },
      now,
      onDecision,
      background: background ? new InBackground(onError) : undefined,
    });
  }
}

type Prefix = NonNullable<LLMMemoryManagerOptions["namespacePrefix"]>;

function prefixFor(prefix: Prefix): (metadata: Readonly<Record<string, unknown>>) => Namespace {
  if (typeof prefix === "function") return prefix;
  assertNamespace(prefix);
  return () => prefix;
}

const warnOfFailure = (error: unknown): void =>
  process.emitWarning(`holdfast: what was said could not be read for memories: ${redact(reasonOf(error))}`);

function extractorOf({ model, extract }: LLMMemoryManagerOptions): Extractor {
  if (typeof extract === "function") return { name: "function", extract };
  if (extract !== undefined) return extract;
  if (model === undefined) {
    throw new TypeError(
      'new LLMMemoryManager() needs a model, such as "openai:gpt-5-mini", or extract; extract: heuristicExtractor() needs no model',
    );
  }
  const name = nameOf(model);
  const opened = new OpenOnce(async () => {
    const { modelExtractor } = await import("../memory/model-extractor.ts");
    const resolved = new OpenOnce(() => resolveModel(model));
    return modelExtractor(() => resolved.get(), name);
  });
  return { name, extract: async (request) => (await opened.get()).extract(request) };
}

const nameOf = (model: string | Model | AiSdkModel): string =>
  typeof model === "string" ? model : "modelId" in model ? String(model.modelId) : model.id;

function assertOptions(options: LLMMemoryManagerOptions): void {
  const where = "new LLMMemoryManager()";
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(
      `${where} takes an options object, not ${described(options)}. Write ${where.slice(0, -1)}{ store, model })`,
    );
  }
  assertKnownOptions(where, options, OPTIONS);
  const { store, model, extract, maxMemories, retrieveLimit } = options;
  if (!BaseStore.is(store)) {
    throw new TypeError(`${where}: store must be a store, as openStore() gives one, not ${described(store)}`);
  }
  if (model !== undefined && extract !== undefined) {
    throw new StateError("INVALID_ARGUMENT", `${where} takes a model or extract, not both`);
  }
  for (const [type, days] of Object.entries(options.halfLifeDays ?? {})) {
    if (Object.hasOwn(HALF_LIFE_DAYS, type) && days > 0) continue;
    throw new StateError(
      "INVALID_ARGUMENT",
      `${where}: halfLifeDays takes days greater than 0 for ${MEMORY_TYPES.join(", ")}`,
    );
  }
  assertWithin(where, { maxMemories }, 5_000);
  assertWithin(where, { retrieveLimit }, 100);
}

function assertWithin(where: string, named: Readonly<Record<string, number | undefined>>, most: number): void {
  for (const [name, value] of Object.entries(named)) {
    if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= most)) continue;
    throw new StateError("INVALID_ARGUMENT", `${where}: ${name} must be a whole number from 1 to ${most}`);
  }
}
