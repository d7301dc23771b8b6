import type { CallPlace } from "../../driver/call.ts";
import { StateError } from "../../errors.ts";
import { compareIds, compareNamespaces, MAX_NAMESPACE_BYTES } from "../../store/driver/namespaces.ts";
import type {
  Change,
  ItemId,
  Namespace,
  RankedItem,
  Scope,
  StoreDriver,
  StoredItem,
  WriteOutcome,
} from "../../store/driver/store-driver.ts";
import type { StoreAccess } from "../../store/items/store-access.ts";
import type { RankedAnswer, RemoteStoreCapabilities } from "../../wire/item-messages.ts";
import { Refusal } from "../request/refusal.ts";
import { PrefixStoreDriver } from "./prefix-driver.ts";

/** An answer is cut off behind this much; one item is always in it. */
const ANSWER_BYTES = 8 * 1024 * 1024;
/** How many items the first step reads, before their size is known. */
const FIRST_STEP = 32;
const LONGEST_STEP = 1000;

/**
 * The store as the service hands it to one tenant: the items below the tenant's
 * own segment (`PrefixStoreDriver`) behind guarded calls, with limits. Everything
 * the service does with items goes through here.
 */
export class TenantStore {
  readonly #access: StoreAccess;
  readonly #part: StoreDriver;
  readonly #maxBodyBytes: number;

  /** Without tenants it is the whole store. */
  constructor(access: StoreAccess, tenant: string | undefined, maxBodyBytes: number) {
    this.#access = access;
    this.#part = tenant === undefined ? access.driver : new PrefixStoreDriver(access.driver, [tenant], assertShort);
    this.#maxBodyBytes = maxBodyBytes;
  }

  /**
   * An item takes an eighth of a body: its text may double on the wire, and its
   * words and its vector come with it.
   */
  async capabilities(): Promise<RemoteStoreCapabilities> {
    await this.#access.connect({ operation: "itemCapabilities" });
    const { access, driver } = this.#access;
    const { capabilities } = driver;
    const mayWrite = access === "write";
    return {
      durability: capabilities.durability,
      transactions: capabilities.transactions && mayWrite,
      ttl: capabilities.ttl && mayWrite,
      maxItemBytes: Math.min(capabilities.maxItemBytes, Math.floor(this.#maxBodyBytes / 8)),
      maxBodyBytes: this.#maxBodyBytes,
      vectorSearch: this.#part.searchVector === undefined ? "none" : capabilities.vectorSearch,
      maxExactVectors: capabilities.maxExactVectors,
      textSearch: this.#part.searchText !== undefined && capabilities.textSearch !== false,
    };
  }

  now(): Promise<number> {
    return this.#call({ operation: "itemClock" }, (part) => part.now());
  }

  /** The changes are well-formed; what the storage can and takes is asked here. */
  async write(changes: readonly Change[]): Promise<WriteOutcome> {
    const { ttl, vectorSearch, maxItemBytes, transactions } = await this.capabilities();
    for (const change of changes) {
      if (change.kind === "remove") continue;
      const bytes = Buffer.byteLength(change.value) + Buffer.byteLength(change.metadata ?? "");
      if (bytes > maxItemBytes) throw new Refusal("TOO_LARGE", `an item has ${bytes} bytes; at most ${maxItemBytes}`);
      if (typeof change.ttlMs === "number" && !ttl) throw cannot("ttl");
      if (change.vector !== undefined && vectorSearch === "none") throw cannot("semanticSearch");
    }
    if (changes.length > 1 && !transactions) throw cannot("transactions");
    return this.#call({ operation: "writeItems" }, (part) => part.write(changes));
  }

  /** Here and below: a limit of 0, and a search for no words, is nothing that the library asks of a driver. */
  async clear(scope: Omit<Scope, "condition">, before: number, limit: number): Promise<number> {
    if (limit === 0) return 0;
    return this.#call({ operation: "clearItems" }, (part) => part.clear(scope, { before, limit }));
  }

  /** As many of the first ones as make up an answer. */
  async read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
    const items: (StoredItem | undefined)[] = [];
    const size = new AnswerSize();
    while (items.length < ids.length && !size.isFull) {
      const some = ids.slice(items.length, items.length + size.nextStep(ids.length));
      const found = await this.#call({ operation: "readItems" }, (part) => part.read(some));
      for (const item of found) {
        if (size.isFull) break;
        if (item !== undefined) size.add(item);
        items.push(item);
      }
    }
    return items;
  }

  /** As many as make up an answer, and whether there are more. */
  async scan(
    scope: Scope,
    after: ItemId | undefined,
    limit: number,
  ): Promise<{ readonly items: readonly StoredItem[]; readonly more: boolean }> {
    const items: StoredItem[] = [];
    const size = new AnswerSize();
    let last = after;
    if (last !== undefined && !isInside(scope, last)) {
      // Before the first item of the scope everything is behind it; behind the last one there is nothing.
      if (compareIds(last, { namespace: scope.namespace, key: "" }) > 0) return { items, more: false };
      last = undefined;
    }
    while (items.length < limit) {
      const step = size.nextStep(limit - items.length);
      const from = last === undefined ? {} : { after: last };
      const found = await this.#call({ operation: "scanItems" }, (part) => part.scan(scope, { limit: step, ...from }));
      for (const item of found) {
        if (size.isFull) return { items, more: true };
        size.add(item);
        items.push(item);
      }
      if (found.length < step) return { items, more: false };
      last = items.at(-1);
    }
    return { items, more: true };
  }

  async namespaces(prefix: Namespace, after: Namespace | undefined, limit: number): Promise<readonly Namespace[]> {
    if (limit === 0) return [];
    const isBelow = after !== undefined && startsWith(after, prefix);
    if (after !== undefined && !isBelow && compareNamespaces(after, prefix) > 0) return [];
    const from = isBelow ? { after } : {};
    return this.#call({ operation: "listNamespaces" }, (part) => part.namespaces(prefix, { limit, ...from }));
  }

  async searchText(scope: Scope, words: readonly string[], limit: number): Promise<RankedAnswer> {
    if (limit === 0 || words.length === 0) return NOTHING;
    const hits = await this.#call({ operation: "searchItems" }, async (part) => {
      if (part.searchText === undefined) throw cannot("search");
      return part.searchText(scope, words, limit);
    });
    return cutOff(hits);
  }

  async searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<RankedAnswer> {
    if (limit === 0) return NOTHING;
    const hits = await this.#call({ operation: "nearestItems" }, async (part) => {
      if (part.searchVector === undefined) throw cannot("semanticSearch");
      return part.searchVector(scope, vector, limit);
    });
    return cutOff(hits);
  }

  readVector(id: ItemId): Promise<Float32Array | undefined> {
    return this.#call({ operation: "readVector" }, async (part) => part.readVector?.(id));
  }

  dimension(below: Namespace): Promise<number | undefined> {
    return this.#call({ operation: "vectorDimension" }, async (part) => part.dimension?.(below));
  }

  #call<T>(place: CallPlace, work: (part: StoreDriver) => Promise<T>): Promise<T> {
    return this.#access.call(place, () => work(this.#part));
  }
}

/** How large an answer has become, and how many items the next step may therefore read. */
class AnswerSize {
  #bytes = 0;
  #items = 0;

  get isFull(): boolean {
    return this.#bytes >= ANSWER_BYTES;
  }

  add({ value, metadata = "" }: StoredItem): void {
    this.#bytes += value.length + metadata.length + 200;
    this.#items++;
  }

  nextStep(wanted: number): number {
    const room = this.#items === 0 ? FIRST_STEP : Math.ceil((ANSWER_BYTES - this.#bytes) / (this.#bytes / this.#items));
    return Math.max(1, Math.min(wanted, room, LONGEST_STEP));
  }
}

const NOTHING: RankedAnswer = { hits: [], rest: [] };

function cutOff(ranked: readonly RankedItem[]): RankedAnswer {
  const size = new AnswerSize();
  const end = ranked.findIndex(({ item }) => {
    if (size.isFull) return true;
    size.add(item);
    return false;
  });
  if (end === -1) return { hits: ranked, rest: [] };
  const rest = ranked.slice(end).map(({ item, score }) => ({ id: item, score }));
  return { hits: ranked.slice(0, end), rest };
}

/** The library leaves room for what a service puts before a namespace; a tenant may not take that. */
function assertShort(namespace: Namespace): void {
  const bytes = Buffer.byteLength(namespace.join("/"));
  if (bytes <= MAX_NAMESPACE_BYTES) return;
  throw new Refusal(
    "INVALID_ARGUMENT",
    `the namespace is ${bytes} bytes long; at most ${MAX_NAMESPACE_BYTES} are taken`,
  );
}

const startsWith = (namespace: Namespace, prefix: Namespace): boolean =>
  namespace.length >= prefix.length && prefix.every((segment, at) => segment === namespace[at]);

const isInside = ({ namespace, recursive }: Scope, id: ItemId): boolean =>
  startsWith(id.namespace, namespace) && (recursive || id.namespace.length === namespace.length);

const cannot = (capability: string): StateError =>
  new StateError("UNSUPPORTED", `the store cannot do this: ${capability} is false`, { capability });
