import type { Lease } from "../../driver/connection.ts";
import { BaseDriver, type ScrubReport } from "../../driver/driver.ts";
import type { VersionWatch } from "../../driver/version-watch.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { decodeNamespace, encodeId, encodeNamespace, rangeBelow } from "../../store/namespaces.ts";
import type {
  Change,
  FullStoreDriver,
  ItemId,
  Namespace,
  RankedItem,
  Scope,
  StoreDriverCapabilities,
  StoredItem,
  WriteOutcome,
} from "../../store/store-driver.ts";
import type { TextRow } from "./ask.ts";
import { classify } from "./classify.ts";
import type { PostgresqlConnection } from "./connect.ts";
import type { PostgresHandle } from "./handle.ts";
import { type TableNames, tableNames } from "./layout.ts";
import { store } from "./parts.ts";
import { DEAD_ROWS } from "./scrubbing.ts";
import { Values } from "./store-conditions.ts";
import {
  ITEM_COLUMNS,
  NOW_SQL,
  scopeSql,
  toItem,
  toResult,
  vectorOfSent,
  writeSql,
  writeValues,
} from "./store-rows.ts";
import { anyWordQuery, RANK_WEIGHTS } from "./store-words.ts";
import { createIndexSql, indexName, MAX_INDEXED_DIMENSION, searchVector, type VectorSupport } from "./vector-search.ts";

export interface PostgresStoreDriverOptions {
  readonly connection: PostgresqlConnection;
  readonly schema: string;
  readonly tablePrefix: string;
  /** The dimension to create a vector index for. */
  readonly indexedDimension?: number;
  readonly exactUpTo?: number;
}

const LIVE = `(i.expires_at IS NULL OR i.expires_at > ${NOW_SQL})`;

/** Without pgvector, at most this many vectors are compared in this process. With it, its index is used above this number. */
const EXACT_UP_TO = 10_000;

const CAPABILITIES: StoreDriverCapabilities = {
  // Whatever its settings, the server outlives this process. The first contact may tell more.
  durability: "os",
  connects: true,
  transactions: true,
  ttl: true,
  maxItemBytes: 64 * 1024 * 1024,
  vectorSearch: "exact",
  maxExactVectors: EXACT_UP_TO,
};

/** Items in PostgreSQL. Every method is a few statements that need no session, so it works behind any pooler. */
export class PostgresStoreDriver extends BaseDriver implements FullStoreDriver {
  readonly name: string = "postgres";
  readonly secrets: readonly string[];
  readonly #names: TableNames;
  readonly #handle: Lease<PostgresHandle>;
  readonly #options: PostgresStoreDriverOptions;
  #capabilities: StoreDriverCapabilities = CAPABILITIES;
  #support: VectorSupport | undefined;
  #version: VersionWatch | undefined;

  constructor(options: PostgresStoreDriverOptions) {
    super();
    this.#options = options;
    this.#names = tableNames(options.schema, options.tablePrefix);
    this.secrets = options.connection.secrets;
    this.#handle = options.connection.lease((handle) => this.#prepare(handle));
  }

  get capabilities(): StoreDriverCapabilities {
    return this.#capabilities;
  }

  override async connect(): Promise<void> {
    await this.#handle.get();
  }

  async write(changes: readonly Change[]): Promise<WriteOutcome> {
    const rows = await this.#ask(writeSql(this.#names.writeItems), writeValues(changes));
    const refused = rows.find((row) => row["applied"] === "f");
    if (refused === undefined) return { applied: true, results: rows.map(toResult) };
    const because = refused["repeated"] === "t" ? "write key" : "version";
    return { applied: false, index: Number(refused["change"]) - 1, because, version: refused["r_version"] ?? null };
  }

  async read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
    const values = new Values();
    const namespaces = values.add(
      ids.map(({ namespace }) => encodeNamespace(namespace)),
      "text[]",
    );
    const keys = values.add(
      ids.map(({ key }) => key),
      "text[]",
    );
    const sql = `SELECT ${ITEM_COLUMNS} FROM unnest(${namespaces}, ${keys}) AS n (namespace, key)
      JOIN ${this.#names.items} i ON i.namespace = n.namespace AND i.key = n.key WHERE ${LIVE}`;
    const rows = (await this.#ask(sql, values.list)).map(toItem);
    const items = new Map(rows.map((item) => [encodeId(item), item]));
    return ids.map((id) => items.get(encodeId(id)));
  }

  async scan(scope: Scope, { after, limit }: { after?: ItemId; limit: number }): Promise<readonly StoredItem[]> {
    const values = new Values();
    const conditions = [scopeSql(scope, values)];
    if (after !== undefined) {
      const place = `${values.add(encodeNamespace(after.namespace), "text")}, ${values.add(after.key, "text")}`;
      conditions.push(`(i.namespace, i.key) > (${place})`);
    }
    const sql = `SELECT ${ITEM_COLUMNS} FROM ${this.#names.items} i WHERE ${conditions.join(" AND ")}
      ORDER BY i.namespace, i.key LIMIT ${values.add(limit, "bigint")}`;
    return (await this.#ask(sql, values.list)).map(toItem);
  }

  async namespaces(prefix: Namespace, options: { after?: Namespace; limit: number }): Promise<readonly Namespace[]> {
    const values = new Values();
    const [from, before] = rangeBelow(prefix);
    const conditions = [LIVE, `i.namespace >= ${values.add(from, "text")}`];
    if (before !== undefined) conditions.push(`i.namespace < ${values.add(before, "text")}`);
    if (options.after !== undefined) {
      conditions.push(`i.namespace > ${values.add(encodeNamespace(options.after), "text")}`);
    }
    const sql = `SELECT DISTINCT i.namespace FROM ${this.#names.items} i WHERE ${conditions.join(" AND ")}
      ORDER BY i.namespace LIMIT ${values.add(options.limit, "bigint")}`;
    return (await this.#ask(sql, values.list)).map((row) => decodeNamespace(row["namespace"] ?? ""));
  }

  async clear(scope: Omit<Scope, "condition">, options: { before: number; limit: number }): Promise<number> {
    const { items } = this.#names;
    const values = new Values();
    const inside = scopeSql({ ...scope, condition: undefined }, values);
    const sql = `WITH old AS (
        SELECT i.id FROM ${items} i WHERE ${inside} AND i.updated_at <= ${values.add(options.before, "bigint")}
        ORDER BY i.id LIMIT ${values.add(options.limit, "bigint")} FOR UPDATE),
      gone AS (DELETE FROM ${items} WHERE id IN (SELECT id FROM old) RETURNING id)
      SELECT count(*) AS n FROM gone`;
    const [row] = await this.#ask(sql, values.list);
    return Number(row?.["n"]);
  }

  async searchText(scope: Scope, words: readonly string[], limit: number): Promise<readonly RankedItem[]> {
    const values = new Values();
    const query = values.add(anyWordQuery(words), "tsquery");
    const sql = `SELECT ${ITEM_COLUMNS}, ts_rank(${RANK_WEIGHTS}, i.words, ${query}) AS score FROM ${this.#names.items} i
      WHERE i.words @@ ${query} AND ${scopeSql(scope, values)}
      ORDER BY score DESC, i.id LIMIT ${values.add(limit, "bigint")}`;
    const rows = await this.#ask(sql, values.list);
    return rows.map((row) => ({ item: toItem(row), score: Number(row["score"]) }));
  }

  async searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
    await this.#handle.get();
    const { exactUpTo = EXACT_UP_TO } = this.#options;
    const ask = (text: string, values: readonly unknown[]): Promise<readonly TextRow[]> => this.#ask(text, values);
    return searchVector({ ask, names: this.#names, support: this.#support, exactUpTo }, scope, vector, limit);
  }

  async readVector({ namespace, key }: ItemId): Promise<Float32Array | undefined> {
    const { items, itemVectors } = this.#names;
    const sql = `SELECT array_send(v.vector) AS sent FROM ${items} i JOIN ${itemVectors} v ON v.item = i.id
      WHERE i.namespace = $1 AND i.key = $2 AND ${LIVE}`;
    const [row] = await this.#ask(sql, [encodeNamespace(namespace), key]);
    return row && vectorOfSent(row["sent"]);
  }

  async dimension(below: Namespace): Promise<number | undefined> {
    const { items, itemVectors } = this.#names;
    const [from, before] = rangeBelow(below);
    const [row] =
      before === undefined
        ? await this.#ask(`SELECT dims FROM ${itemVectors} LIMIT 1`, [])
        : await this.#ask(
            `SELECT v.dims FROM ${items} i JOIN ${itemVectors} v ON v.item = i.id
             WHERE i.namespace >= $1 AND i.namespace < $2 LIMIT 1`,
            [from, before],
          );
    return row && Number(row["dims"]);
  }

  async now(): Promise<number> {
    const [row] = await this.#ask(`SELECT ${NOW_SQL} AS now`, []);
    return Number(row?.["now"]);
  }

  classify(error: unknown): ErrorCode | undefined {
    return classify(error);
  }

  override async scrub(): Promise<ScrubReport> {
    return { done: [], remains: DEAD_ROWS };
  }

  close(): Promise<void> {
    return this.#handle.release();
  }

  async #ask(text: string, values: readonly unknown[]): Promise<readonly TextRow[]> {
    const handle = await this.#handle.get();
    const looking = this.#version?.assertCurrent();
    if (looking !== undefined) await looking;
    return handle.ask(text, values);
  }

  async #prepare(handle: PostgresHandle): Promise<PostgresHandle> {
    this.#version = await handle.prepare(this.#names, store(this.#names));
    this.#support = await this.#findSupport(handle);
    const vectorSearch = this.#support !== undefined && this.#support.indexed.size > 0 ? "index" : "exact";
    this.#capabilities = {
      ...CAPABILITIES,
      durability: handle.durability,
      vectorSearch,
      maxExactVectors: this.#support === undefined ? EXACT_UP_TO : Number.POSITIVE_INFINITY,
    };
    return handle;
  }

  /** Whether pgvector is installed in this database, in which schema, and which dimensions have an index. */
  async #findSupport(handle: PostgresHandle): Promise<VectorSupport | undefined> {
    const { indexedDimension } = this.#options;
    const [extension] = await handle.ask(
      `SELECT e.extversion AS version, quote_ident(n.nspname) AS schema
       FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'`,
    );
    if (extension === undefined && indexedDimension !== undefined) {
      const what = "vectorIndex needs pgvector: run CREATE EXTENSION vector in this database";
      throw new StateError("UNSUPPORTED", what, { capability: "vectorSearch" });
    }
    if (extension === undefined) return undefined;
    const schema = extension["schema"] ?? "public";
    if (indexedDimension !== undefined) await handle.ask(createIndexSql(this.#names, schema, indexedDimension));
    const [major = 0, minor = 0] = (extension["version"] ?? "").split(".").map(Number);
    return { schema, iterates: major > 0 || minor >= 8, indexed: await this.#indexedLengths(handle) };
  }

  async #indexedLengths(handle: PostgresHandle): Promise<ReadonlySet<number>> {
    const rows = await handle.ask(
      `SELECT c.relname AS name FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
       WHERE x.indrelid = to_regclass($1) AND x.indisvalid`,
      [this.#names.itemVectors],
    );
    const names = new Set(rows.map((row) => row["name"]));
    const lengths = Array.from({ length: MAX_INDEXED_DIMENSION }, (_, index) => index + 1);
    return new Set(lengths.filter((dims) => names.has(indexName(this.#names, dims))));
  }
}
