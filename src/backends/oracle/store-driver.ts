import type { Lease } from "../../driver/connection.ts";
import { BaseDriver, type ScrubReport } from "../../driver/driver.ts";
import type { VersionWatch } from "../../driver/version-watch.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import type { JsonValue } from "../../state/values/codec.ts";
import { projectFields } from "../../store/fields.ts";
import { matches } from "../../store/matching.ts";
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
import type { Answer } from "./ask.ts";
import { type Binds, number, OUT_NUMBER, text } from "./binds.ts";
import { classify } from "./classify.ts";
import type { OracleConnection } from "./connect.ts";
import type { OracleHandle } from "./handle.ts";
import { storeDeployment } from "./parts.ts";
import { columnsOf } from "./prepare-tables.ts";
import { type Row, text as textIn } from "./rows.ts";
import type { StoreTables } from "./store-layout.ts";
import * as queries from "./store-queries.ts";
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

/** How many rows one step of a scan reads if each must be checked against the filter. */
const ROWS_PER_STEP = 200;

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
export class OracleStoreDriver extends BaseDriver implements FullStoreDriver {
  readonly name: string = "oracle";
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
    const handle = await this.#handle.get();
    return handle.onSession((asking) => writeChanges(asking, this.#tables, changes, this.#hasVectors));
  }

  async read(ids: readonly ItemId[]): Promise<readonly (StoredItem | undefined)[]> {
    const items = new Map<string, StoredItem>();
    for (let at = 0; at < ids.length; at += queries.MOST_IDS) {
      const query = queries.readQuery(this.#tables, ids.slice(at, at + queries.MOST_IDS));
      for (const item of (await this.#rows(query)).map(toItem)) items.set(encodeId(item), item);
    }
    return ids.map((id) => items.get(encodeId(id)));
  }

  async scan(scope: Scope, { after, limit }: { after?: ItemId; limit: number }): Promise<readonly StoredItem[]> {
    const found: StoredItem[] = [];
    for (let behind = after; ; ) {
      const most = scope.condition === undefined ? limit : Math.max(limit - found.length, ROWS_PER_STEP);
      const items = (await this.#rows(queries.scanQuery(this.#tables, scope, behind, most))).map(toItem);
      found.push(...items.filter((item) => fits(scope, item)));
      behind = items.at(-1);
      if (items.length < most || found.length >= limit) return found.slice(0, limit);
    }
  }

  async namespaces(prefix: Namespace, options: { after?: Namespace; limit: number }): Promise<readonly Namespace[]> {
    const { statement, binds } = queries.namespacesQuery(this.#tables, prefix, options.after, options.limit);
    const { rows } = await this.#ask(statement, binds);
    return rows.map((row) => decodeNamespace(textIn(row, "NAMESPACE") ?? ""));
  }

  async clear(scope: Omit<Scope, "condition">, options: { before: number; limit: number }): Promise<number> {
    const [from, before] = rangeBelow(scope.namespace);
    const reach = scope.recursive ? (before === undefined ? "all" : "below") : "own";
    const { out } = await this.#ask(
      queries.clearBlock(this.#tables, reach),
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

  searchText(scope: Scope, words: readonly string[], limit: number): Promise<readonly RankedItem[]> {
    const wanted = [...new Set(words.map(storedWord))];
    if (wanted.length === 0) return Promise.resolve([]);
    return this.#ranked(scope, limit, (most) => queries.textQuery(this.#tables, scope, wanted, most));
  }

  async searchVector(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
    await this.#handle.get();
    if (!this.#hasVectors) return [];
    const search = (approximate: boolean): Promise<readonly RankedItem[]> =>
      this.#ranked(scope, limit, (most) => queries.vectorQuery(this.#tables, scope, vector, { most, approximate }));
    if (await this.#isForIndex(scope)) {
      const found = await search(true);
      // An index may miss some; then all are compared exactly.
      if (found.length >= limit) return found;
    }
    return search(false);
  }

  async readVector({ namespace, key }: ItemId): Promise<Float32Array | undefined> {
    await this.#handle.get();
    if (!this.#hasVectors) return undefined;
    const binds = { b_namespace: text(encodeNamespace(namespace)), b_key: text(key) };
    const { rows } = await this.#ask(queries.readVectorSql(this.#tables), binds);
    const embedding: unknown = rows[0]?.["EMBEDDING"];
    return embedding instanceof Float32Array ? embedding : undefined;
  }

  async dimension(): Promise<number | undefined> {
    await this.#handle.get();
    if (!this.#hasVectors) return undefined;
    const { rows } = await this.#ask(queries.dimensionSql(this.#tables));
    return rows[0] && Number(rows[0]["DIMS"]);
  }

  async now(): Promise<number> {
    const { rows } = await this.#ask(queries.STORE_NOW);
    return Date.parse(textIn(rows[0] ?? {}, "CLOCK") ?? "");
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

  /** Best first. If a filter left too few, more are read until there are no more. */
  async #ranked(
    scope: Scope,
    limit: number,
    queryOf: (most: number) => queries.ItemQuery,
  ): Promise<readonly RankedItem[]> {
    for (let most = limit; ; most *= 4) {
      const rows = await this.#rows(queryOf(most));
      const hits = rows.map((row) => ({ item: toItem(row), score: scoreOf(row) }));
      const found = hits.filter(({ item }) => fits(scope, item));
      if (rows.length < most || found.length >= limit) return found.slice(0, limit);
    }
  }

  async #isForIndex(scope: Scope): Promise<boolean> {
    const { vectorIndex, exactUpTo = EXACT_UP_TO } = this.#options;
    if (vectorIndex === undefined) return false;
    const { statement, binds } = queries.countVectorsQuery(this.#tables, scope, exactUpTo + 1);
    const { rows } = await this.#ask(statement, binds);
    return Number(rows[0]?.["FOUND"]) > exactUpTo;
  }

  /** Short values in one round trip; if some are long, everything is read again, because an item may have changed since. */
  async #rows({ reading, binds }: queries.ItemQuery): Promise<readonly Row[]> {
    const { rows } = await this.#ask(reading.short, binds);
    return rows.every((row) => row["LENGTHY"] === 0) ? rows : (await this.#ask(reading.long, binds)).rows;
  }

  async #ask(statement: string, binds?: Binds, commit?: boolean): Promise<Answer> {
    const handle = await this.#handle.get();
    const looking = this.#version?.assertCurrent();
    if (looking !== undefined) await looking;
    return handle.ask(statement, binds, commit);
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

function toItem(row: Row): StoredItem {
  const value = textIn(row, "VALUE") ?? textIn(row, "LONG_VALUE");
  if (value === undefined) throw new StateError("CORRUPT", "an item's row has no value");
  return {
    namespace: decodeNamespace(textIn(row, "NAMESPACE") ?? ""),
    key: textIn(row, "KEY") ?? "",
    value,
    metadata: textIn(row, "METADATA") ?? textIn(row, "LONG_METADATA"),
    version: textIn(row, "VERSION") ?? "",
    createdAt: Date.parse(textIn(row, "CREATED_AT") ?? ""),
    updatedAt: Date.parse(textIn(row, "UPDATED_AT") ?? ""),
    expiresAt: row["EXPIRES_AT"] == null ? undefined : Date.parse(textIn(row, "EXPIRES_AT") ?? ""),
  };
}

/** Rounding must not take a cosine out of its range; other scores are above 0. */
const scoreOf = (row: Row): number => Math.max(-1, Number(row["SCORE"]));

function fits({ condition }: Scope, { value, metadata }: StoredItem): boolean {
  if (condition === undefined) return true;
  const fieldsOf = (json: string): JsonValue => projectFields(JSON.parse(json) as JsonValue);
  return matches(condition, { value: fieldsOf(value), metadata: fieldsOf(metadata ?? "{}") });
}
