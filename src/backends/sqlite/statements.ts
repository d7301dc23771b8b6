import type { SqliteDatabase, SqliteStatement } from "./connect.ts";
import type { SqliteHandle } from "./handle.ts";
import { ROWS_PER_THREAD, sqlRowId, type TableNames } from "./layout.ts";
import { checkpoints } from "./parts.ts";
import { prepareTables } from "./prepare-tables.ts";
import { ENTRY_COLUMNS, THREAD_COLUMNS } from "./rows.ts";

/** Ids are made by `rowId` or `sqlRowId`: neither can reach another thread. */
const STATEMENTS = {
  thread: ({ threads }: TableNames) => `SELECT ${THREAD_COLUMNS.join(", ")} FROM ${threads} WHERE thread_id = ?`,

  threadByNumber: ({ threads }: TableNames) =>
    `SELECT ${THREAD_COLUMNS.join(", ")} FROM ${threads} WHERE thread_no = ?`,

  create: ({ threads }: TableNames) =>
    `INSERT INTO ${threads} (${THREAD_COLUMNS.join(", ")}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (thread_id) DO NOTHING`,

  /** Leaves the index of stale threads alone: SQLite rewrites an index whenever one of its columns is set. */
  advance: ({ threads }: TableNames) => `UPDATE ${threads} SET tail = ?, head = ?, sum = ? WHERE thread_no = ?`,

  advanceAndMark: ({ threads }: TableNames) =>
    `UPDATE ${threads} SET tail = ?, head = ?, sum = ?, stale = 1 WHERE thread_no = ?`,

  markIndexed: ({ threads }: TableNames) => `UPDATE ${threads} SET indexed = ?, stale = ?, sum = ? WHERE thread_no = ?`,

  forget: ({ threads }: TableNames) => `DELETE FROM ${threads} WHERE thread_no = ?`,

  insert: ({ records }: TableNames) =>
    `INSERT INTO ${records} (${ENTRY_COLUMNS.join(", ")}, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,

  replace: ({ records }: TableNames) =>
    `UPDATE ${records} SET base = ?, head = ?, write_id = ?, checkpoint_id = ?, names = ?, header = ?, metadata = ?, sum = ?, body = ?
     WHERE id = ?`,

  drop: ({ records }: TableNames) => `DELETE FROM ${records} WHERE id BETWEEN ? AND ?`,

  name: ({ names }: TableNames) => `INSERT INTO ${names} (id, name) VALUES (?, ?)`,

  unname: ({ names }: TableNames) => `DELETE FROM ${names} WHERE id BETWEEN ? AND ?`,

  copyNames: ({ names }: TableNames) =>
    `INSERT INTO ${names} (id, name) SELECT id - ? + ?, name FROM ${names} WHERE id BETWEEN ? AND ?`,

  /** The body of a mark is "{}". */
  anyContent: ({ records }: TableNames) =>
    `SELECT 1 FROM ${records} WHERE id BETWEEN ? AND ? AND (checkpoint_id IS NOT NULL OR length(body) > 2) LIMIT 1`,

  copy: ({ records }: TableNames) =>
    `INSERT INTO ${records} (${ENTRY_COLUMNS.join(", ")}, body)
     SELECT id - ? + ?, ${ENTRY_COLUMNS.slice(1).join(", ")}, body FROM ${records} WHERE id BETWEEN ? AND ?`,

  /** The newest row of a thread, which must be the tail's. */
  newest: ({ records }: TableNames) =>
    `SELECT ${ENTRY_COLUMNS.join(", ")} FROM ${records} WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1`,

  at: ({ records }: TableNames) => `SELECT ${ENTRY_COLUMNS.join(", ")} FROM ${records} WHERE id = ?`,

  newestSizes: ({ records }: TableNames) =>
    `SELECT id, length(body) AS length FROM ${records} WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?`,

  range: ({ records }: TableNames) =>
    `SELECT ${ENTRY_COLUMNS.join(", ")}, body FROM ${records} WHERE id BETWEEN ? AND ? ORDER BY id`,

  /** The newest record with that name, as its first or a further name. */
  named: ({ records, names }: TableNames) =>
    `SELECT ${ENTRY_COLUMNS.join(", ")} FROM ${records} WHERE id = MAX(
       COALESCE((SELECT MAX(id) FROM ${records} WHERE checkpoint_id = ? AND id BETWEEN ? AND ?), 0),
       COALESCE((SELECT MAX(id) FROM ${names} WHERE name = ? AND id BETWEEN ? AND ?), 0))`,

  list: ({ records }: TableNames) =>
    `SELECT ${ENTRY_COLUMNS.join(", ")} FROM ${records}
     WHERE id BETWEEN ? AND ? AND checkpoint_id IS NOT NULL ORDER BY id DESC LIMIT ?`,

  threads: ({ threads, records }: TableNames) =>
    `SELECT ${headColumns()} FROM ${threads} t LEFT JOIN ${records} r ON r.id = ${sqlRowId("t.thread_no", "t.head")}
     WHERE t.thread_id >= ? AND t.thread_id > ? AND (? IS NULL OR t.thread_id < ?) ORDER BY t.thread_id LIMIT ?`,

  /** What SQLite cannot parse, such as JSON that is nested too deep for it, is left to the exact comparison. */
  withKey: ({ threads, records }: TableNames) =>
    `SELECT ${headColumns()} FROM ${threads} t JOIN ${records} r ON r.id = ${sqlRowId("t.thread_no", "t.head")}
     WHERE t.thread_id >= ? AND t.thread_id > ? AND (? IS NULL OR t.thread_id < ?) AND r.metadata IS NOT NULL
       AND (? IS NULL OR CASE WHEN json_valid(r.metadata)
         THEN EXISTS (SELECT 1 FROM json_each(r.metadata) m WHERE m.key = ?) ELSE 1 END)
     ORDER BY t.thread_id LIMIT ?`,

  /** How many records have the words, up to a limit. */
  countHits: ({ words }: TableNames) =>
    `SELECT count(*) AS hits FROM (SELECT 1 FROM ${words} WHERE ${words} MATCH ? LIMIT ?)`,

  countHitsWithin: ({ threads, words }: TableNames) =>
    `SELECT count(*) AS hits FROM (
       SELECT 1 FROM ${words} w CROSS JOIN ${threads} t ON t.thread_no = w.rowid / ${ROWS_PER_THREAD}
       WHERE ${words} MATCH ? AND t.thread_id >= ? AND (? IS NULL OR t.thread_id < ?) LIMIT ?)`,

  /** The next after a length and an id. The index is asked first, whatever the planner expects of it. */
  searchBest: ({ threads, records, words }: TableNames) =>
    `SELECT ${headColumns()}, length(r.body) AS length FROM ${words} w
       CROSS JOIN ${records} r ON r.id = w.rowid CROSS JOIN ${threads} t ON t.thread_no = r.id / ${ROWS_PER_THREAD}
     WHERE ${words} MATCH ? AND t.thread_id >= ? AND (? IS NULL OR t.thread_id < ?) AND (length(r.body), -r.id) > (?, ?)
     ORDER BY length(r.body), r.id DESC LIMIT ?`,

  /** The index hands out its rows in this order, so that nothing is sorted and it ends with the page. */
  searchNewest: ({ threads, records, words }: TableNames) =>
    `SELECT ${headColumns()}, length(r.body) AS length FROM ${words} w
       CROSS JOIN ${records} r ON r.id = w.rowid CROSS JOIN ${threads} t ON t.thread_no = r.id / ${ROWS_PER_THREAD}
     WHERE ${words} MATCH ? AND w.rowid < CAST(? AS INTEGER) AND t.thread_id >= ? AND (? IS NULL OR t.thread_id < ?)
     ORDER BY w.rowid DESC LIMIT ?`,

  lastThread: ({ threads }: TableNames) => `SELECT MAX(thread_no) AS thread_no FROM ${threads}`,

  toIndex: ({ threads }: TableNames) =>
    `SELECT thread_no, tail FROM ${threads} WHERE stale = 1 AND thread_no > ? AND thread_no <= ? ORDER BY thread_no LIMIT ?`,

  sizes: ({ records }: TableNames) =>
    `SELECT id, length(body) AS length FROM ${records} WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?`,

  index: ({ words }: TableNames) => `INSERT INTO ${words} (rowid, words) VALUES (?, ?)`,

  unindex: ({ words }: TableNames) => `INSERT INTO ${words} (${words}, rowid, words) VALUES ('delete', ?, ?)`,

  indexed: ({ indexed }: TableNames) => `INSERT INTO ${indexed} (id, sum) VALUES (?, ?)`,

  unindexed: ({ indexed }: TableNames) => `DELETE FROM ${indexed} WHERE id BETWEEN ? AND ?`,

  indexedRows: ({ indexed }: TableNames) => `SELECT id, sum FROM ${indexed} WHERE id BETWEEN ? AND ?`,

  /** The n-th of them from the end. */
  indexedBefore: ({ indexed }: TableNames) =>
    `SELECT id FROM ${indexed} WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1 OFFSET ?`,

  /** The first word from here on, and before an end. */
  nextTerm: ({ terms }: TableNames) => `SELECT term FROM ${terms} WHERE term >= ? AND term < ? LIMIT 1`,

  /** Reads the whole index. */
  terms: ({ terms }: TableNames) => `SELECT doc AS id, term FROM ${terms} WHERE doc BETWEEN ? AND ? ORDER BY doc`,

  body: ({ records }: TableNames) => `SELECT ${ENTRY_COLUMNS.join(", ")}, body FROM ${records} WHERE id = ?`,
} as const;

/** The columns of a thread and of its newest checkpoint, with distinct names. */
const headColumns = (): string =>
  [...THREAD_COLUMNS.map((name) => `t.${name} AS t_${name}`), ...ENTRY_COLUMNS.map((name) => `r.${name}`)].join(", ");

export type StatementName = keyof typeof STATEMENTS;
export type Statements = Readonly<Record<StatementName, SqliteStatement>>;

/** Migrates the tables of threads and prepares the statements for them. */
export async function prepareLog(handle: SqliteHandle, names: TableNames): Promise<Statements> {
  await prepareTables(handle, names, checkpoints(names));
  return prepareStatements(handle.database, names);
}

export function prepareStatements(database: SqliteDatabase, names: TableNames): Statements {
  const prepared = Object.entries(STATEMENTS).map(([name, sql]) => [name, database.prepare(sql(names))] as const);
  return Object.fromEntries(prepared) as Statements;
}
