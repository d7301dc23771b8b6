import { invalid, type Names, optionsOf } from "../../driver/options.ts";
import { assertKnownOptions, described, type OptionKinds } from "../../internal/known-options.ts";
import { assertPaths } from "./index-paths.ts";
import type {
  ClearOptions,
  EmbeddingSearchOptions,
  IndexedText,
  ListNamespacesOptions,
  ListOptions,
  PutOptions,
  PutWithEmbeddingOptions,
  StoreSearchOptions,
  UpdateOptions,
  Vector,
  WriteOptions,
} from "./items.ts";
import type { StoreOptions } from "./store-access.ts";

/** The options that every factory of a store takes. */
const SHARED: OptionKinds<StoreOptions> = {
  embedder: ["object", "function"],
  embedTimeoutMs: "number",
  dimension: "number",
  index: "object",
  textWeight: "number",
  redact: "function",
  retry: "object",
  durability: "string",
  access: "string",
  sealing: "object",
};

/** Refuses an option that does not exist: a misspelt one must not be ignored silently. */
export function assertStoreOptions(factory: string, options: object, own: OptionKinds<Record<string, unknown>>): void {
  if (typeof options !== "object" || options === null) throw new TypeError(`${factory}() takes an options object`);
  assertKnownOptions(`${factory}()`, options, { ...own, ...SHARED });
}

const WRITE: Names<WriteOptions> = { expectedVersion: true, writeId: true };
const PUT: Names<PutOptions> = { ...WRITE, metadata: true, ttlSeconds: true, index: true };
const PUT_WITH_EMBEDDING: Names<PutWithEmbeddingOptions> = { ...PUT, embedding: true };
const UPDATE: Names<UpdateOptions> = { writeId: true, metadata: true, ttlSeconds: true, index: true };
const LIST: Names<ListOptions> = { limit: true, cursor: true, recursive: true, filter: true };
const CLEAR: Names<ClearOptions> = { recursive: true };
const NAMESPACES: Names<ListNamespacesOptions> = {
  limit: true,
  cursor: true,
  prefix: true,
  suffix: true,
  maxDepth: true,
};
const SEARCH: Names<StoreSearchOptions> = {
  ...LIST,
  query: true,
  mode: true,
  textWeight: true,
  threshold: true,
  signal: true,
};
const BY_EMBEDDING: Names<EmbeddingSearchOptions> = {
  query: true,
  limit: true,
  threshold: true,
  filter: true,
  recursive: true,
};

export const writeOptionsOf = (method: string, given: WriteOptions | undefined): WriteOptions =>
  optionsOf(method, given, WRITE);
export const putOptionsOf = (method: string, given: PutOptions | undefined): PutOptions =>
  optionsOf(method, given, PUT);
export const updateOptionsOf = (given: UpdateOptions | undefined): UpdateOptions => optionsOf("update", given, UPDATE);
export const listOptionsOf = (given: ListOptions | undefined): ListOptions => checked("list", given, LIST);
export const clearOptionsOf = (given: ClearOptions | undefined): ClearOptions =>
  checked("clearNamespace", given, CLEAR);
export const namespacesOptionsOf = (given: ListNamespacesOptions | undefined): ListNamespacesOptions =>
  optionsOf("listNamespaces", given, NAMESPACES);

/** A text by itself is what to look for. */
export const searchOptionsOf = (given: string | StoreSearchOptions | undefined): StoreSearchOptions =>
  typeof given === "string" ? { query: given } : checked("search", given, SEARCH);

export function embeddingSearchOptionsOf(given: EmbeddingSearchOptions): EmbeddingSearchOptions {
  if (given === undefined || isVector(given)) {
    throw invalid("searchByEmbedding() takes its options as an object: { query: vector, limit }");
  }
  return checked("searchByEmbedding", given, BY_EMBEDDING);
}

/** A vector by itself is the option it usually is. */
export function putWithEmbeddingOptionsOf(given: Vector | PutWithEmbeddingOptions): PutWithEmbeddingOptions {
  if (isVector(given)) return { embedding: given };
  if (given === undefined) throw invalid("putWithEmbedding() needs a vector: { embedding: [0.1, …] }");
  return optionsOf("putWithEmbedding", given, PUT_WITH_EMBEDDING);
}

const isVector = (given: unknown): given is Vector => Array.isArray(given) || ArrayBuffer.isView(given);

/** A `recursive: "false"` that is taken for true would clear too much. */
function checked<Options extends { readonly recursive?: boolean }>(
  method: string,
  given: Options | undefined,
  names: Names<Options>,
): Options {
  const options = optionsOf(method, given, names);
  const { recursive } = options;
  if (recursive === undefined || typeof recursive === "boolean") return options;
  throw invalid(`${method}(): recursive is true or false, not a ${typeof recursive}`);
}

const MAX_LIMIT = 1000;

export function checkedLimit(limit: number | undefined, otherwise: number): number {
  const value = limit ?? otherwise;
  if (Number.isInteger(value) && value >= 0 && value <= MAX_LIMIT) return value;
  const given = typeof limit === "number" ? String(limit) : described(limit);
  throw invalid(`limit must be a whole number from 0 to ${MAX_LIMIT}, not ${given}; page on by the cursor`);
}

/** Longer than this is for ever; less than a millisecond is a mistake. */
export const LONGEST_TTL_SECONDS: number = 10 * 366 * 86_400;

export function checkedTtlMs(ttlSeconds: number | undefined): number | undefined {
  if (ttlSeconds === undefined) return undefined;
  if (typeof ttlSeconds === "number" && ttlSeconds >= 0.001 && ttlSeconds <= LONGEST_TTL_SECONDS) {
    return Math.round(ttlSeconds * 1000);
  }
  throw invalid(`ttlSeconds must be a number from 0.001 to ${LONGEST_TTL_SECONDS}, not ${String(ttlSeconds)}`);
}

/** The form of every version; which of them there are is the storage's to know. */
export const isVersion = (given: unknown): given is string => typeof given === "string" && /^[\w-]{1,64}$/.test(given);

export function assertExpectedVersion(version: unknown): void {
  if (version === undefined || version === null || isVersion(version)) return;
  throw invalid(`expectedVersion is the version of an item, or null for "no item", not ${described(version)}`);
}

/** What plain JavaScript may pass for a batch. */
export function assertListOfObjects(method: string, shape: string, given: unknown): void {
  if (!Array.isArray(given)) throw new TypeError(`${method}() takes a list of ${shape}, not ${described(given)}`);
  const at = given.findIndex((entry) => typeof entry !== "object" || entry === null);
  if (at < 0) return;
  throw new TypeError(`${method}() takes a list of ${shape}; its entry ${at} is ${described(given[at])}`);
}

export function checkedShare(name: string, share: number | undefined): number | undefined {
  if (share === undefined || (typeof share === "number" && share >= 0 && share <= 1)) return share;
  throw invalid(`${name} must be a number from 0 to 1, not ${String(share)}`);
}

export function checkedTimeout(name: string, ms: number | undefined): number | undefined {
  if (ms === undefined || (typeof ms === "number" && ms > 0)) return ms;
  throw invalid(`${name} must be a number of milliseconds greater than 0, not ${String(ms)}`);
}

export function checkedThreshold(threshold: number | undefined): number {
  if (threshold === undefined) return Number.NEGATIVE_INFINITY;
  if (typeof threshold === "number" && threshold >= -1 && threshold <= 1) return threshold;
  throw invalid(`threshold must be a number from -1 to 1, not ${String(threshold)}`);
}

export function checkedIndex(index: unknown): false | readonly string[] | IndexedText | undefined {
  if (index === undefined || index === false) return index;
  if (Array.isArray(index)) {
    assertPaths(index);
    return index;
  }
  if (typeof index !== "object" || index === null) {
    throw invalid("index is false, a list of paths, or { text, label, before, after }");
  }
  const text = optionsOf<IndexedText>("index", index as IndexedText, INDEXED);
  for (const [name, given] of Object.entries(text)) {
    if (given !== undefined && typeof given !== "string") throw invalid(`index.${name} must be a text`);
  }
  if (text.text === undefined) throw invalid("index.text is missing: what the item says");
  return text;
}

const INDEXED: Names<IndexedText> = { text: true, label: true, before: true, after: true };
