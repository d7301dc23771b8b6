import { createHash } from "node:crypto";
import type { ScrubReport } from "../../driver/driver.ts";
import type { ErrorCode } from "../../errors.ts";
import { encodeId } from "../../store/driver/namespaces.ts";
import type {
  Change,
  ItemId,
  Namespace,
  RankedItem,
  Scope,
  StoreDriver,
  StoreDriverCapabilities,
  StoredItem,
  WriteOutcome,
} from "../../store/driver/store-driver.ts";

/**
 * The part of a storage below one namespace, as a storage: its holder sees and reaches
 * nothing else. Write keys are derived from the prefix and the item, because a key
 * that another tenant used would return the result of that tenant's write. Closing it
 * leaves the driver below open.
 */
export class PrefixStoreDriver implements StoreDriver {
  readonly name: string;
  readonly #below: StoreDriver;
  readonly #prefix: Namespace;
  readonly #check: (namespace: Namespace) => void;
  searchText?: NonNullable<StoreDriver["searchText"]>;
  searchVector?: NonNullable<StoreDriver["searchVector"]>;
  readVector?: NonNullable<StoreDriver["readVector"]>;
  dimension?: NonNullable<StoreDriver["dimension"]>;

  /** `check` refuses namespaces for which the prefix leaves no room. */
  constructor(below: StoreDriver, prefix: Namespace, check: (namespace: Namespace) => void = () => undefined) {
    this.name = below.name;
    this.#below = below;
    this.#prefix = prefix;
    this.#check = check;
    const { searchText, searchVector, readVector, dimension } = below;
    if (searchText !== undefined) {
      this.searchText = async (scope, words, limit) =>
        this.#ranked(await searchText.call(below, this.#scope(scope), words, limit));
    }
    if (searchVector !== undefined) {
      this.searchVector = async (scope, vector, limit) =>
        this.#ranked(await searchVector.call(below, this.#scope(scope), vector, limit));
    }
    if (readVector !== undefined) this.readVector = (id) => readVector.call(below, this.#id(id));
    if (dimension !== undefined) this.dimension = (namespace) => dimension.call(below, this.#inside(namespace));
  }

  connect(): Promise<void> {
    return this.#below.connect();
  }

  get capabilities(): StoreDriverCapabilities {
    return this.#below.capabilities;
  }

  get secrets(): readonly string[] {
    return this.#below.secrets ?? [];
  }

  write(changes: readonly Change[]): Promise<WriteOutcome> {
    return this.#below.write(changes.map((change) => this.#change(change)));
  }

  async read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
    const items = await this.#below.read(ids.map((id) => this.#id(id)));
    return items.map((item) => item && this.#outside(item));
  }

  async scan(scope: Scope, options: { after?: ItemId; limit: number }): Promise<readonly StoredItem[]> {
    const { after, limit } = options;
    const from = after === undefined ? {} : { after: this.#id(after) };
    const items = await this.#below.scan(this.#scope(scope), { limit, ...from });
    return items.map((item) => this.#outside(item));
  }

  async namespaces(prefix: Namespace, options: { after?: Namespace; limit: number }): Promise<readonly Namespace[]> {
    const { after, limit } = options;
    const from = after === undefined ? {} : { after: this.#inside(after) };
    const found = await this.#below.namespaces(this.#inside(prefix), { limit, ...from });
    return found.map((namespace) => namespace.slice(this.#prefix.length));
  }

  clear(scope: Omit<Scope, "condition">, options: { before: number; limit: number }): Promise<number> {
    return this.#below.clear({ ...scope, namespace: this.#inside(scope.namespace) }, options);
  }

  async verify(): Promise<void> {
    await this.#below.verify?.();
  }

  scrub(): Promise<ScrubReport> {
    return this.#below.scrub();
  }

  now(): Promise<number> {
    return this.#below.now();
  }

  classify(error: unknown): ErrorCode | undefined {
    return this.#below.classify(error);
  }

  async close(): Promise<void> {}

  #inside(namespace: Namespace): Namespace {
    this.#check(namespace);
    return [...this.#prefix, ...namespace];
  }

  #id({ namespace, key }: ItemId): ItemId {
    return { namespace: this.#inside(namespace), key };
  }

  #scope(scope: Scope): Scope {
    return { ...scope, namespace: this.#inside(scope.namespace) };
  }

  #change(change: Change): Change {
    const id = this.#id(change);
    const name = JSON.stringify([encodeId(id), change.writeKey]);
    const writeKey = createHash("sha256").update(name).digest("base64url").slice(0, 24);
    return { ...change, ...id, writeKey };
  }

  #outside(item: StoredItem): StoredItem {
    return { ...item, namespace: item.namespace.slice(this.#prefix.length) };
  }

  #ranked(hits: readonly RankedItem[]): readonly RankedItem[] {
    return hits.map(({ item, score }) => ({ item: this.#outside(item), score }));
  }
}
