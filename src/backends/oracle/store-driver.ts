import type { Lease } from "../../driver/connection.ts";
import type { ScrubReport } from "../../driver/driver.ts";
import type { VersionWatch } from "../../driver/version-watch.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { decodeNamespace, rangeBelow } from "../../store/driver/namespaces.ts";
import type {
  Change,
  ItemId,
  RankedItem,
  Scope,
  StoreDriverCapabilities,
  StoredItem,
  WriteOutcome,
} from "../../store/driver/store-driver.ts";
import { type ItemQuery, type StoreDialect, within } from "../../store/sql-store/queries.ts";
import type { Sql } from "../../store/sql-store/sql.ts";
import { type SqlRow, SqlStoreDriver } from "../../store/sql-store/sql-store-driver.ts";
import type { Answer } from "./ask.ts";
import { type Binds, number, OUT_NUMBER, text } from "./binds.ts";
import { classify } from "./classify.ts";
import type { OracleConnection } from "./connect.ts";
import type { OracleHandle } from "./handle.ts";
import { storeDeployment } from "./parts.ts";
import { columnsOf } from "./prepare-tables.ts";
import { clearBlock } from "./store-block.ts";
import { COLUMNS, MOST_IDS, rendered, STORE_NOW, storeDialect, textQuery, vectorQuery } from "./store-dialect.ts";
import type { StoreTables } from "./store-layout.ts";
import { storedWord, writeChanges } from "./store-writing.ts";
import { createVectorIndex, type VectorIndex } from "./vector-index.ts";

export interface OracleStoreDriverOptions {
  readonly connection: OracleConnection;
  readonly tables: StoreTables;
  /** The dimension of the table's vectors. */
  readonly dimension: number | undefined;
  readonly vectorIndex: VectorIndex | undefined;
  readonly exactUpTo?: number;
}

/** Up to this many vectors are compared exactly before an index is used, if there is one. */
const EXACT_UP_TO = 10_000;

const CAPABILITIES: StoreDriverCapabilities = {
  durability: "fsync",
  connects: true,
  transactions: true,
  ttl: true,
  maxItemBytes: 64 * 1024 * 1024,
  // Until the table was inspected.
  vectorSearch: "none",
  maxExactVectors: Number.POSITIVE_INFINITY,
};

/** Items in Oracle Database. A write is one block; SQL narrows filters down, and this process decides. */
export class OracleStoreDriver extends SqlStoreDriver {
  readonly name: string = "oracle";
  protected readonly dialect: StoreDialect;
  protected override readonly mostIds: number = MOST_IDS;
  readonly #options: OracleStoreDriverOptions;
  readonly #tables: StoreTables;
  readonly #handle: Lease<OracleHandle>;
  #version: VersionWatch | undefined;
  #capabilities: StoreDriverCapabilities = CAPABILITIES;
  #hasVectors = false;

  constructor(options: OracleStoreDriverOptions) {
    super();
    this.#options = options;
    this.#tables = options.tables;
    this.dialect = storeDialect(options.tables);
    this.#handle = options.connection.lease((handle) => this.#prepare(handle));
  }

  get secrets(): readonly string[] {
    return this.#options.connection.secrets;
  }

  get capabilities(): StoreDriverCapabilities {
    return this.#capabilities;
  }

  override async connect(): Promise<void> {
    await this.#handle.get();
  }

  async write(changes: readonly Change[]): Promise<WriteOutcome> {
    const handle = await this.#current();
    return handle.onSession((asking) => writeChanges(asking, this.#tables, changes, this.#hasVectors));
  }

  async clear(scope: Omit<Scope, "condition">, options: { before: number; limit: number }): Promise<number> {
    const [from, before] = rangeBelow(scope.namespace);
    const reach = scope.recursive ? (before === undefined ? "all" : "below") : "own";
    const { out } = await this.#ask(
      clearBlock(this.#tables, reach),
      {
        b_from: text(from),
        b_before: text(before),
        b_written: text(new Date(options.before).toISOString()),
        b_most: number(options.limit),
        b_count: OUT_NUMBER,
      },
      true,
    );
    return Number(out["b_count"]);
  }

  override searchText(scope: Scope, words: readonly string[], limit: number): Promise<readonly RankedItem[]> {
    return super.searchText(scope, [...new Set(words.map(storedWord))], limit);
  }

  async searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
    await this.#handle.get();
    if (!this.#hasVectors) return [];
    const inside = within(this.dialect, scope);
    const search = (approximate: boolean): Promise<readonly RankedItem[]> =>
      this.ranked(scope, inside, limit, (most) => vectorQuery(this.#tables, inside.sql, vector, { most, approximate }));
    const { vectorIndex, exactUpTo = EXACT_UP_TO } = this.#options;
    if (vectorIndex !== undefined && (await this.countVectors(inside.sql, undefined, exactUpTo + 1)) > exactUpTo) {
      const found = await search(true);
      // An index may miss some; then all are compared exactly.
      if (found.length >= limit) return found;
    }
    return search(false);
  }

  override async readVector(id: ItemId): Promise<Float32Array | undefined> {
    await this.#handle.get();
    return this.#hasVectors ? super.readVector(id) : undefined;
  }

  /** The column's, whatever the namespace: there is no other in the table. */
  override async dimension(): Promise<number | undefined> {
    await this.#handle.get();
    return this.#hasVectors ? super.dimension([]) : undefined;
  }

  async now(): Promise<number> {
    const [row] = await this.query(STORE_NOW);
    return Date.parse(String(row?.["clock"]));
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
    const { text, binds } = rendered(statement);
    const { rows } = await this.#ask(text, binds);
    return rows.map(inSmallLetters);
  }

  /** Short values in one round trip; if some are long, everything is read again, because an item may have changed since. */
  protected async items(query: ItemQuery): Promise<readonly SqlRow[]> {
    const rows = await this.query(query(COLUMNS.short));
    return rows.every((row) => row["lengthy"] === 0) ? rows : this.query(query(COLUMNS.long));
  }

  protected textQuery(inside: Sql, words: readonly string[], most: number): ItemQuery {
    return textQuery(this.#tables, inside, words, most);
  }

  protected toVector(column: unknown): Float32Array {
    if (column instanceof Float32Array) return column;
    throw new StateError("CORRUPT", "the column embedding holds no vector of numbers of 32 bits");
  }

  protected override toItem(row: SqlRow): StoredItem {
    const value = textIn(row, "value") ?? textIn(row, "long_value");
    if (value === undefined) throw new StateError("CORRUPT", "an item's row has no value");
    return {
      namespace: decodeNamespace(textIn(row, "namespace") ?? ""),
      key: textIn(row, "key") ?? "",
      value,
      metadata: textIn(row, "metadata") ?? textIn(row, "long_metadata"),
      version: textIn(row, "version") ?? "",
      createdAt: Date.parse(textIn(row, "created_at") ?? ""),
      updatedAt: Date.parse(textIn(row, "updated_at") ?? ""),
      expiresAt: row["expires_at"] == null ? undefined : Date.parse(textIn(row, "expires_at") ?? ""),
    };
  }

  async #ask(statement: string, binds?: Binds, commit?: boolean): Promise<Answer> {
    const handle = await this.#current();
    return handle.ask(statement, binds, commit);
  }

  /** For each call, because another process may have migrated the tables meanwhile. */
  async #current(): Promise<OracleHandle> {
    const handle = await this.#handle.get();
    const looking = this.#version?.assertCurrent();
    if (looking !== undefined) await looking;
    return handle;
  }

  async #prepare(handle: OracleHandle): Promise<OracleHandle> {
    const { connection, dimension, vectorIndex } = this.#options;
    if (dimension !== undefined) handle.assertVectors();
    this.#version = await handle.prepare(storeDeployment(this.#tables, dimension));
    const columns = await handle.onSession((asking) => columnsOf(asking, this.#tables.owner, this.#tables.items));
    this.#hasVectors = columns.includes("EMBEDDING");
    const mayCreate = this.#hasVectors && connection.access !== "read";
    if (mayCreate && vectorIndex !== undefined) await createVectorIndex(handle, this.#tables, vectorIndex);
    const searched = vectorIndex === undefined ? "exact" : "index";
    this.#capabilities = { ...CAPABILITIES, vectorSearch: this.#hasVectors ? searched : "none" };
    return handle;
  }
}

const REMAINS: readonly string[] = [
  "deleted rows in blocks of the tables until others are written there, or ALTER TABLE … SHRINK SPACE",
  "undo, redo logs, flashback logs and backups until the database overwrites them, and standbys",
];

const inSmallLetters = (row: Answer["rows"][number]): SqlRow =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [column.toLowerCase(), value]));

function textIn(row: SqlRow, column: string): string | undefined {
  const value = row[column];
  return typeof value === "string" ? value : undefined;
}
