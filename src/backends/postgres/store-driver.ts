import type { Lease } from "../../driver/connection.ts";
import type { ScrubReport } from "../../driver/driver.ts";
import type { VersionWatch } from "../../driver/version-watch.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import type {
  Change,
  RankedItem,
  Scope,
  StoreDriverCapabilities,
  WriteOutcome,
} from "../../store/driver/store-driver.ts";
import { type ItemQuery, type StoreDialect, within } from "../../store/sql-store/queries.ts";
import { number, raw, type Sql, sql, text } from "../../store/sql-store/sql.ts";
import { SqlStoreDriver } from "../../store/sql-store/sql-store-driver.ts";
import type { TextRow } from "./ask.ts";
import { classify } from "./classify.ts";
import type { PostgresqlConnection } from "./connect.ts";
import type { PostgresHandle } from "./handle.ts";
import { type TableNames, tableNames } from "./layout.ts";
import { store } from "./parts.ts";
import { DEAD_ROWS } from "./scrubbing.ts";
import { ITEM_COLUMNS, NOW_SQL, rendered, storeDialect } from "./store-dialect.ts";
import { anyWordQuery, RANK_WEIGHTS } from "./store-words.ts";
import { outcomeOf, writeSql, writeValues } from "./store-writing.ts";
import {
  canUseIndex,
  createIndexSql,
  exactQuery,
  indexName,
  indexQuery,
  MAX_INDEXED_DIMENSION,
  type VectorSupport,
  vectorOfSent,
} from "./vector-search.ts";

export interface PostgresStoreDriverOptions {
  readonly connection: PostgresqlConnection;
  readonly schema: string;
  readonly tablePrefix: string;
  /** The dimension to create a vector index for. */
  readonly indexedDimension?: number;
  readonly exactUpTo?: number;
}

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
export class PostgresStoreDriver extends SqlStoreDriver {
  readonly name: string = "postgres";
  readonly secrets: readonly string[];
  protected readonly dialect: StoreDialect;
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
    this.dialect = storeDialect(this.#names);
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
    return outcomeOf(await this.#ask(writeSql(this.#names.writeItems), writeValues(changes)));
  }

  async clear(scope: Omit<Scope, "condition">, options: { before: number; limit: number }): Promise<number> {
    const items = raw(this.#names.items);
    const inside = within(this.dialect, { ...scope, condition: undefined }).sql;
    const [row] = await this.query(sql`WITH old AS (
        SELECT i.id FROM ${items} i WHERE ${inside} AND i.updated_at <= ${number(options.before)}
        ORDER BY i.id ${this.dialect.limit(options.limit)} FOR UPDATE),
      gone AS (DELETE FROM ${items} WHERE id IN (SELECT id FROM old) RETURNING id)
      SELECT count(*) AS n FROM gone`);
    return Number(row?.["n"]);
  }

  /**
   * We choose the plan, not the planner. Left to itself, the planner uses the graph
   * index even for a filter that keeps one item in a hundred, and then finds a third
   * of them or fewer. If few items match, they are compared exactly, which is fast. If
   * many match, the index is used. If the index returned fewer than there are, they
   * are compared exactly after all.
   */
  async searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
    await this.#handle.get();
    const support = this.#support;
    const { exactUpTo = EXACT_UP_TO } = this.#options;
    if (support === undefined) {
      const advice =
        "the server has no pgvector: run CREATE EXTENSION vector in this database, or search a smaller namespace or with a filter";
      return this.compareHere(scope, vector, limit, { most: exactUpTo, advice, firstId: number(0) });
    }
    const inside = within(this.dialect, scope);
    const isMany = async (): Promise<boolean> =>
      (await this.countVectors(inside.sql, vector.length, exactUpTo + 1)) > exactUpTo;
    if (canUseIndex(support, vector.length, limit) && (await isMany())) {
      const found = await this.items(indexQuery(this.dialect, support, scope, vector, limit));
      if (found.length >= limit) return found.map((row) => this.toHit(row));
    }
    const all = await this.items(exactQuery(this.dialect, support, scope, vector, limit));
    return all.map((row) => this.toHit(row));
  }

  protected query(statement: Sql): Promise<readonly TextRow[]> {
    const { text, values } = rendered(statement);
    return this.#ask(
      text,
      values.map(({ value }) => value),
    );
  }

  protected items(query: ItemQuery): Promise<readonly TextRow[]> {
    return this.query(query(ITEM_COLUMNS));
  }

  protected textQuery(inside: Sql, words: readonly string[], most: number): ItemQuery {
    const wanted = sql`${text(anyWordQuery(words))}::tsquery`;
    return (columns) => sql`SELECT ${columns}, ts_rank(${raw(RANK_WEIGHTS)}, i.words, ${wanted}) AS score
      FROM ${this.dialect.items} i WHERE i.words @@ ${wanted} AND ${inside} ORDER BY score DESC, i.id ${this.dialect.limit(most)}`;
  }

  protected toVector(column: unknown): Float32Array {
    return vectorOfSent(column);
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
