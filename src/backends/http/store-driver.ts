import { setMaxListeners } from "node:events";
import { BaseDriver } from "../../driver/driver.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import type { FullStoreDriver } from "../../store/driver/store-driver.ts";
import {
  type Change,
  type ItemId,
  MOST_CHANGES,
  type Namespace,
  type RankedItem,
  type Scope,
  type StoreDriverCapabilities,
  type StoredItem,
  type WriteOutcome,
} from "../../store/driver/store-driver.ts";
import type { Fields } from "../../wire/fields.ts";
import {
  changeJson,
  readFoundItems,
  readItem,
  readRanked,
  readStoreCapabilities,
  readWriteOutcome,
  scopeJson,
  vectorFrom,
  vectorText,
} from "../../wire/item-messages.ts";
import type { ItemOperation } from "../../wire/item-routes.ts";
import { classify } from "./classify.ts";
import { ask, type Connection, fieldsOf } from "./requests.ts";

/** The least that any service has, before it was asked. */
const CAPABILITIES: StoreDriverCapabilities = {
  durability: "memory",
  connects: true,
  transactions: false,
  ttl: false,
  maxItemBytes: 64 * 1024,
  vectorSearch: "none",
  maxExactVectors: 0,
  textSearch: false,
};

/**
 * The items of a service: every operation is one request, or a few if the answer
 * would be large. It offers what the service's store offers.
 */
export class HttpStoreDriver extends BaseDriver implements FullStoreDriver {
  readonly name: string = "http";
  readonly secrets: readonly string[];
  readonly #connection: Connection;
  readonly #closing = new AbortController();
  #capabilities: StoreDriverCapabilities = CAPABILITIES;
  #maxBodyBytes = Number.POSITIVE_INFINITY;

  constructor(connection: Connection) {
    super();
    this.#connection = connection;
    this.secrets = connection.token === undefined ? [] : [connection.token];
    // Every request in progress listens to it, and there may be any number of them.
    setMaxListeners(0, this.#closing.signal);
  }

  get capabilities(): StoreDriverCapabilities {
    return this.#capabilities;
  }

  override async connect(): Promise<void> {
    const { maxBodyBytes, ...capabilities } = readStoreCapabilities(await this.#ask("itemCapabilities"));
    this.#maxBodyBytes = maxBodyBytes;
    this.#capabilities = { ...capabilities, connects: true };
  }

  async write(changes: readonly Change[]): Promise<WriteOutcome> {
    const body = Buffer.from(JSON.stringify({ changes: changes.map(changeJson) }), "utf8");
    if (body.byteLength > this.#maxBodyBytes) {
      const advice = changes.length > 1 ? "put fewer at once" : "it is too large for the service";
      const message = `these changes are ${body.byteLength} bytes, and the service takes ${this.#maxBodyBytes} in a request: ${advice}`;
      throw new StateError("TOO_LARGE", message, { written: "no" });
    }
    const isRemoval = changes.every(({ kind }) => kind === "remove");
    return readWriteOutcome(await this.#ask(isRemoval ? "removeItems" : "writeItems", body));
  }

  async read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
    const items: (StoredItem | undefined)[] = [];
    while (items.length < ids.length) {
      const some = ids
        .slice(items.length, items.length + MOST_CHANGES)
        .map(({ namespace, key }) => ({ namespace, key }));
      const found = readFoundItems(await this.#ask("readItems", { ids: some }));
      if (found.length === 0 || found.length > some.length) throw garbled();
      items.push(...found);
    }
    return items;
  }

  async scan(scope: Scope, options: { after?: ItemId; limit: number }): Promise<readonly StoredItem[]> {
    const found: StoredItem[] = [];
    for (let after = options.after; found.length < options.limit; ) {
      const from = after === undefined ? {} : { after: { namespace: after.namespace, key: after.key } };
      const limit = options.limit - found.length;
      const page = await this.#ask("scanItems", { ...scopeJson(scope), ...from, limit });
      const some = page.objects("items").map(readItem);
      found.push(...some);
      after = some.at(-1);
      if (!page.flag("more")) return found;
      if (after === undefined) throw garbled();
    }
    return found;
  }

  async namespaces(prefix: Namespace, options: { after?: Namespace; limit: number }): Promise<readonly Namespace[]> {
    return (await this.#ask("listNamespaces", { prefix, ...options })).tuples("namespaces");
  }

  async clear(scope: Omit<Scope, "condition">, options: { before: number; limit: number }): Promise<number> {
    const { namespace, recursive } = scope;
    return (await this.#ask("clearItems", { namespace, recursive, ...options })).count("count");
  }

  async searchText(scope: Scope, words: readonly string[], limit: number): Promise<readonly RankedItem[]> {
    return this.#ranked(await this.#ask("searchItems", { ...scopeJson(scope), words, limit }));
  }

  async searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
    const asked = { ...scopeJson(scope), vector: vectorText(vector), limit };
    return this.#ranked(await this.#ask("nearestItems", asked));
  }

  async readVector({ namespace, key }: ItemId): Promise<Float32Array | undefined> {
    const answer = await this.#ask("readVector", { namespace, key });
    return answer.flag("found") ? vectorFrom(answer.text("vector")) : undefined;
  }

  async dimension(below: Namespace): Promise<number | undefined> {
    const answer = await this.#ask("vectorDimension", { namespace: below });
    return answer.flag("found") ? answer.count("dimension") : undefined;
  }

  async now(): Promise<number> {
    return (await this.#ask("itemClock")).number("now");
  }

  classify(error: unknown): ErrorCode | undefined {
    return classify(error);
  }

  async close(): Promise<void> {
    this.#closing.abort();
  }

  /**
   * Hits that would have made the answer too large are listed by name, and fetched
   * here. An item that is gone meanwhile is left out.
   */
  async #ranked(answer: Fields): Promise<readonly RankedItem[]> {
    const { hits, rest } = readRanked(answer);
    const items = await this.read(rest.map(({ id }) => id));
    const behind = rest.flatMap(({ score }, at) => {
      const item = items[at];
      return item === undefined ? [] : [{ item, score }];
    });
    return [...hits, ...behind];
  }

  async #ask(operation: ItemOperation, body?: Uint8Array | object): Promise<Fields> {
    if (this.#closing.signal.aborted) throw new StateError("CLOSED", "the connection to the service was closed");
    const question = body === undefined ? {} : { body };
    return fieldsOf(await ask(this.#connection, operation, question, this.#closing.signal));
  }
}

const garbled = (): StateError => new StateError("UNAVAILABLE", "the answer holds no items where there should be some");
