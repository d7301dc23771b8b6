import type { SqlText, Value as SqlValue, Values } from "../../checkpoint/sql-log/dialect.ts";
import type { SqlSession } from "../../checkpoint/sql-log/plain-changes.ts";
import type { Lease } from "../../driver/connection.ts";
import type { ScrubReport } from "../../driver/driver.ts";
import type { VersionWatch } from "../../driver/version-watch.ts";
import type { ErrorCode } from "../../errors.ts";
import type {
  Change,
  RankedItem,
  Scope,
  StoreDriverCapabilities,
  WriteOutcome,
} from "../../store/driver/store-driver.ts";
import { vectorFromBytes } from "../../store/search/vectors.ts";
import { plainClear, plainWrite } from "../../store/sql-store/plain-writing.ts";
import { bm25Scores, type ItemQuery, rankedQuery, type StoreDialect } from "../../store/sql-store/queries.ts";
import { number, positional, raw, type Sql, sql, text } from "../../store/sql-store/sql.ts";
import { type SqlRow, SqlStoreDriver } from "../../store/sql-store/sql-store-driver.ts";
import { classify } from "./classify.ts";
import type { MysqlConnection } from "./connect.ts";
import type { MysqlHandle } from "./handle.ts";
import { store, type TableNames } from "./layout.ts";
import { REMAINS } from "./log.ts";

/** At most this many vectors are compared, in this process. */
const MOST_VECTORS = 10_000;
const ADVICE = "this server keeps no index of them: search a smaller namespace, or with a filter";

const NOW = "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)";
const COLUMNS = raw("i.namespace, i.key, i.value, i.metadata, i.version, i.created_at, i.updated_at, i.expires_at");

/** Filters are decided in this process: no server reads JSON in a column of bytes as `matches` does. */
const dialectOf = ({ items, itemVectors }: TableNames): StoreDialect => ({
  items: raw(items),
  now: raw(NOW),
  fields: { areExact: false, exists: () => undefined, equals: () => undefined, compares: () => undefined },
  comparesRows: false,
  limit: (most) => sql`LIMIT ${number(most)}`,
  vectors: {
    join: raw(`JOIN ${itemVectors} v ON v.item = i.id`),
    vector: raw("v.vector"),
    dims: raw("v.dims"),
    isThere: raw("v.dims IS NOT NULL"),
    anyLength: raw(`SELECT dims FROM ${itemVectors} LIMIT 1`),
  },
});

/** Items in MySQL or MariaDB. */
export class MysqlStoreDriver extends SqlStoreDriver {
  readonly name = "mysql";
  protected readonly dialect: StoreDialect;
  readonly #connection: MysqlConnection;
  readonly #names: TableNames;
  readonly #handle: Lease<MysqlHandle>;
  #version: VersionWatch | undefined;
  #capabilities: StoreDriverCapabilities = {
    ...{ durability: "os", connects: true, transactions: true, ttl: true, maxItemBytes: 1024 * 1024 },
    ...{ vectorSearch: "exact", maxExactVectors: MOST_VECTORS },
  };

  constructor(connection: MysqlConnection, names: TableNames) {
    super();
    this.#connection = connection;
    this.#names = names;
    this.dialect = dialectOf(names);
    this.#handle = connection.lease(async (handle) => {
      const { prepareTables } = await import("./tables.ts");
      this.#version = await prepareTables(handle, names, store(names));
      const { durability, maxRecordBytes: maxItemBytes } = handle;
      this.#capabilities = { ...this.#capabilities, durability, maxItemBytes };
      return handle;
    });
  }

  get secrets(): readonly string[] {
    return this.#connection.secrets;
  }

  get capabilities(): StoreDriverCapabilities {
    return this.#capabilities;
  }

  override async connect(): Promise<void> {
    await this.#handle.get();
  }

  write(changes: readonly Change[]): Promise<WriteOutcome> {
    return this.#transaction((ask) => plainWrite(ask, this.dialect, this.#tables(), changes));
  }

  clear(scope: Omit<Scope, "condition">, options: { before: number; limit: number }): Promise<number> {
    return this.#transaction((ask) => plainClear(ask, this.dialect, this.#tables(), scope, options));
  }

  searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
    return this.compareHere(scope, vector, limit, { most: MOST_VECTORS, advice: ADVICE, firstId: text("") });
  }

  async now(): Promise<number> {
    return Number((await this.query(raw(`SELECT ${NOW} AS now`)))[0]?.["now"]);
  }

  classify(error: unknown): ErrorCode | undefined {
    return classify(error);
  }

  override async scrub(): Promise<ScrubReport> {
    return { done: [], remains: REMAINS };
  }

  close(): Promise<void> {
    return this.#handle.release();
  }

  protected async query(statement: Sql): Promise<readonly SqlRow[]> {
    const handle = await this.#current();
    return (await handle.ask(...asked(statement))).rows;
  }

  protected items(query: ItemQuery): Promise<readonly SqlRow[]> {
    return this.query(query(COLUMNS));
  }

  protected textQuery(inside: Sql, words: readonly string[], most: number): ItemQuery {
    return rankedQuery(this.dialect, bm25Scores(this.dialect, raw(this.#names.itemWords), words, inside), most);
  }

  protected toVector(column: unknown): Float32Array {
    return vectorFromBytes(column as Uint8Array);
  }

  #tables() {
    const { items, itemWords: words, itemVectors: vectors, itemWrites: writes, itemBuckets: buckets } = this.#names;
    return { items, words, vectors, writes, buckets };
  }

  async #transaction<T>(work: (ask: (statement: Sql) => Promise<readonly SqlRow[]>) => Promise<T>): Promise<T> {
    const handle = await this.#current();
    const result = await handle.transaction(async (session: SqlSession) => ({
      done: await work(async (statement) => (await session.ask(...asked(statement))).rows),
    }));
    if (result === undefined) throw new TypeError("a transaction of items always says what it did");
    return result.done;
  }

  async #current(): Promise<MysqlHandle> {
    const handle = await this.#handle.get();
    const looking = this.#version?.assertCurrent();
    if (looking !== undefined) await looking;
    return handle;
  }
}

function asked(statement: Sql): [SqlText, Values] {
  const { text: written, values } = positional(statement);
  const names = values.map((_, at) => `v${at}`);
  return [{ text: written, names }, Object.fromEntries(names.map((name, at) => [name, values[at] as SqlValue]))];
}
