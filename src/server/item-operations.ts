import { assertWriteId } from "../driver/ids.ts";
import { isPlainObject } from "../driver/options.ts";
import { decodeText, type JsonValue } from "../state/values/codec.ts";
import { assertKey, assertNamespace, encodeId } from "../store/driver/namespaces.ts";
import {
  type Change,
  type ItemId,
  MOST_CHANGES,
  type Namespace,
  type PutChange,
  type Scope,
} from "../store/driver/store-driver.ts";
import { isVersion } from "../store/items/store-options.ts";
import { parseFilter, WRITTEN_OUT } from "../store/search/filter.ts";
import { projectFields } from "../store/search/item-fields.ts";
import { checkedVector } from "../store/search/vectors.ts";
import { MOST_WORDS } from "../store/search/words.ts";
import { Fields } from "../wire/fields.ts";
import {
  foundItemJson,
  hitJson,
  itemJson,
  type RankedAnswer,
  type ReadPut,
  readChange,
  readId,
  storeCapabilitiesJson,
  vectorFrom,
  vectorText,
} from "../wire/item-messages.ts";
import type { ItemOperation } from "../wire/item-routes.ts";
import { faultInShape, type JsonLimits } from "../wire/json-shape.ts";
import { ABSENT } from "../wire/messages.ts";
import { MAX_PAGE_ITEMS } from "../wire/protocol.ts";
import type { AdmittedRequest } from "./operations.ts";
import { type Answer, jsonAnswer } from "./request/answers.ts";
import { asRefusal, Refusal } from "./request/refusal.ts";
import type { TenantStore } from "./tenants/tenant-store.ts";
import { assertNoUnseenHoldOnItems } from "./tenants/unseen-holds.ts";

export interface ItemRequest extends AdmittedRequest {
  /** The tenant's items. */
  readonly store: TenantStore;
}

/** One for each line of the route table that is about items. What they may touch is in `store`, which sees one tenant. */
export const OPERATE_ON_ITEMS: Readonly<Record<ItemOperation, (request: ItemRequest) => Promise<Answer>>> = {
  itemCapabilities: async ({ store }) => jsonAnswer(storeCapabilitiesJson(await store.capabilities())),
  itemClock: async ({ store }) => jsonAnswer({ now: await store.now() }),

  writeItems: async ({ store, body, principal }) => {
    const changes = changesIn(body);
    if (!principal.scopes.has("items:delete")) assertOnlyAdds(changes);
    if (changes.some(({ kind }) => kind === "remove")) await assertNoUnseenHoldOnItems(store, principal);
    return outcomeAnswer(store, changes);
  },

  removeItems: async ({ store, body, principal }) => {
    const changes = changesIn(body);
    if (!changes.every(({ kind }) => kind === "remove")) {
      throw new Refusal("INVALID_ARGUMENT", "this removes items; to put them is another request");
    }
    await assertNoUnseenHoldOnItems(store, principal);
    return outcomeAnswer(store, changes);
  },

  clearItems: async ({ store, body, principal }) => {
    await assertNoUnseenHoldOnItems(store, principal);
    const fields = fieldsIn(body, QUESTION).only("namespace", "recursive", "before", "limit");
    const scope = { namespace: namespaceIn(fields, "namespace"), recursive: fields.flag("recursive") };
    return jsonAnswer({ count: await store.clear(scope, fields.number("before"), limitIn(fields)) });
  },

  readItems: async ({ store, body }) => {
    const fields = fieldsIn(body, LIST).only("ids");
    const ids = fields.objects("ids").map((each) => idIn(each.only("namespace", "key")));
    if (ids.length > MOST_CHANGES) throw new Refusal("INVALID_ARGUMENT", `at most ${MOST_CHANGES} items at once`);
    return jsonAnswer({ items: (await store.read(ids)).map(foundItemJson) });
  },

  scanItems: async ({ store, body }) => {
    const fields = fieldsIn(body, QUESTION).only(...SCOPE, "after");
    const after = fields.optionalObject("after")?.only("namespace", "key");
    const { items, more } = await store.scan(scopeIn(fields), after && idIn(after), limitIn(fields));
    return jsonAnswer({ items: items.map(itemJson), more });
  },

  listNamespaces: async ({ store, body }) => {
    const fields = fieldsIn(body, QUESTION).only("prefix", "after", "limit");
    const after = fields.has("after") ? fields.texts("after") : undefined;
    if (after !== undefined) asRefusal(() => assertNamespace(after));
    const namespaces = await store.namespaces(namespaceIn(fields, "prefix"), after, limitIn(fields));
    return jsonAnswer({ namespaces });
  },

  searchItems: async ({ store, body }) => {
    const fields = fieldsIn(body, QUESTION).only(...SCOPE, "words");
    const words = fields.texts("words");
    if (words.length > MOST_WORDS) throw new Refusal("INVALID_ARGUMENT", `a search takes at most ${MOST_WORDS} words`);
    if (!words.every(isWord)) throw new Refusal("INVALID_ARGUMENT", "a word is letters, digits and _");
    return rankedAnswer(await store.searchText(scopeIn(fields), words, limitIn(fields)));
  },

  nearestItems: async ({ store, body }) => {
    const fields = fieldsIn(body, QUESTION).only(...SCOPE, "vector");
    const vector = vectorIn(fields.text("vector"));
    return rankedAnswer(await store.searchVector(scopeIn(fields), vector, limitIn(fields)));
  },

  readVector: async ({ store, body }) => {
    const vector = await store.readVector(idIn(fieldsIn(body, QUESTION).only("namespace", "key")));
    return jsonAnswer(vector === undefined ? ABSENT : { found: true, vector: vectorText(vector) });
  },

  vectorDimension: async ({ store, body }) => {
    const dimension = await store.dimension(namespaceIn(fieldsIn(body, QUESTION).only("namespace"), "namespace"));
    return jsonAnswer(dimension === undefined ? ABSENT : { found: true, dimension });
  },
};

/** A scope, a filter as deep as one may be written out, and a list of words. */
const QUESTION: JsonLimits = { depth: 2 * WRITTEN_OUT.depth, values: 10_000 };
/** Of names, or of changes with their fields. */
const LIST: JsonLimits = { depth: 5, values: 50 * MOST_CHANGES };
/** As deep as the text of any value that the library takes; how many parts it has, its bytes limit. */
const VALUE: JsonLimits = { depth: 2000, values: Number.POSITIVE_INFINITY };

const SCOPE = ["namespace", "recursive", "filter", "limit"];

const fieldsIn = (body: Uint8Array, limits: JsonLimits): Fields =>
  Fields.parse(Buffer.from(body).toString("utf8"), "the body", limits);

async function outcomeAnswer(store: TenantStore, changes: readonly Change[]): Promise<Answer> {
  const outcome = await store.write(changes);
  return jsonAnswer(outcome, outcome.applied ? 200 : 409);
}

const rankedAnswer = ({ hits, rest }: RankedAnswer): Answer =>
  jsonAnswer({
    hits: hits.map(hitJson),
    rest: rest.map(({ id: { namespace, key }, score }) => ({ namespace, key, score })),
  });

/** Checks hand-made requests for what the library guarantees in its own. */
function changesIn(body: Uint8Array): readonly Change[] {
  const changes = fieldsIn(body, LIST).only("changes").objects("changes").map(changeIn);
  if (changes.length === 0 || changes.length > MOST_CHANGES) {
    throw new Refusal("INVALID_ARGUMENT", `from 1 to ${MOST_CHANGES} changes are taken at once`);
  }
  for (const names of [changes.map(encodeId), changes.map(({ writeKey }) => writeKey)]) {
    if (new Set(names).size === names.length) continue;
    throw new Refusal("INVALID_ARGUMENT", "changes are of different items, and each has a writeKey of its own");
  }
  return changes;
}

function changeIn(fields: Fields): Change {
  const change = readChange(fields);
  assertId(change);
  asRefusal(() => assertWriteId(change.writeKey));
  for (const name of [
    change.digest,
    change.expected ?? undefined,
    change.kind === "put" ? change.version : undefined,
  ]) {
    if (name === undefined || isVersion(name)) continue;
    throw new Refusal("INVALID_ARGUMENT", "a version and a digest are 1 to 64 letters, digits, - and _");
  }
  return change.kind === "remove" ? change : putIn(change);
}

/** Filters look at the fields made here. A value from which they cannot be made would break lists for every reader. */
function putIn(change: ReadPut): PutChange {
  const { value, metadata = "{}", words, vector } = change;
  for (const text of Object.values(words ?? {}) as string[]) {
    if (text !== "" && !areWords(text)) {
      throw new Refusal("INVALID_ARGUMENT", "words are letters, digits and _, with single spaces between them");
    }
  }
  const fields = { value: projected(value, "value"), metadata: projected(metadata, "metadata") };
  return { ...change, fields, vector: vector && asRefusal(() => checkedVector(vector, "vector", undefined)) };
}

function projected(text: string, what: "value" | "metadata"): string {
  const fault = faultInShape(text, VALUE);
  if (fault !== undefined) throw new Refusal("INVALID_ARGUMENT", `the ${what} ${fault}`);
  const value = decoded(text, what);
  if (what === "metadata" ? !isPlainObject(value) : value === undefined) {
    throw new Refusal("INVALID_ARGUMENT", `the ${what} must be ${what === "value" ? "something" : "an object"}`);
  }
  return JSON.stringify(projectFields(JSON.parse(text) as JsonValue));
}

function decoded(text: string, what: string): unknown {
  try {
    return decodeText(text, what);
  } catch {
    throw new Refusal("INVALID_ARGUMENT", `the ${what} must be JSON as the library writes it`);
  }
}

/** To overwrite is to write. To remove, now or by an end that is set, is not. */
function assertOnlyAdds(changes: readonly Change[]): void {
  const isRemoval = changes.some((change) => change.kind === "remove" || typeof change.ttlMs === "number");
  if (isRemoval) throw new Refusal("PERMISSION_DENIED", "to remove an item, or to give it an end, needs items:delete");
}

function idIn(fields: Fields): ItemId {
  const id = readId(fields);
  assertId(id);
  return id;
}

function assertId({ namespace, key }: ItemId): void {
  asRefusal(() => assertNamespace(namespace));
  asRefusal(() => assertKey(key));
}

function namespaceIn(fields: Fields, name: string): Namespace {
  const namespace = fields.texts(name);
  asRefusal(() => assertNamespace(namespace, { mayBeEmpty: true }));
  return namespace;
}

const scopeIn = (fields: Fields): Scope => ({
  namespace: namespaceIn(fields, "namespace"),
  recursive: fields.flag("recursive"),
  condition: asRefusal(() => parseFilter(fields.anything("filter"), WRITTEN_OUT)),
});

function limitIn(fields: Fields): number {
  const limit = fields.count("limit");
  if (limit <= MAX_PAGE_ITEMS) return limit;
  throw new Refusal("INVALID_ARGUMENT", `limit must be at most ${MAX_PAGE_ITEMS}`);
}

const vectorIn = (text: string): Float32Array => {
  const vector = vectorFrom(text);
  return asRefusal(() => checkedVector(vector, "vector", undefined));
};

/**
 * As the library makes them of texts: anything else would reach a storage's own
 * language for queries. A word of the library's has 128 characters at most.
 */
const areWords = (text: string): boolean =>
  !/[^\p{L}\p{N}_ ]/u.test(text) && text.split(" ").every(({ length }) => length > 0 && length <= 200);

const isWord = (text: string): boolean => areWords(text) && !text.includes(" ");
