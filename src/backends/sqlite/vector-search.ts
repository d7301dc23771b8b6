import type { RankedItem, Scope } from "../../store/driver/store-driver.ts";
import { matches } from "../../store/search/item-fields.ts";
import { TopHits } from "../../store/search/top-hits.ts";
import {
  type TableMark,
  type VectorQuestion,
  type VectorRow,
  type VectorScope,
  VectorShelf,
  VectorTable,
} from "../../store/search/vector-table.ts";
import { cosine, norm, vectorFromBytes } from "../../store/search/vectors.ts";
import { placedIn, within } from "../../store/sql-store/queries.ts";
import { joined, number, raw, type Sql, sql, text } from "../../store/sql-store/sql.ts";
import type { Connection } from "./connection.ts";
import { rowsOf, storeDialect } from "./store-dialect.ts";
import { fieldsOf, type ItemRow, toFoundItem } from "./store-rows.ts";
import type { StoreStatements } from "./store-statements.ts";

/** How many rows one step reads, so that the event loop turns in between. */
const ROWS_PER_STEP = 2000;
const FIELD_COLUMNS = raw("i.value, i.metadata, i.value_fields, i.metadata_fields");

interface VectorItemRow extends ItemRow {
  /** The number of the vector's row. A put of any kind makes a new one, with a higher number. */
  readonly place: number;
  readonly vector: Uint8Array;
}

/**
 * Vectors are compared one by one, in this process. Those of a scope that is
 * asked about again are kept; what was written since, by any process, has higher
 * numbers and is read before the search, and what was found is looked up by its
 * version in the same moment. A file that went back in time, and was written to
 * since, has other writes behind the same numbers: what was kept of it is dropped.
 * So a search sees what the file holds.
 */
export class SqliteVectorSearch {
  readonly #connection: Connection<StoreStatements>;
  readonly #now: () => number;
  readonly #shelf = new VectorShelf<number>();
  #preparing: Promise<unknown> = Promise.resolve();

  constructor(connection: Connection<StoreStatements>, now: () => number) {
    this.#connection = connection;
    this.#now = now;
  }

  async search(scope: Scope, vector: Float32Array, limit: number): Promise<readonly RankedItem[]> {
    const table = await this.#table(scope, { ...scope, dimension: vector.length });
    return this.#connection.read((statements, isOurs) => {
      const question = { vector, limit, condition: scope.condition, now: this.#now() };
      if (table === undefined || !isOurs || !table.canFilter(scope.condition) || !isOfHistory(statements, table)) {
        return searchRows(statements, scope, question);
      }
      while (!takeIn(statements, { ...scope, dimension: vector.length }, table));
      return searchTable(statements, table, question);
    });
  }

  /** The table of a scope with the fields that its condition needs; `undefined` where rows are better looked at themselves. */
  async #table(scope: Scope, place: VectorScope): Promise<VectorTable<number> | undefined> {
    const known = this.#shelf.get(place);
    // A filter that is asked once is quicker asked of the file.
    if (known === undefined && scope.condition !== undefined && !this.#shelf.wasAsked(place)) return undefined;
    const prepared = this.#preparing.then(() => this.#prepare(scope, place));
    this.#preparing = prepared.catch(() => undefined);
    return prepared;
  }

  /** One at a time, so that two who ask at once do not both read all of it. */
  async #prepare({ condition }: Scope, place: VectorScope): Promise<VectorTable<number> | undefined> {
    const known = this.#shelf.get(place);
    const isUsable =
      known !== undefined && !known.isOutgrown && (await this.#connection.read((s) => isOfHistory(s, known)));
    const table = !isUsable ? await this.#load(place) : known;
    if (table === undefined || !(await this.#takeInSteps(place, table))) return this.#shelf.forget(place);
    if (condition !== undefined && !table.canFilter(condition)) {
      table.openColumns(condition);
      if (!(await this.#fillColumns(place, table))) return this.#shelf.forget(place);
      table.closeColumns(condition);
    }
    return this.#shelf.keep(place, table) ? table : undefined;
  }

  /** `undefined` where there are too many, or where the connection's owner is in a transaction, which may be undone. */
  async #load(place: VectorScope): Promise<VectorTable<number> | undefined> {
    const table = new VectorTable<number>(place.dimension);
    const mark = await this.#connection.read(newestMark);
    const isWhole = await this.#walk(place, raw("v.vector"), (row) => {
      table.set(toVectorRow(row));
      return this.#shelf.hasRoomFor(table.size, place);
    });
    if (!isWhole) return undefined;
    table.loaded(mark);
    return table;
  }

  #fillColumns(place: VectorScope, table: VectorTable<number>): Promise<boolean> {
    return this.#walk(place, FIELD_COLUMNS, (row) => {
      table.fillColumns(row.id, row.version, fieldsOf(row));
      return true;
    });
  }

  async #walk(place: VectorScope, columns: Sql, visit: (row: VectorItemRow) => boolean): Promise<boolean> {
    let last: readonly [string, string] | undefined;
    for (;;) {
      const rows = await this.#connection.read((statements, isOurs) => {
        if (!isOurs) return undefined;
        const { names } = statements;
        const conditions = [
          ...placedIn(place),
          ...(last === undefined ? [] : [sql`(i.namespace, i.key) > (${text(last[0])}, ${text(last[1])})`]),
          sql`v.dims = ${number(place.dimension)}`,
        ];
        return rowsOf(
          statements,
          sql`SELECT v.id AS place, i.id, i.version, i.namespace, i.key, i.expires_at, ${columns}
            FROM ${raw(names.items)} i JOIN ${raw(names.itemVectors)} v ON v.item = i.id
            WHERE ${joined(conditions, " AND ")} ORDER BY i.namespace, i.key LIMIT ${number(ROWS_PER_STEP)}`,
        ) as readonly VectorItemRow[];
      });
      if (rows === undefined || !rows.every(visit)) return false;
      const end = rows.at(-1);
      if (end === undefined || rows.length < ROWS_PER_STEP) return true;
      last = [end.namespace, end.key];
    }
  }

  /** What was written until now, a step at a time; the little that comes meanwhile is read with the search itself. */
  async #takeInSteps(place: VectorScope, table: VectorTable<number>): Promise<boolean> {
    const newest = await this.#connection.read(newestMark);
    for (let left = newest.change - table.mark.change; left > 0; left -= ROWS_PER_STEP) {
      const isOurs = await this.#connection.read((statements, ours) => {
        if (ours) takeIn(statements, place, table);
        return ours;
      });
      if (!isOurs) return false;
    }
    return true;
  }
}

const newestMark = (statements: StoreStatements): TableMark =>
  markAt(statements, (statements.newestPut.get() as { vector: number | null }).vector ?? 0);

const markAt = ({ putOf }: StoreStatements, change: number): TableMark => ({
  change,
  version: (putOf.get(change) as { version: string } | undefined)?.version,
});

/** Whether what the table was made of is a part of what the file holds. */
const isOfHistory = (statements: StoreStatements, { mark }: VectorTable<number>): boolean =>
  mark.change === 0 || (mark.version !== undefined && markAt(statements, mark.change).version === mark.version);

/** Some of the rows that are newer than the table. True when it has them all. */
function takeIn(statements: StoreStatements, place: VectorScope, table: VectorTable<number>): boolean {
  const newest = newestMark(statements).change;
  const from = table.mark.change;
  if (newest <= from) return true;
  const { names } = statements;
  const to = Math.min(newest, from + ROWS_PER_STEP);
  const places = [sql`v.id > ${number(from)} AND v.id <= ${number(to)}`, sql`v.dims = ${number(place.dimension)}`];
  // Few are newer, so they are looked at first; their items tell which of them are in the scope.
  const newer = sql`SELECT v.id AS place, i.id, i.version, i.expires_at, v.vector, ${FIELD_COLUMNS}
    FROM ${raw(names.itemVectors)} v CROSS JOIN ${raw(names.items)} i ON i.id = v.item
    WHERE ${joined([...places, ...placedIn(place)], " AND ")}`;
  for (const row of rowsOf(statements, newer) as readonly VectorItemRow[]) {
    table.set(toVectorRow(row), table.hasColumns ? fieldsOf(row) : undefined);
  }
  table.mark = markAt(statements, to);
  return to === newest;
}

/** What is not there any more is taken out of the table, and the next best comes in its place. */
function searchTable(
  { byVersion }: StoreStatements,
  table: VectorTable<number>,
  question: VectorQuestion,
): readonly RankedItem[] {
  for (;;) {
    const hits = table.best(question);
    const rows = hits.map(({ key, stamp }) => byVersion.get(key, stamp) as ItemRow | undefined);
    for (const [at, { key }] of hits.entries()) if (rows[at] === undefined) table.delete(key);
    if (rows.every((row) => row !== undefined)) {
      return hits.map(({ score }, at) => ({ item: toFoundItem(rows[at] as ItemRow, question.condition), score }));
    }
  }
}

/** Without a table: the filter is asked of the file, and each vector that it keeps is read. */
function searchRows(statements: StoreStatements, scope: Scope, question: VectorQuestion): readonly RankedItem[] {
  const { names, byVector, vectorById } = statements;
  const { vector, limit, now } = question;
  const dialect = storeDialect(names, now);
  const inside = within(dialect, scope);
  const { rest } = inside;
  const columns = rest === undefined ? raw("") : sql`, ${FIELD_COLUMNS}`;
  const rows = rowsOf(
    statements,
    sql`SELECT v.id AS place${columns} FROM ${dialect.items} i ${dialect.vectors.join}
      WHERE v.dims = ${number(vector.length)} AND ${inside.sql}`,
  ) as readonly VectorItemRow[];
  const best = new TopHits<number>(limit);
  const length = norm(vector);
  for (const row of rows) {
    const fields = rest === undefined ? undefined : fieldsOf(row);
    if (fields !== undefined && !matches(scope.condition, fields)) continue;
    const other = vectorFromBytes((vectorById.get(row.place) as VectorItemRow).vector);
    best.add(row.place, cosine(vector, other, length * norm(other)));
  }
  return best
    .list()
    .map(({ item, score }) => ({ item: toFoundItem(byVector.get(item) as ItemRow, scope.condition), score }));
}

const toVectorRow = ({ id, version, expires_at, vector }: VectorItemRow): VectorRow<number> => ({
  key: id,
  stamp: version,
  end: expires_at ?? undefined,
  vector: vectorFromBytes(vector),
});
