import type { Lease } from "../../driver/connection.ts";
import { BaseDriver, type ScrubReport } from "../../driver/driver.ts";
import type { ErrorCode } from "../../errors.ts";
import { decodeNamespace, encodeId, encodeNamespace } from "../../store/driver/namespaces.ts";
import type { FullStoreDriver } from "../../store/driver/store-driver.ts";
import {
  type Change,
  type ItemId,
  type Namespace,
  type RankedItem,
  type Scope,
  type StoreDriverCapabilities,
  type StoredItem,
  WRITES_REMEMBERED_MS,
  type WriteOutcome,
} from "../../store/driver/store-driver.ts";
import { BOOKKEEPING_BYTES, isBookkeepingOfItems } from "./bookkeeping.ts";
import { classify } from "./classify.ts";
import type { RedisConnection } from "./connect.ts";
import type { Link } from "./link.ts";
import type { Argument, RedisPort } from "./port.ts";
import { asReply, asText } from "./replies.ts";
import type { Script } from "./scripts/script.ts";
import {
  ANY_VECTOR,
  BEGIN_MENDING,
  CLEAR_ITEMS,
  END_MENDING,
  MEND_ITEMS,
  MEND_VECTORS,
  PAGE_OF_ITEMS,
  READ_ITEMS,
  SWEEP_ENDED,
  VERIFY_FIELDS,
  VERIFY_MEMBERS,
  WALK_NAMESPACES,
  WRITE_ITEMS,
} from "./scripts/store-scripts.ts";
import { NOW } from "./scripts/thread-index.ts";
import { rewriteFiles } from "./scrubbing.ts";
import {
  anyVectorOf,
  decodeRecord,
  encodeChange,
  lexBounds,
  NO_ITEM,
  openVector,
  PARTS_FIELD,
  type Record,
  resultOf,
  type StoreKeys,
  storeKeys,
} from "./store-layout.ts";
import { rankedByWords } from "./store-words.ts";
import { ITEMS_AT_ONCE, kept, type RunStoreScript, readVectorItems } from "./vector-rows.ts";
import { RedisVectorSearch } from "./vector-search.ts";

export interface RedisStoreDriverOptions {
  readonly connection: RedisConnection;
  readonly prefix: string;
  readonly exactUpTo?: number;
}

/** At most this many vectors are compared in this process; plain Redis has no vector search. */
const EXACT_UP_TO = 10_000;

const CAPABILITIES: StoreDriverCapabilities = {
  durability: "memory",
  connects: true,
  transactions: true,
  ttl: true,
  // A string may have 512 MB, but the server is blocked while it receives one.
  maxItemBytes: 16 * 1024 * 1024,
  vectorSearch: "exact",
  maxExactVectors: EXACT_UP_TO,
};

/** Items in Redis or Valkey. Every write is one script; filters, words and vectors are evaluated in this process. */
export class RedisStoreDriver extends BaseDriver implements FullStoreDriver {
  readonly name: string = "redis";
  readonly secrets: readonly string[];
  readonly #keys: StoreKeys;
  readonly #link: Lease<Link>;
  readonly #vectors: RedisVectorSearch;
  #capabilities: StoreDriverCapabilities = CAPABILITIES;

  constructor({ connection, prefix, exactUpTo = EXACT_UP_TO }: RedisStoreDriverOptions) {
    super();
    this.#link = connection.lease(async (link) => link);
    this.#keys = storeKeys(prefix);
    this.#vectors = new RedisVectorSearch({
      run: this.#runScript,
      records: (ids) => this.#records(ids),
      exactUpTo,
    });
    this.secrets = connection.secrets;
  }

  get capabilities(): StoreDriverCapabilities {
    return this.#capabilities;
  }

  override async connect(): Promise<void> {
    const link = await this.#link.get();
    await link.server();
    const { durability = this.#capabilities.durability } = link;
    this.#capabilities = { ...this.#capabilities, durability };
  }

  async write(changes: readonly Change[]): Promise<WriteOutcome> {
    const room = isBookkeepingOfItems(changes) ? BOOKKEEPING_BYTES : 0;
    const args = [String(WRITES_REMEMBERED_MS), String(room), ...changes.flatMap(encodeChange)];
    const [word, ...rest] = asReply(await this.#run(WRITE_ITEMS, args)) ?? [];
    if (asText(word) === "refused") {
      const [index, because, version] = rest.map(asText);
      return because === "version"
        ? { applied: false, index: Number(index), because, version: version === NO_ITEM ? null : (version ?? null) }
        : { applied: false, index: Number(index), because: "write key", version: null };
    }
    const results = changes.map((_, at) => resultOf(asText(rest[2 * at + 1]), asText(rest[2 * at]) === "1"));
    return { applied: true, results };
  }

  async read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
    return (await this.#records(ids.map(encodeId))).map((record) => record?.item);
  }

  async scan(scope: Scope, options: { after?: ItemId; limit: number }): Promise<readonly StoredItem[]> {
    const found: StoredItem[] = [];
    const after = options.after === undefined ? undefined : encodeId(options.after);
    const atOnce = scope.condition === undefined ? Math.min(options.limit, ITEMS_AT_ONCE) : ITEMS_AT_ONCE;
    for await (const item of this.#inside(scope, after, atOnce)) {
      if (found.push(item) === options.limit) break;
    }
    return found;
  }

  async namespaces(prefix: Namespace, options: { after?: Namespace; limit: number }): Promise<readonly Namespace[]> {
    const bounds = lexBounds({ namespace: prefix, recursive: true });
    const found: Namespace[] = [];
    let from = options.after === undefined ? bounds[0] : `[${encodeNamespace(options.after)}\u0002`;
    while (found.length < options.limit) {
      const wanted = String(Math.min(options.limit - found.length, ITEMS_AT_ONCE));
      const reply = (asReply(await this.#run(WALK_NAMESPACES, [from, bounds[1], wanted])) ?? []).map(asText);
      const [next = "end", ...some] = reply;
      found.push(...some.map(decodeNamespace));
      if (next === "end") return found;
      from = next;
    }
    return found;
  }

  async clear(scope: Omit<Scope, "condition">, options: { before: number; limit: number }): Promise<number> {
    const bounds = lexBounds(scope);
    let count = 0;
    for (let from = bounds[0]; count < options.limit; ) {
      const wanted = String(Math.min(options.limit - count, ITEMS_AT_ONCE));
      const reply = asReply(await this.#run(CLEAR_ITEMS, [from, bounds[1], wanted, String(options.before)])) ?? [];
      const [next = "end", some = "0"] = reply.map(asText);
      count += Number(some);
      if (next === "end") return count;
      from = next;
    }
    return count;
  }

  async searchText(scope: Scope, words: readonly string[], limit: number): Promise<readonly RankedItem[]> {
    const ranked = await rankedByWords(this.#runScript, scope, words);
    const hits: RankedItem[] = [];
    for (let at = 0; at < ranked.length && hits.length < limit; at += ITEMS_AT_ONCE) {
      const some = ranked.slice(at, at + ITEMS_AT_ONCE);
      const records = await this.#records(some.map(({ id }) => id));
      for (const [index, record] of records.entries()) {
        const item = record && kept(scope, record);
        if (item !== undefined) hits.push({ item, score: some[index]?.score ?? 0 });
      }
    }
    return hits.slice(0, limit);
  }

  searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
    return this.#vectors.search(scope, vector, limit);
  }

  async readVector(id: ItemId): Promise<Float32Array | undefined> {
    const { now, items } = await readVectorItems(this.#runScript, "vectors", [anyVectorOf(encodeId(id))]);
    const row = items[0]?.row;
    return row !== undefined && (row.end === undefined || row.end > now) ? row.vector : undefined;
  }

  async dimension(below: Namespace): Promise<number | undefined> {
    const found = await this.#run(ANY_VECTOR, lexBounds({ namespace: below, recursive: true }));
    return Buffer.isBuffer(found) ? openVector(found).vector.length : undefined;
  }

  async now(): Promise<number> {
    return Number(asText(await this.#run(NOW, [])));
  }

  /** See `mendRedisStore`. */
  async mend(): Promise<{ readonly items: number; readonly vectors: number }> {
    const { run, port } = await (await this.#link.get()).server();
    const [items = "", , vectors = ""] = this.#keys.all;
    await run(BEGIN_MENDING, this.#keys.all);
    let [there, near] = [0, 0];
    for await (const ids of fieldsOf(port, items)) {
      const [some, withVectors] = asReply(await run(MEND_ITEMS, this.#keys.all, ids)) ?? [];
      there += Number(asText(some));
      near += Number(asText(withVectors));
    }
    for await (const names of fieldsOf(port, vectors)) await run(MEND_VECTORS, this.#keys.all, names);
    await run(END_MENDING, this.#keys.all);
    return { items: there, vectors: near };
  }

  /** Each part against the others, some entries in a step. */
  async verify(): Promise<void> {
    let left = Number(asText(await this.#run(SWEEP_ENDED, [])));
    // What ends meanwhile is a later erasure's.
    for (let before = Number.POSITIVE_INFINITY; left > 0 && left < before; ) {
      before = left;
      left = Number(asText(await this.#run(SWEEP_ENDED, [])));
    }
    const { port } = await (await this.#link.get()).server();
    const [items = "", , vectors = ""] = this.#keys.all;
    for await (const fields of fieldsOf(port, items)) await this.#run(VERIFY_FIELDS, ["items", ...fields]);
    for await (const fields of fieldsOf(port, vectors)) await this.#run(VERIFY_FIELDS, ["vectors", ...fields]);
    for (const part of ["ids", "vids", "words"]) {
      for (let last: unknown = ""; ; ) {
        last = await this.#run(VERIFY_MEMBERS, [part, last as Argument, String(ITEMS_AT_ONCE)]);
        if (asText(last) === "") break;
      }
    }
  }

  classify(error: unknown): ErrorCode | undefined {
    return classify(error);
  }

  override async scrub(): Promise<ScrubReport> {
    const { port } = await (await this.#link.get()).server();
    return rewriteFiles(await port.primaries());
  }

  close(): Promise<void> {
    return this.#link.release();
  }

  readonly #runScript: RunStoreScript = (script, args) => this.#run(script, args);

  async #run(script: Script, args: readonly Argument[]): Promise<unknown> {
    const { run } = await (await this.#link.get()).server();
    return run(script, this.#keys.all, args);
  }

  /** Items that have not expired, in the order of the ids. */
  async #records(ids: readonly string[]): Promise<readonly (Record | undefined)[]> {
    const records: (Record | undefined)[] = [];
    for (let at = 0; at < ids.length; at += ITEMS_AT_ONCE) {
      const some = ids.slice(at, at + ITEMS_AT_ONCE);
      const [now, ...found] = asReply(await this.#run(READ_ITEMS, some)) ?? [];
      for (const [index, id] of some.entries()) {
        const bytes = found[index];
        const record = bytes == null ? undefined : decodeRecord(id, bytes);
        records.push(record !== undefined && isLive(record.item.expiresAt, asText(now)) ? record : undefined);
      }
    }
    return records;
  }

  async *#inside(scope: Scope, after?: string, atOnce = ITEMS_AT_ONCE): AsyncGenerator<StoredItem> {
    for await (const [id, bytes, now] of this.#pages(scope, atOnce, after)) {
      const item = kept(scope, decodeRecord(id, bytes));
      if (item !== undefined && isLive(item.expiresAt, now)) yield item;
    }
  }

  async *#pages(
    scope: Scope,
    atOnce: number,
    after?: string,
  ): AsyncGenerator<readonly [id: string, bytes: Buffer, now: string]> {
    for (let last = after; ; ) {
      const bounds = lexBounds(scope, { after: last });
      const reply = asReply(await this.#run(PAGE_OF_ITEMS, [...bounds, String(atOnce)])) ?? [];
      const now = asText(reply[0]);
      for (let at = 1; at < reply.length; at += 2) {
        last = asText(reply[at]);
        const bytes = reply[at + 1];
        if (bytes != null) yield [last, bytes, now];
      }
      if ((reply.length - 1) / 2 < atOnce) return;
    }
  }
}

const isLive = (end: number | undefined, now: string): boolean => end === undefined || end > Number(now);

/** The fields of a hash, some at a time; of one that changes meanwhile, at least those that stay. */
async function* fieldsOf(port: RedisPort, key: string): AsyncGenerator<readonly Argument[]> {
  let cursor = "0";
  do {
    const [next, found] = (await port.send(key, ["HSCAN", key, cursor, "COUNT", String(ITEMS_AT_ONCE)])) as [
      unknown,
      unknown,
    ];
    cursor = asText(next);
    const fields = (asReply(found) ?? []).filter((_, at) => at % 2 === 0);
    const names = fields.flatMap((field) => (field == null || asText(field) === PARTS_FIELD ? [] : [asText(field)]));
    if (names.length > 0) yield names;
  } while (cursor !== "0");
}
