import type { CallPlace } from "../../driver/call.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import { invalid } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import { emptied, type Rule } from "../../state/people/field-rule.ts";
import { ITEM_METADATA } from "../../state/people/personal-fields.ts";
import { redactJson } from "../../state/people/redacting.ts";
import { type Redactor, redactText } from "../../state/secrets.ts";
import { decodeText, encodeText } from "../../state/values/codec.ts";
import { assertKey, assertNamespace, encodeId, readableId } from "../driver/namespaces.ts";
import {
  type Change,
  type ChangeResult,
  MOST_CHANGES,
  type PutChange,
  type RefusedWrite,
} from "../driver/store-driver.ts";
import { writeTerms } from "../driver/write-terms.ts";
import { textsAt, textsIn } from "../items/index-paths.ts";
import { bytesOf, encodeItem } from "../items/item-codec.ts";
import type { IndexedText, PutEntry, PutResult } from "../items/items.ts";
import type { SealedBelow } from "../items/sealed-below.ts";
import type { StoreAccess } from "../items/store-access.ts";
import { assertExpectedVersion, checkedIndex, checkedTtlMs } from "../items/store-options.ts";
import { type Embedder, embed } from "../search/embedder.ts";
import { checkedVector } from "../search/vectors.ts";
import { indexedWords } from "../search/words.ts";
import type { Dimension } from "./dimension.ts";
import { VectorSource } from "./vector-source.ts";
import { assertGateIsOver, gateFor, isGate } from "./writers-gate.ts";

/** The parts of the store that writing needs. */
export interface WritingContext {
  readonly access: StoreAccess;
  readonly dimension: Dimension;
  readonly embedder: Embedder | undefined;
  readonly embedTimeoutMs: number;
  /** What is indexed where a put does not say so. */
  readonly index: readonly string[] | undefined;
  readonly redactor: Redactor | undefined;
  readonly sealedBelow: SealedBelow;
  readonly source: VectorSource;
}

/** Needed only for a store's first vectors. */
const firstVectors = new OpenOnce(() => import("./first-vectors.ts"));

const contexts = new WeakMap<object, WritingContext>();

export function noteWritingContext(store: object, context: WritingContext): void {
  contexts.set(store, context);
}

/** How this store writes; `undefined` for one that is not over a driver. */
export const writingContextOf = (store: object): WritingContext | undefined => contexts.get(store);

/** A put that is ready but for its vector, which is made for many at once. */
interface Prepared {
  readonly change: PutChange;
  readonly toEmbed: string | undefined;
}

export async function writeItems(
  context: WritingContext,
  operation: string,
  entries: readonly PutEntry[],
  /** What becomes of an item's end where the entry does not say so. */
  otherwise?: "keep",
  /** Changes of other items, made in the same step, by an erasure that writers wait for. */
  erasing?: { readonly together: readonly Change[] },
): Promise<readonly ChangeResult[]> {
  const { access } = context;
  const prepared: Prepared[] = [];
  for (const entry of entries) {
    const place = { operation, item: nameOf(entry) };
    prepared.push(await access.guard(place, () => prepare(context, entry, otherwise)));
  }
  assertDistinct(prepared.map(({ change }) => change));
  if (prepared.length > MOST_CHANGES) {
    throw invalid(`${operation}() takes at most ${MOST_CHANGES} items at once, not ${prepared.length}`);
  }
  await access.connect({ operation });
  await context.sealedBelow.assertPlain(prepared.map(({ change }) => change.namespace));
  const changes = await access.guard({ operation }, () => withVectors(context, prepared));
  const together = erasing?.together ?? gateFor(access, changes);
  const vector = changes.find((change) => change.vector !== undefined)?.vector;
  const results =
    vector === undefined
      ? await apply(access, operation, [...changes, ...together])
      : await writeVectors({
          context,
          operation,
          changes,
          together,
          length: vector.length,
          isEmbedded: prepared.some(({ toEmbed }) => toEmbed !== undefined && context.embedder !== undefined),
        });
  return results.slice(0, changes.length);
}

interface VectorWriting {
  readonly context: WritingContext;
  readonly operation: string;
  readonly changes: readonly PutChange[];
  readonly together: readonly Change[];
  readonly length: number;
  /** Whether the embedder made any of the vectors. */
  readonly isEmbedded: boolean;
}

/** Another process may note its model first, and a store that was emptied may change its model: each time, one has won. */
const MOST_SOURCES = 20;

async function writeVectors(writing: VectorWriting): Promise<readonly ChangeResult[]> {
  const { context, operation, changes, together, isEmbedded } = writing;
  for (let races = 0; ; races++) {
    const note = isEmbedded ? await context.source.note() : undefined;
    const all = [...changes, ...together];
    try {
      if (note === undefined) return await writeFitting(writing, all);
      // Before the vectors, also where the storage takes one after another: a name without vectors binds no other embedder.
      if (all.length < MOST_CHANGES) return (await writeFitting(writing, [note, ...all])).slice(1);
      await apply(context.access, operation, [note]);
      return await writeFitting(writing, all);
    } catch (error) {
      if (races === MOST_SOURCES || !VectorSource.wasOvertaken(error)) throw error;
    }
  }
}

async function writeFitting(
  { context, operation, changes, length, isEmbedded }: VectorWriting,
  all: readonly Change[],
): Promise<readonly ChangeResult[]> {
  const { access, dimension, source } = context;
  const assertFitting = async (): Promise<void> => {
    await assertOneDimension(context, operation, changes);
    if (isEmbedded) await source.assertKnown();
  };
  await assertFitting();
  if (dimension.isConfirmed) return apply(access, operation, all);
  return dimension.inTurn(async () => {
    const { writeFirstVectors } = await firstVectors.get();
    // Earlier callers in the queue have put theirs.
    await assertFitting();
    const results = await writeFirstVectors({ access, dimension, operation, assertFitting }, all);
    dimension.settle(length);
    return results;
  });
}

/** Writes all of them atomically if the storage can do that; otherwise one by one, until one is refused. */
export async function apply(
  access: StoreAccess,
  operation: string,
  changes: readonly Change[],
): Promise<readonly ChangeResult[]> {
  if (changes.length === 0) return [];
  await access.connect({ operation });
  const groups = access.driver.capabilities.transactions ? [changes] : changes.map((change) => [change]);
  const results: ChangeResult[] = [];
  for (const group of groups) {
    const [first] = group;
    const place = { operation, ...(group.length === 1 && first !== undefined && { item: readableId(first) }) };
    results.push(...(await applied(access, place, group)));
  }
  return results;
}

/** A gate that was left behind is removed, and another may be put there meanwhile. */
const MOST_GATES = 5;

async function applied(
  access: StoreAccess,
  place: CallPlace,
  group: readonly Change[],
): Promise<readonly ChangeResult[]> {
  for (let gates = 0; ; gates++) {
    const outcome = await access.write(place, group);
    if (outcome.applied) return outcome.results;
    const refused = group[outcome.index];
    if (refused === undefined || !isGate(refused) || gates === MOST_GATES) {
      throw conflict(access, place.operation, refused, outcome);
    }
    await assertGateIsOver(access, place.operation);
  }
}

export function conflict(
  access: StoreAccess,
  operation: string,
  change: Change | undefined,
  { because, version }: RefusedWrite,
): StateError {
  const { name } = access.driver;
  const item = change === undefined ? "" : readableId(change);
  const place = { backend: name, operation, item, written: "no" } as const;
  const failed = `${name}: ${operation} failed for ${item}`;
  if (because === "write key") {
    const error = new StateError(
      "CONFLICT",
      `${failed}: its write id belongs to another write, which was made; give each write an id of its own. Nothing was written`,
      place,
    );
    underTakenIds.add(error);
    return error;
  }
  const expected = change?.expected ?? null;
  const there = version === null ? "there is no item" : `version ${version} is there`;
  const wanted = expected === null ? "no item was expected" : `version ${expected} was expected`;
  return new StateError(
    "CONFLICT",
    `${failed}: ${wanted}, and ${there}. Read it again, or use update(); nothing was written`,
    { ...place, expected, actual: version },
  );
}

const underTakenIds = new WeakSet<object>();

/** Whether a write was refused because another one has its id. */
export const isOfTakenId = (error: unknown): boolean =>
  typeof error === "object" && error !== null && underTakenIds.has(error);

export const putResult = ({ version, createdAt, updatedAt, expiresAt }: ChangeResult): PutResult => ({
  // A put always has one.
  version: version ?? "",
  createdAt: new Date(createdAt),
  updatedAt: new Date(updatedAt),
  ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
});

async function prepare(context: WritingContext, given: PutEntry, otherwise: "keep" | undefined): Promise<Prepared> {
  const entry = context.redactor === undefined ? given : redactedEntry(given, context.redactor);
  const { namespace, key, value, metadata, embedding } = entry;
  assertNamespace(namespace);
  assertKey(key);
  assertExpectedVersion(entry.expectedVersion);
  const encoded = encodeItem(value, metadata);
  await assertFits(context.access, bytesOf(encoded));
  const texts = textsOf(checkedIndex(entry.index) ?? context.index, value, metadata);
  const vector = embedding === undefined ? undefined : context.dimension.wellFormed(embedding, "embedding");
  const id = { namespace: [...namespace], key };
  const ttlMs = checkedTtlMs(entry.ttlSeconds) ?? otherwise;
  const { index } = entry;
  const change: PutChange = {
    kind: "put",
    ...id,
    ...encoded,
    ...writeTerms(id, entry.writeId, { ...encoded, ttlMs, index, embedding: vector }),
    expected: entry.expectedVersion,
    words: texts && {
      text: indexedWords(texts.text),
      label: indexedWords(texts.label ?? ""),
      before: indexedWords(texts.before ?? ""),
      after: indexedWords(texts.after ?? ""),
    },
    vector,
    ttlMs,
  };
  return { change, toEmbed: vector === undefined && texts?.text.trim() !== "" ? texts?.text : undefined };
}

/** How much a remote storage takes is known after contact; until then, the least that is sure. */
async function assertFits(access: StoreAccess, bytes: number): Promise<void> {
  const { driver } = access;
  if (bytes > driver.capabilities.maxItemBytes) await access.connect({ operation: "connect" });
  const { maxItemBytes } = driver.capabilities;
  if (bytes <= maxItemBytes) return;
  throw new StateError("TOO_LARGE", `the item has ${bytes} bytes; this storage takes ${maxItemBytes}`);
}

function textsOf(
  index: false | readonly string[] | IndexedText | undefined,
  value: unknown,
  metadata: unknown,
): IndexedText | undefined {
  if (index === false) return undefined;
  if (index === undefined) return { text: textsIn(value), label: textsIn(metadata) };
  return "text" in index ? index : { text: textsAt(value, index) };
}

async function withVectors(
  { embedder, embedTimeoutMs, dimension, source }: WritingContext,
  prepared: readonly Prepared[],
): Promise<readonly PutChange[]> {
  const texts = prepared.flatMap(({ toEmbed }) => toEmbed ?? []);
  if (embedder === undefined || texts.length === 0) return prepared.map(({ change }) => change);
  await source.assertKnown();
  const vectors = [...(await embed(embedder, texts, { purpose: "store", timeoutMs: embedTimeoutMs }))];
  const changes: PutChange[] = [];
  for (const { change, toEmbed } of prepared) {
    const made = toEmbed === undefined ? undefined : vectors.shift();
    const vector = made && dimension.wellFormed(made, "the embedder's vector");
    changes.push(vector === undefined ? change : { ...change, vector });
  }
  return changes;
}

/** All vectors must have the length of existing ones; if there are no vectors yet, that of the first one. */
async function assertOneDimension(
  { access, dimension }: WritingContext,
  operation: string,
  changes: readonly PutChange[],
): Promise<void> {
  const first = changes.find(({ vector }) => vector !== undefined)?.vector;
  if (first === undefined) return;
  const length = await access.guard({ operation }, () => dimension.forVectorsOf(first.length));
  for (const change of changes) {
    const { vector } = change;
    if (vector === undefined || vector.length === length) continue;
    const place = { operation, item: readableId(change) };
    await access.guard(place, () => checkedVector(vector, "the embedding", length));
  }
}

function assertDistinct(changes: readonly PutChange[]): void {
  const seen = new Set<string>();
  for (const change of changes) {
    const id = encodeId(change);
    if (seen.has(id)) throw invalid(`${readableId(change)} is in the list twice; which of the two is meant?`);
    seen.add(id);
  }
}

const nameOf = ({ namespace, key }: PutEntry): string => {
  const isNamed = Array.isArray(namespace) && [...namespace, key].every((name) => typeof name === "string");
  return isNamed ? readableId({ namespace, key }) : "an item without a name";
};

/** A put as the redactor leaves it: what is indexed and embedded is made from that, and knows no more. */
function redactedEntry(entry: PutEntry, redactor: Redactor): PutEntry {
  const { value, metadata, index } = entry;
  const isText = typeof index === "object" && index !== null && "text" in index;
  return {
    ...entry,
    value: redacted(value, "value", emptied, redactor),
    ...(metadata !== undefined && { metadata: redacted(metadata, "metadata", ITEM_METADATA, redactor) }),
    ...(isText && { index: redactedTexts(index, redactor) }),
  };
}

function redacted<Value>(value: Value, name: string, rule: Rule, redactor: Redactor): Value {
  if (value === undefined) return value;
  const text = encodeText(value, name);
  const clean = redactJson(text, rule, redactor);
  return clean === text ? value : (decodeText(clean, name) as Value);
}

const redactedTexts = (index: IndexedText, redactor: Redactor): IndexedText => {
  const clean = Object.entries(index).map(([name, text]) => [
    name,
    typeof text === "string" ? redactText(text, redactor) : text,
  ]);
  return Object.fromEntries(clean) as IndexedText;
};
