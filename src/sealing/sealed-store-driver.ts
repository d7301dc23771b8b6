import type { ScrubReport } from "../driver/driver.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { unopenedText, whyUnopened } from "../driver/unopened.ts";
import { type ErrorCode, StateError } from "../errors.ts";
import { nodeCrypto } from "../internal/node-builtins.ts";
import type { JsonValue } from "../state/values/codec.ts";
import type {
  Change,
  ItemId,
  Namespace,
  PutChange,
  RankedItem,
  Scope,
  StoreDriver,
  StoreDriverCapabilities,
  StoredItem,
  WriteOutcome,
} from "../store/driver/store-driver.ts";
import { writeTerms } from "../store/driver/write-terms.ts";
import { bm25Scores, countWords, type WordCounts } from "../store/search/bm25.ts";
import { matches, projectFields } from "../store/search/item-fields.ts";
import { TopHits } from "../store/search/top-hits.ts";
import type { NamedKey } from "./keys/box.ts";
import type { Keyring } from "./keys/keyring.ts";
import type { OpenedItem } from "./sealed-item.ts";

export interface SealedStoreOptions {
  readonly keyring: () => Promise<Keyring>;
  readonly tenantOf: (namespace: Namespace) => string;
  /** Vectors are stored unsealed, also those about people, and can be searched. */
  readonly areVectorsPlain: boolean;
}

/** How items are sealed. Loaded with the first of them. */
const sealedItems = new OpenOnce(() => import("./sealed-item.ts"));

const NO_FIELDS = { value: "{}", metadata: "{}" };
const PAGE = 500;
const MOST_RANKED = 10_000;
const OVERHEAD_BYTES = 1024;
const GROWTH = 2;

/**
 * A store whose items are sealed before they reach the store below. Names stay as
 * they are: namespaces and keys are what items are found by. Filters and searches
 * by words run here, on the opened items. An item about a person whose key is gone is
 * absent.
 */
export class SealedStoreDriver implements StoreDriver {
  readonly name: string;
  readonly keyring: () => Promise<Keyring>;
  declare readonly searchVector?: NonNullable<StoreDriver["searchVector"]>;
  declare readonly readVector?: NonNullable<StoreDriver["readVector"]>;
  declare readonly dimension?: NonNullable<StoreDriver["dimension"]>;
  readonly #inner: StoreDriver;
  readonly #options: SealedStoreOptions;
  readonly #ring: OpenOnce<Keyring>;
  #capabilities: { readonly inner: StoreDriverCapabilities; readonly own: StoreDriverCapabilities } | undefined;

  constructor(inner: StoreDriver, options: SealedStoreOptions) {
    this.name = inner.name;
    this.keyring = options.keyring;
    this.#inner = inner;
    this.#options = options;
    this.#ring = new OpenOnce(options.keyring);
    const vector = inner.searchVector?.bind(inner);
    if (!options.areVectorsPlain || vector === undefined) return;
    this.searchVector = (scope, wanted, limit) =>
      this.#ranked(scope, limit, (whole, most) => vector(whole, wanted, most));
    this.readVector = async (id) => ((await this.read([id]))[0] === undefined ? undefined : inner.readVector?.(id));
    this.dimension = async (below) => inner.dimension?.(below);
  }

  get secrets(): readonly string[] {
    return this.#inner.secrets ?? [];
  }

  get capabilities(): StoreDriverCapabilities {
    const { capabilities: inner } = this.#inner;
    if (this.#capabilities?.inner !== inner) {
      const maxItemBytes = Math.max(1024, Math.floor(inner.maxItemBytes / GROWTH) - OVERHEAD_BYTES);
      const { areVectorsPlain } = this.#options;
      const sealing = areVectorsPlain ? ("except index" as const) : ("all" as const);
      const vectorSearch = areVectorsPlain ? inner.vectorSearch : "none";
      this.#capabilities = {
        inner,
        own: { ...inner, connects: true, maxItemBytes, vectorSearch, sealing, textSearch: true },
      };
    }
    return this.#capabilities.own;
  }

  async connect(): Promise<void> {
    await this.#ring.get();
    await this.#inner.connect();
  }

  async write(changes: readonly Change[]): Promise<WriteOutcome> {
    const sealed: Change[] = [];
    for (const change of changes) sealed.push(change.kind === "put" ? await this.#sealed(change) : change);
    for (let attempts = 0; ; attempts++) {
      const outcome = await this.#inner.write(sealed);
      const refused = outcome.applied ? undefined : sealed[outcome.index];
      if (outcome.applied || refused === undefined || attempts >= changes.length) return outcome;
      // There may be an item whose key is gone: for the layers above there is no item.
      if (outcome.version === null || refused.expected !== null) return outcome;
      const [stored] = await this.#inner.read([refused]);
      if (stored === undefined || stored.version !== outcome.version) return outcome;
      if ((await this.#open(stored)) !== undefined) return outcome;
      sealed[outcome.index] = { ...refused, expected: outcome.version };
    }
  }

  async read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
    const items: (StoredItem | undefined)[] = [];
    for (const item of await this.#inner.read(ids)) items.push(item && (await this.#open(item)));
    return items;
  }

  async scan(
    scope: Scope,
    options: { readonly after?: ItemId; readonly limit: number },
  ): Promise<readonly StoredItem[]> {
    const items: StoredItem[] = [];
    const whole = { ...scope, condition: undefined };
    let { after } = options;
    while (items.length < options.limit) {
      const limit = scope.condition === undefined ? options.limit - items.length : PAGE;
      const page = await this.#inner.scan(whole, { limit, ...(after !== undefined && { after }) });
      for (const stored of page) {
        const item = await this.#openOrNot(stored);
        if (item !== undefined && fits(item, scope) && items.length < options.limit) items.push(item);
      }
      after = page.at(-1);
      if (page.length < limit) break;
    }
    return items;
  }

  /** Every item of the scope is opened and compared: slow where there are many, and complete. */
  async searchText(scope: Scope, words: readonly string[], limit: number): Promise<readonly RankedItem[]> {
    const items: { readonly item: StoredItem; readonly counts: WordCounts }[] = [];
    for await (const stored of this.#everyItem({ ...scope, condition: undefined })) {
      const opened = await this.#openWithWords(stored).catch((error: unknown) => {
        if (unopenedText(error) === undefined) throw error;
      });
      if (opened?.words === undefined || !fits(opened.item, scope)) continue;
      items.push({ item: opened.item, counts: countWords(opened.words) });
    }
    const counts = items.map((each) => each.counts);
    const scores = bm25Scores(counts, words);
    const best = new TopHits<StoredItem>(limit);
    for (const [index, { item }] of items.entries()) if ((scores[index] ?? 0) > 0) best.add(item, scores[index] ?? 0);
    return best.list();
  }

  namespaces(...given: Parameters<StoreDriver["namespaces"]>): ReturnType<StoreDriver["namespaces"]> {
    return this.#inner.namespaces(...given);
  }

  clear(...given: Parameters<StoreDriver["clear"]>): ReturnType<StoreDriver["clear"]> {
    return this.#inner.clear(...given);
  }

  now(): Promise<number> {
    return this.#inner.now();
  }

  async verify(): Promise<void> {
    await this.#inner.verify?.();
  }

  /** Also removes what a restored backup holds of people whose keys are gone, which is invisible above. */
  async scrub(): Promise<ScrubReport> {
    for await (const stored of this.#everyItem({ namespace: [], recursive: true, condition: undefined })) {
      const { namespace, key, version } = stored;
      if ((await this.#openOrNot(stored)) !== undefined) continue;
      const { writeKey, digest } = writeTerms(stored, undefined, "removed");
      await this.#inner.write([{ kind: "remove", namespace, key, writeKey, digest, expected: version }]);
    }
    return this.#inner.scrub();
  }

  classify(error: unknown): ErrorCode | undefined {
    return this.#inner.classify(error);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  async *#everyItem(scope: Scope): AsyncGenerator<StoredItem, void, undefined> {
    let after: StoredItem | undefined;
    for (;;) {
      const page = await this.#inner.scan(scope, { limit: PAGE, ...(after !== undefined && { after }) });
      yield* page;
      after = page.at(-1);
      if (page.length < PAGE) return;
    }
  }

  async #sealed(change: PutChange): Promise<PutChange> {
    const { areVectorsPlain, tenantOf } = this.#options;
    if (change.vector !== undefined && !areVectorsPlain) throw noVectors(this.name);
    const keyring = await this.#ring.get();
    const tenant = tenantOf(change.namespace);
    const key = keyring.confirmedTenantKey(tenant) ?? (await this.#firstKey(keyring, change.namespace));
    const { peopleOfItem, sealedItem } = await sealedItems.get();
    const people = peopleOfItem(change, change);
    const owners = await keyring.personKeys(tenant, people.owners);
    const named = await keyring.personKeys(tenant, people.named);
    const value = sealedItem(change, change, { tenant, key, owners, named });
    // A guess at the content, and at a write id of the caller's, must not be confirmed by what lies below.
    const digest = nodeCrypto().createHmac("sha256", key.key).update(change.digest).digest("base64url").slice(0, 24);
    return { ...change, digest, value, metadata: undefined, fields: NO_FIELDS, words: undefined };
  }

  async #firstKey(keyring: Keyring, namespace: Namespace): Promise<NamedKey> {
    await keyring.confirmTenantKey(this.#options.tenantOf(namespace));
    const { keyToSealItemsWith } = await import("./first-key.ts");
    return keyToSealItemsWith(keyring, this.#inner, this.#options.tenantOf, namespace);
  }

  async #open(stored: StoredItem): Promise<StoredItem | undefined> {
    return (await this.#openWithWords(stored))?.item;
  }

  async #openWithWords(stored: StoredItem): Promise<OpenedItem | undefined> {
    const keyring = await this.#ring.get();
    const tenant = this.#options.tenantOf(stored.namespace);
    const key = await keyring.tenantKey(tenant, { isNew: false });
    const { keysOfItem, openedItem, peekItem } = await sealedItems.get();
    const peeked = peekItem(stored, tenant, key, (id) => keyring.missing(id));
    return openedItem(peeked, await keyring.keysById(keysOfItem(peeked)));
  }

  /** In an answer about many items, one that does not open must not affect the others: it is returned without a valid value. */
  async #openOrNot(stored: StoredItem): Promise<StoredItem | undefined> {
    try {
      return await this.#open(stored);
    } catch (error) {
      const value = unopenedText(error);
      if (value === undefined) throw error;
      return { ...stored, value, metadata: undefined };
    }
  }

  /** Asks for more where items that are not handed out took the places of others. */
  async #ranked(
    scope: Scope,
    limit: number,
    find: (scope: Scope, limit: number) => Promise<readonly RankedItem[]>,
  ): Promise<readonly RankedItem[]> {
    for (let asked = scope.condition === undefined ? limit : 2 * limit; ; asked = Math.min(4 * asked, MOST_RANKED)) {
      const found = await find({ ...scope, condition: undefined }, asked);
      const items: RankedItem[] = [];
      for (const { item: stored, score } of found) {
        const item = await this.#openOrNot(stored);
        if (item !== undefined && fits(item, scope)) items.push({ item, score });
      }
      if (items.length >= limit || found.length < asked || asked >= MOST_RANKED) return items.slice(0, limit);
    }
  }
}

function fits({ value, metadata }: StoredItem, { condition }: Scope): boolean {
  if (condition === undefined || whyUnopened(value, "the item") !== undefined) return true;
  const fieldsOf = (text: string | undefined): JsonValue => projectFields(JSON.parse(text ?? "{}") as JsonValue);
  return matches(condition, { value: fieldsOf(value), metadata: fieldsOf(metadata) });
}

const noVectors = (name: string): StateError =>
  new StateError(
    "UNSUPPORTED",
    `${name}: this needs the capability "semanticSearch", which is false here: a vector that is sealed cannot be compared, and one in plain tells what it was made from. new Sealing({ vectors: "plain" }) allows it`,
    { backend: name, capability: "semanticSearch" },
  );
