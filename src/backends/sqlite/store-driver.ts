import { BaseDriver, type ScrubReport } from "../../driver/driver.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { matches } from "../../store/matching.ts";
import { decodeNamespace, encodeNamespace, rangeBelow } from "../../store/namespaces.ts";
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
import { vectorFromBytes } from "../../store/vector-bytes.ts";
import { classify } from "./classify.ts";
import type { SqliteConnection, SqliteDatabase, SqliteValue } from "./connect.ts";
import { Connection } from "./connection.ts";
import { tableNames } from "./layout.ts";
import { store } from "./parts.ts";
import { prepareTables } from "./prepare-tables.ts";
import { fieldsOf, ITEM_COLUMNS, type ItemRow, idValues, scopeSql, toFoundItem, toItem } from "./store-rows.ts";
import { prepareStoreStatements, type StoreStatements } from "./store-statements.ts";
import { isLive, take, type Written, writeChanges } from "./store-writes.ts";
import { SqliteVectorSearch } from "./vector-search.ts";

export interface SqliteStoreDriverOptions {
  readonly connection: SqliteConnection;
  readonly tablePrefix: string;
  readonly now: () => number;
}

/** How many rows one step of a scan reads if each must be checked against the filter. */
const ROWS_PER_STEP = 500;

/** Items in a SQLite file. Every method is one transaction. */
export class SqliteStoreDriver extends BaseDriver implements FullStoreDriver {
  readonly name = "sqlite";
  readonly capabilities: StoreDriverCapabilities;
  readonly #connection: Connection<StoreStatements>;
  readonly #vectors: SqliteVectorSearch;
  readonly #now: () => number;

  constructor({ connection, tablePrefix, now }: SqliteStoreDriverOptions) {
    super();
    const names = tableNames(tablePrefix);
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

  async write(changes: readonly Change[]): Promise<WriteOutcome> {
    const work = (statements: StoreStatements): Written => writeChanges(statements, changes, this.#now());
    // Those who wait with it are answered when all are done: a long list has a transaction of its own.
    const { outcome, erases } = await (changes.length === 1
      ? this.#connection.together(work)
      : this.#connection.write(work));
    if (erases) await this.#connection.erased();
    return outcome;
  }

  read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
    return this.#connection.read((statements) =>
      ids.map((id) => this.#find(statements, id)).map((row) => row && toItem(row)),
    );
  }

  async scan(scope: Scope, { after, limit }: { after?: ItemId; limit: number }): Promise<readonly StoredItem[]> {
    const found: StoredItem[] = [];
    let last = after && idValues(after);
    const { rest } = scopeSql(scope, 0);
    const step = rest === undefined ? limit : ROWS_PER_STEP;
    for (;;) {
      const rows = await this.#connection.read((statements) => this.#rows(statements, scope, last, step));
      for (const row of rows) {
        if (!fits(scope, rest, row)) continue;
        if (found.push(toFoundItem(row, scope.condition)) === limit) return found;
      }
      const end = rows.at(-1);
      if (rows.length < step || end === undefined) return found;
      last = [end.namespace, end.key];
    }
  }

  async namespaces(prefix: Namespace, options: { after?: Namespace; limit: number }): Promise<readonly Namespace[]> {
    const [from, before] = rangeBelow(prefix);
    return this.#connection.read(({ prepare, names }) => {
      const conditions = ["(expires_at IS NULL OR expires_at > ?)", "namespace >= ?"];
      const values: SqliteValue[] = [this.#now(), from];
      if (before !== undefined) {
        conditions.push("namespace < ?");
        values.push(before);
      }
      if (options.after !== undefined) {
        conditions.push("namespace > ?");
        values.push(encodeNamespace(options.after));
      }
      const sql = `SELECT DISTINCT namespace FROM ${names.items} WHERE ${conditions.join(" AND ")} ORDER BY namespace LIMIT ?`;
      const rows = prepare(sql).all(...values, options.limit) as { namespace: string }[];
      return rows.map(({ namespace }) => decodeNamespace(namespace));
    });
  }

  async clear(scope: Omit<Scope, "condition">, options: { before: number; limit: number }): Promise<number> {
    const count = await this.#connection.write((statements) => {
      const { text, values } = scopeSql({ ...scope, condition: undefined }, this.#now());
      const sql = `SELECT i.id FROM ${statements.names.items} i WHERE ${text} AND i.updated_at <= ? LIMIT ?`;
      const rows = statements.prepare(sql).all(...values, options.before, options.limit) as ItemRow[];
      for (const row of rows) take(statements, row);
      return rows.length;
    });
    if (count > 0) await this.#connection.erased();
    return count;
  }

  searchText(scope: Scope, words: readonly string[], limit: number): Promise<readonly RankedItem[]> {
    return this.#connection.read(({ prepare, names }) => {
      const { text, values, rest } = scopeSql(scope, this.#now());
      const { items, itemWords } = names;
      // Words are letters, digits and "_": they cannot end the quotes.
      const query = words.map((word) => `"${word}"`).join(" OR ");
      const sql = `SELECT ${ITEM_COLUMNS}, -bm25(${itemWords}, 1, 1, 0.4, 0.15) AS score
        FROM ${itemWords} JOIN ${items} i ON i.id = ${itemWords}.rowid
        WHERE ${itemWords} MATCH ? AND ${text} ORDER BY score DESC, i.id LIMIT ?`;
      const most = rest === undefined ? limit : -1;
      const rows = prepare(sql).all(query, ...values, most) as (ItemRow & { score: number })[];
      return rows
        .filter((row) => fits(scope, rest, row))
        .slice(0, limit)
        .map((row) => ({ item: toFoundItem(row, scope.condition), score: row.score }));
    });
  }

  searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
    return this.#vectors.search(scope, vector, limit);
  }

  readVector(id: ItemId): Promise<Float32Array | undefined> {
    return this.#connection.read((statements) => {
      const row = this.#find(statements, id);
      const found = row && (statements.vectorOf.get(row.id) as { vector: Uint8Array } | undefined);
      return found && vectorFromBytes(found.vector);
    });
  }

  dimension(below: Namespace): Promise<number | undefined> {
    const [from, before] = rangeBelow(below);
    return this.#connection.read(({ anyVector, anyVectorBelow }) => {
      const row = before === undefined ? anyVector.get() : anyVectorBelow.get(from, before);
      return (row as { dims: number } | undefined)?.dims;
    });
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

  #rows(
    { prepare, names }: StoreStatements,
    scope: Scope,
    after: readonly [namespace: string, key: string] | undefined,
    limit: number,
  ): readonly ItemRow[] {
    const { text, values } = scopeSql(scope, this.#now());
    const behind = after === undefined ? "" : "AND (i.namespace, i.key) > (?, ?)";
    const sql = `SELECT ${ITEM_COLUMNS} FROM ${names.items} i WHERE ${text} ${behind} ORDER BY i.namespace, i.key LIMIT ?`;
    return prepare(sql).all(...values, ...(after ?? []), limit) as ItemRow[];
  }
}

/** Checks the part of a filter that SQL could not express. Like the SQL, it keeps what is damaged. */
function fits(scope: Scope, rest: Scope["condition"], row: ItemRow): boolean {
  if (rest === undefined) return true;
  const fields = fieldsOf(row);
  return fields === undefined || matches(scope.condition, fields);
}

/** With another encoding, SQLite does not sort texts by code points, so a range would not match a namespace. */
function assertOrderOfTexts(database: SqliteDatabase): void {
  const { encoding } = database.prepare("PRAGMA encoding").get() as { encoding: string };
  if (encoding === "UTF-8") return;
  throw new StateError("UNSUPPORTED", `a store needs a database with the encoding UTF-8, and this one has ${encoding}`);
}
