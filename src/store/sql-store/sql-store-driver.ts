import { BaseDriver } from "../../driver/driver.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import type { JsonValue } from "../../state/values/codec.ts";
import { decodeNamespace, encodeId } from "../driver/namespaces.ts";
import {
  type Change,
  type Condition,
  type FullStoreDriver,
  type ItemId,
  MOST_CHANGES,
  type Namespace,
  type RankedItem,
  type Scope,
  type StoreDriverCapabilities,
  type StoredItem,
  type WriteOutcome,
} from "../driver/store-driver.ts";
import { matches, projectFields } from "../search/item-fields.ts";
import { TopHits } from "../search/top-hits.ts";
import { cosine, norm } from "../search/vectors.ts";
import * as queries from "./queries.ts";
import { raw, type Sql, sql, type Value } from "./sql.ts";

/** Columns by their names in small letters. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** Options of a vector search that is computed in this process. */
export interface HereOptions {
  /** How many vectors are compared. */
  readonly most: number;
  /** What to do where there are more. */
  readonly advice: string;
  /** Comes before the `id` of every row. */
  readonly firstId: Value;
}

/** How many rows one step of a scan reads if each must be checked against the filter. */
const ROWS_PER_STEP = 500;
const VECTORS_PER_STEP = 1000;

/**
 * Items in tables of a database: how they are read, once for every SQL there is. A backend says it in the words of its
 * database (`StoreDialect`), runs statements, and writes by whatever is one atomic step there.
 */
export abstract class SqlStoreDriver extends BaseDriver implements FullStoreDriver {
  abstract readonly name: string;
  abstract readonly capabilities: StoreDriverCapabilities;
  protected abstract readonly dialect: queries.StoreDialect;
  /** How many ids one statement names. */
  protected readonly mostIds: number = MOST_CHANGES;

  abstract write(changes: readonly Change[]): Promise<WriteOutcome>;
  abstract clear(
    scope: Omit<Scope, "condition">,
    options: { readonly before: number; readonly limit: number },
  ): Promise<number>;
  abstract now(): Promise<number>;
  abstract classify(error: unknown): ErrorCode | undefined;
  abstract close(): Promise<void>;

  protected abstract query(statement: Sql): Promise<readonly SqlRow[]>;
  /** Runs a query of items, with the columns that `toItem` needs. */
  protected abstract items(query: queries.ItemQuery): Promise<readonly SqlRow[]>;
  /** A query of items by these words, best first, with their `score`. */
  protected abstract textQuery(inside: Sql, words: readonly string[], most: number): queries.ItemQuery;
  protected abstract toVector(column: unknown): Float32Array;

  protected toItem(row: SqlRow): StoredItem {
    return itemOf(row);
  }

  /** Whether a condition that SQL could only narrow down holds for a row. */
  protected fits(condition: Condition, row: SqlRow): boolean {
    const { value, metadata } = this.toItem(row);
    const fieldsOf = (json: string): JsonValue => projectFields(JSON.parse(json) as JsonValue);
    return matches(condition, { value: fieldsOf(value), metadata: fieldsOf(metadata ?? "{}") });
  }

  /** An item that a query with a condition found. */
  protected toFound(row: SqlRow, _condition: Condition | undefined): StoredItem {
    return this.toItem(row);
  }

  async read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
    const found = new Map<string, StoredItem>();
    for (let at = 0; at < ids.length; at += this.mostIds) {
      const query = queries.readQuery(this.dialect, ids.slice(at, at + this.mostIds));
      for (const row of await this.items(query)) {
        const item = this.toItem(row);
        found.set(encodeId(item), item);
      }
    }
    return ids.map((id) => found.get(encodeId(id)));
  }

  async scan(
    scope: Scope,
    { after, limit }: { readonly after?: ItemId; readonly limit: number },
  ): Promise<readonly StoredItem[]> {
    const inside = queries.within(this.dialect, scope);
    const found: StoredItem[] = [];
    for (let behind = after; ; ) {
      const most = inside.rest === undefined ? limit : Math.max(limit - found.length, ROWS_PER_STEP);
      const rows = await this.items(queries.scanQuery(this.dialect, inside.sql, behind, most));
      found.push(...this.#fitting(rows, inside.rest).map((row) => this.toFound(row, scope.condition)));
      const last = rows.at(-1);
      if (last === undefined || rows.length < most || found.length >= limit) return found.slice(0, limit);
      behind = this.toItem(last);
    }
  }

  async namespaces(
    prefix: Namespace,
    { after, limit }: { readonly after?: Namespace; readonly limit: number },
  ): Promise<readonly Namespace[]> {
    const rows = await this.query(queries.namespacesQuery(this.dialect, prefix, after, limit));
    return rows.map((row) => decodeNamespace(String(row["namespace"])));
  }

  async searchText(scope: Scope, words: readonly string[], limit: number): Promise<readonly RankedItem[]> {
    if (words.length === 0) return [];
    const inside = queries.within(this.dialect, scope);
    return this.ranked(scope, inside, limit, (most) => this.textQuery(inside.sql, words, most));
  }

  abstract searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]>;

  async readVector(id: ItemId): Promise<Float32Array | undefined> {
    const [row] = await this.query(queries.readVectorQuery(this.dialect, id));
    return row && this.toVector(row["embedding"]);
  }

  async dimension(below: Namespace): Promise<number | undefined> {
    const [row] = await this.query(queries.dimensionQuery(this.dialect, below));
    return row && Number(row["dims"]);
  }

  /** Best first. If a filter left too few, more are read until there are no more. */
  protected async ranked(
    { condition }: Scope,
    { rest }: queries.Within,
    limit: number,
    queryOf: (most: number) => queries.ItemQuery,
  ): Promise<readonly RankedItem[]> {
    for (let most = limit; ; most *= 4) {
      const rows = await this.items(queryOf(most));
      const fitting = this.#fitting(rows, rest);
      if (rows.length < most || fitting.length >= limit) {
        const hits = fitting.slice(0, limit);
        return hits.map((row) => this.toHit(row, condition));
      }
    }
  }

  protected toHit(row: SqlRow, condition?: Condition): RankedItem {
    return { item: this.toFound(row, condition), score: Number(row["score"]) };
  }

  /** How many vectors a scope has, up to `most`; of one length, if it says which. */
  protected async countVectors(inside: Sql, dims: number | undefined, most: number): Promise<number> {
    const [row] = await this.query(queries.countVectorsQuery(this.dialect, inside, dims, most));
    return Number(row?.["found"]);
  }

  /** Fetches the vectors of a scope and compares them in this process, as long as they are few. */
  protected async compareHere(
    scope: Scope,
    vector: Float32Array,
    limit: number,
    { most, advice, firstId }: HereOptions,
  ): Promise<readonly RankedItem[]> {
    const { dialect } = this;
    const inside = queries.within(dialect, scope);
    if ((await this.countVectors(inside.sql, vector.length, most + 1)) > most) {
      throw new StateError("TOO_LARGE", `more than ${most} vectors would have to be compared, and ${advice}`);
    }
    const best = new TopHits<string>(limit);
    const length = norm(vector);
    for (let after = firstId; ; ) {
      const page = { dims: vector.length, after, most: VECTORS_PER_STEP };
      const query = queries.vectorsQuery(dialect, inside.sql, page);
      const isChecked = inside.rest !== undefined;
      const rows = await (isChecked ? this.items((columns) => query(sql`, ${columns}`)) : this.query(query(raw(""))));
      for (const row of this.#fitting(rows, inside.rest)) {
        const other = this.toVector(row["embedding"]);
        best.add(String(row["id"]), cosine(vector, other, length * norm(other)));
      }
      if (rows.length < VECTORS_PER_STEP) break;
      after = { ...after, value: String(rows.at(-1)?.["id"]) };
    }
    return this.#itemsOf(best, firstId);
  }

  /** An item that was deleted meanwhile is left out. */
  async #itemsOf(best: TopHits<string>, { type }: Value): Promise<readonly RankedItem[]> {
    const hits = best.list();
    if (hits.length === 0) return [];
    const ids = hits.map(({ item }) => ({ type, value: item }));
    const rows = await this.items(queries.byIdQuery(this.dialect, ids));
    const items = new Map(rows.map((row) => [String(row["id"]), this.toItem(row)]));
    return hits.flatMap(({ item: id, score }) => {
      const item = items.get(id);
      return item === undefined ? [] : [{ item, score }];
    });
  }

  #fitting(rows: readonly SqlRow[], rest: Condition | undefined): readonly SqlRow[] {
    return rest === undefined ? rows : rows.filter((row) => this.fits(rest, row));
  }
}

export const itemOf = (row: SqlRow): StoredItem => ({
  namespace: decodeNamespace(String(row["namespace"])),
  key: String(row["key"]),
  value: String(row["value"]),
  metadata: row["metadata"] == null ? undefined : String(row["metadata"]),
  version: String(row["version"]),
  createdAt: Number(row["created_at"]),
  updatedAt: Number(row["updated_at"]),
  expiresAt: row["expires_at"] == null ? undefined : Number(row["expires_at"]),
});
