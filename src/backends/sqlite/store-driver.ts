import type { ScrubReport } from "../../driver/driver.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import type {
  Change,
  Condition,
  ItemId,
  RankedItem,
  Scope,
  StoreDriverCapabilities,
  StoredItem,
  WriteOutcome,
} from "../../store/driver/store-driver.ts";
import { matches } from "../../store/search/item-fields.ts";
import { vectorFromBytes } from "../../store/search/vectors.ts";
import { type ItemQuery, type StoreDialect, within } from "../../store/sql-store/queries.ts";
import { number, type Sql, sql } from "../../store/sql-store/sql.ts";
import { itemOf, type SqlRow, SqlStoreDriver } from "../../store/sql-store/sql-store-driver.ts";
import { classify } from "./classify.ts";
import type { SqliteConnection, SqliteDatabase } from "./connect.ts";
import { Connection } from "./connection.ts";
import { type TableNames, tableNames } from "./layout.ts";
import { store } from "./parts.ts";
import { prepareTables } from "./prepare-tables.ts";
import { COLUMNS, rowsOf, storeDialect, textQuery } from "./store-dialect.ts";
import { fieldsOf, type ItemRow, idValues, toFoundItem } from "./store-rows.ts";
import { prepareStoreStatements, type StoreStatements } from "./store-statements.ts";
import { isLive, take, type Written, writeChanges } from "./store-writes.ts";
import { SqliteVectorSearch } from "./vector-search.ts";

export interface SqliteStoreDriverOptions {
  readonly connection: SqliteConnection;
  readonly tablePrefix: string;
  readonly now: () => number;
}

/** Items in a SQLite file. Every method is one transaction. */
export class SqliteStoreDriver extends SqlStoreDriver {
  readonly name = "sqlite";
  readonly capabilities: StoreDriverCapabilities;
  readonly #names: TableNames;
  readonly #connection: Connection<StoreStatements>;
  readonly #vectors: SqliteVectorSearch;
  readonly #now: () => number;

  constructor({ connection, tablePrefix, now }: SqliteStoreDriverOptions) {
    super();
    const names = tableNames(tablePrefix);
    this.#names = names;
    this.#connection = new Connection(connection, async (handle) => {
      assertOrderOfTexts(handle.database);
      const assertCurrent = await prepareTables(handle, names, store(names));
      return { statements: prepareStoreStatements(handle.database, names), assertCurrent };
    });
    this.capabilities = {
      durability: connection.durability,
      transactions: true,
      // An expired item is never read again. Later writes remove it from the file, because there is no server to do it.
      ttl: true,
      maxItemBytes: 64 * 1024 * 1024,
      vectorSearch: "exact",
      maxExactVectors: Number.POSITIVE_INFINITY,
    };
    this.#now = now;
    this.#vectors = new SqliteVectorSearch(this.#connection, now);
  }

  protected get dialect(): StoreDialect {
    return storeDialect(this.#names, this.#now());
  }

  async write(changes: readonly Change[]): Promise<WriteOutcome> {
    const work = (statements: StoreStatements): Written => writeChanges(statements, changes, this.#now());
    // Calls that share its transaction are answered when all are done: a long list has a transaction of its own.
    const { outcome, erases } = await (changes.length === 1
      ? this.#connection.together(work)
      : this.#connection.write(work));
    if (erases) await this.#connection.erased();
    return outcome;
  }

  override read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
    return this.#connection.read((statements) =>
      ids.map((id) => this.#find(statements, id)).map((row) => row && itemOf(row)),
    );
  }

  async clear(scope: Omit<Scope, "condition">, options: { before: number; limit: number }): Promise<number> {
    const count = await this.#connection.write((statements) => {
      const inside = within(this.dialect, { ...scope, condition: undefined }).sql;
      const old = sql`SELECT i.id FROM ${this.dialect.items} i
        WHERE ${inside} AND i.updated_at <= ${number(options.before)} ${this.dialect.limit(options.limit)}`;
      const rows = rowsOf(statements, old) as readonly ItemRow[];
      for (const row of rows) take(statements, row);
      return rows.length;
    });
    if (count > 0) await this.#connection.erased();
    return count;
  }

  searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
    return this.#vectors.search(scope, vector, limit);
  }

  /** The clock of the machine that writes the file. */
  async now(): Promise<number> {
    return this.#connection.read(() => this.#now());
  }

  classify(error: unknown): ErrorCode | undefined {
    return classify(error);
  }

  override scrub(): Promise<ScrubReport> {
    return this.#connection.scrub();
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #find(statements: StoreStatements, id: ItemId): ItemRow | undefined {
    const row = statements.find.get(...idValues(id)) as ItemRow | undefined;
    return row !== undefined && isLive(row, this.#now()) ? row : undefined;
  }

  protected query(statement: Sql): Promise<readonly SqlRow[]> {
    return this.#connection.read((statements) => rowsOf(statements, statement));
  }

  protected items(query: ItemQuery): Promise<readonly SqlRow[]> {
    return this.query(query(COLUMNS));
  }

  protected textQuery(inside: Sql, words: readonly string[], most: number): ItemQuery {
    return textQuery(this.#names, inside, words, most);
  }

  protected toVector(column: unknown): Float32Array {
    return vectorFromBytes(column as Uint8Array);
  }

  protected override toFound(row: SqlRow, condition: Condition | undefined): StoredItem {
    return toFoundItem(row as ItemRow, condition);
  }

  /** Like the SQL, it keeps what is damaged. */
  protected override fits(condition: Condition, row: SqlRow): boolean {
    const fields = fieldsOf(row as ItemRow);
    return fields === undefined || matches(condition, fields);
  }
}

/** With another encoding, SQLite does not sort texts by code points, so a range would not match a namespace. */
function assertOrderOfTexts(database: SqliteDatabase): void {
  const { encoding } = database.prepare("PRAGMA encoding").get() as { encoding: string };
  if (encoding === "UTF-8") return;
  throw new StateError("UNSUPPORTED", `a store needs a database with the encoding UTF-8, and this one has ${encoding}`);
}
