import { newId } from "../../driver/ids.ts";
import { encodeNamespace } from "../../store/driver/namespaces.ts";
import {
  type Change,
  type ChangeResult,
  type PutChange,
  type RefusedWrite,
  WRITES_REMEMBERED_MS,
  type WriteOutcome,
} from "../../store/driver/store-driver.ts";
import { countWords } from "../../store/search/bm25.ts";
import type { Answer, Asking } from "./ask.ts";
import { type Binds, number, OUT_NUMBER, OUT_TEXT, text, vector } from "./binds.ts";
import { SHORT_TEXT_BYTES } from "./layout.ts";
import { NO_ITEM, TAKEN_KEY, type WriteShape, writeBlock } from "./store-block.ts";
import { isUnindexableItem } from "./store-dialect.ts";
import { bucketOf, type StoreTables } from "./store-layout.ts";

/** How many changes one block makes: nearly every write is one call, and the size of a block is limited. */
const MOST_IN_BLOCK = 16;

/**
 * One call if the changes fit into a block. Otherwise all are checked first, block
 * by block, and then made, all in one transaction.
 */
export async function writeChanges(
  asking: Asking,
  tables: StoreTables,
  changes: readonly Change[],
  hasVectors: boolean,
): Promise<WriteOutcome> {
  const chunks = chunksOf(changes);
  const results: ChangeResult[] = [];
  const isOne = chunks.length === 1;
  for (const phase of isOne ? (["both"] as const) : (["check", "apply"] as const)) {
    for (const [index, chunk] of chunks.entries()) {
      const shape: WriteShape = {
        locks: index === 0 && phase !== "apply",
        checks: phase !== "apply",
        applies: phase !== "check",
        kinds: chunk.map(({ kind }) => kind),
        hasVectors,
      };
      const commits = phase !== "check" && index === chunks.length - 1;
      const { out } = await asking.ask(writeBlock(tables, shape), bindsOf(shape, changes, chunk), commits);
      const refused = Number(out["b_refused"]);
      if (refused > 0) {
        return refusedAt(index * MOST_IN_BLOCK + refused - 1, String(out["b_version"]));
      }
      if (shape.applies) results.push(...chunk.map((_, at) => resultOf(out, at + 1)));
    }
  }
  return { applied: true, results };
}

const refusedAt = (index: number, version: string): RefusedWrite =>
  version === TAKEN_KEY
    ? { applied: false, index, because: "write key", version: null }
    : { applied: false, index, because: "version", version: version === NO_ITEM ? null : version };

const chunksOf = (changes: readonly Change[]): readonly (readonly Change[])[] =>
  Array.from({ length: Math.ceil(changes.length / MOST_IN_BLOCK) }, (_, index) =>
    changes.slice(index * MOST_IN_BLOCK, (index + 1) * MOST_IN_BLOCK),
  );

function bindsOf(shape: WriteShape, all: readonly Change[], chunk: readonly Change[]): Binds {
  const each = chunk.map((change, index) => ({
    ...nameBinds(change, index + 1),
    ...(shape.checks && { [`b_expected_${index + 1}`]: text(change.expected === null ? NO_ITEM : change.expected) }),
    ...(shape.applies && applyBinds(change, index + 1, shape.hasVectors)),
  }));
  return Object.assign(
    { b_refused: OUT_NUMBER },
    shape.checks && { b_version: OUT_TEXT },
    shape.locks && { b_buckets: text(JSON.stringify([...new Set(all.map(bucketOf))])) },
    shape.applies && { b_remembered: number(WRITES_REMEMBERED_MS / 1000) },
    ...each,
  ) as Binds;
}

const nameBinds = ({ namespace, key, writeKey, digest }: Change, place: number): Binds => ({
  [`b_namespace_${place}`]: text(encodeNamespace(namespace)),
  [`b_key_${place}`]: text(key),
  [`b_write_key_${place}`]: text(writeKey),
  [`b_digest_${place}`]: text(digest),
});

const RESULTS = ["version", "created", "updated", "expires", "repeated"] as const;

const applyBinds = (change: Change, place: number, hasVectors: boolean): Binds => ({
  [`b_bucket_${place}`]: number(bucketOf(change)),
  ...Object.fromEntries(
    RESULTS.map((result) => [`b_${result}_${place}`, result === "version" ? OUT_TEXT : OUT_NUMBER]),
  ),
  ...(change.kind === "put" && putBinds(change, place, hasVectors)),
});

function putBinds(change: PutChange, place: number, hasVectors: boolean): Binds {
  const { value, metadata, ttlMs, words } = change;
  const [isLongValue, isLongMetadata] = [isLong(value), isLong(metadata ?? "")];
  const { counts, length } = words === undefined ? { counts: new Map<string, number>(), length: 0 } : countWords(words);
  return {
    [`b_id_${place}`]: text(newId()),
    [`b_new_version_${place}`]: text(change.version),
    [`b_ttl_${place}`]: number(typeof ttlMs === "number" ? ttlMs / 1000 : null),
    [`b_keeps_${place}`]: number(ttlMs === "keep" ? 1 : 0),
    [`b_value_${place}`]: text(isLongValue ? null : value),
    [`b_metadata_${place}`]: text(isLongMetadata ? null : metadata),
    [`b_lengthy_${place}`]: number(isLongValue || isLongMetadata ? 1 : 0),
    [`b_unindexed_${place}`]: number(isUnindexableItem(value, metadata) ? 1 : null),
    [`b_word_count_${place}`]: number(length),
    [`b_long_value_${place}`]: text(isLongValue ? value : null),
    [`b_long_metadata_${place}`]: text(isLongMetadata ? metadata : null),
    [`b_words_${place}`]: text(counts.size === 0 ? null : JSON.stringify(storedCounts(counts))),
    ...(hasVectors && { [`b_vector_${place}`]: vector(change.vector) }),
  };
}

const isLong = (given: string): boolean => Buffer.byteLength(given) > SHORT_TEXT_BYTES;

const MOST_WORD_CHARACTERS = 250;

/** A word as it is stored, and as it is looked up. Never cuts a character in half. */
export const storedWord = (word: string): string =>
  word.length <= MOST_WORD_CHARACTERS ? word : word.slice(0, MOST_WORD_CHARACTERS).replace(/[\ud800-\udbff]$/, "");

/** Two words that are equal after shortening count together. */
function storedCounts(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  const stored = new Map<string, number>();
  for (const [word, weight] of counts) stored.set(storedWord(word), (stored.get(storedWord(word)) ?? 0) + weight);
  return [...stored];
}

function resultOf(out: Answer["out"], place: number): ChangeResult {
  const [version, createdAt, updatedAt, expires, repeated] = RESULTS.map((result) => out[`b_${result}_${place}`]);
  return {
    version: typeof version === "string" ? version : null,
    createdAt: Math.round(Number(createdAt)),
    updatedAt: Math.round(Number(updatedAt)),
    expiresAt: typeof expires === "number" ? Math.round(expires) : undefined,
    repeated: repeated === 1,
  };
}
