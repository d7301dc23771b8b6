import type { SqliteDatabase, SqliteStatement } from "./connect.ts";
import { ROWS_PER_THREAD, type TableNames } from "./layout.ts";
import { ENTRY_COLUMNS } from "./rows.ts";

const STATEMENTS = {
  begin: () => "BEGIN IMMEDIATE",
  beginReading: () => "BEGIN DEFERRED",
  commit: () => "COMMIT",
  rollback: () => "ROLLBACK",

  thread: ({ threads }: TableNames) =>
    `SELECT thread_no, generation, tail, head, indexed FROM ${threads} WHERE thread_id = ?`,

  create: ({ threads }: TableNames) =>
    `INSERT INTO ${threads} (thread_id, generation, tail, head) VALUES (?, ?, ?, ?)
     ON CONFLICT (thread_id) DO NOTHING RETURNING thread_no`,

  advance: ({ threads }: TableNames) =>
    `UPDATE ${threads} SET tail = ?, head = ? WHERE thread_id = ? AND generation = ? AND tail = ? RETURNING thread_no, indexed`,

  insert: ({ records }: TableNames) =>
    `INSERT INTO ${records} (${ENTRY_COLUMNS.join(", ")}, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,

  replace: ({ records }: TableNames) =>
    `UPDATE ${records} SET base = ?, head = ?, write_id = ?, checkpoint_id = ?, header = ?, metadata = ?, body = ? WHERE id = ?`,

  index: ({ words }: TableNames) => `INSERT INTO ${words} (rowid, words) VALUES (?, ?)`,

  unindex: ({ words }: TableNames) => `DELETE FROM ${words} WHERE rowid BETWEEN ? AND ?`,

  drop: ({ records }: TableNames) => `DELETE FROM ${records} WHERE id BETWEEN ? AND ?`,

  forget: ({ threads }: TableNames) => `DELETE FROM ${threads} WHERE thread_no = ?`,

  readTail: ({ threads, records }: TableNames) =>
    `SELECT ${entryColumns("r")}, r.body, t.generation FROM ${threads} t JOIN ${records} r
       ON r.id BETWEEN t.thread_no * ${ROWS_PER_THREAD}
          + (SELECT base FROM ${records} WHERE id = t.thread_no * ${ROWS_PER_THREAD} + t.tail)
          AND t.thread_no * ${ROWS_PER_THREAD} + t.tail
     WHERE t.thread_id = ? ORDER BY r.id`,

  readCheckpoint: ({ threads, records }: TableNames) =>
    `SELECT ${entryColumns("r")}, r.body, t.generation FROM ${threads} t
       JOIN ${records} c ON c.checkpoint_id = ?
        AND c.id BETWEEN t.thread_no * ${ROWS_PER_THREAD} AND t.thread_no * ${ROWS_PER_THREAD} + t.tail
       JOIN ${records} r ON r.id BETWEEN t.thread_no * ${ROWS_PER_THREAD} + c.base AND c.id
     WHERE t.thread_id = ? ORDER BY r.id`,

  entry: ({ threads, records }: TableNames) =>
    `SELECT ${entryColumns("c")} FROM ${threads} t JOIN ${records} c ON c.checkpoint_id = ?
        AND c.id BETWEEN t.thread_no * ${ROWS_PER_THREAD} AND t.thread_no * ${ROWS_PER_THREAD} + t.tail
     WHERE t.thread_id = ?`,

  tail: ({ threads, records }: TableNames) =>
    `SELECT ${entryColumns("r")}, t.generation FROM ${threads} t
       JOIN ${records} r ON r.id = t.thread_no * ${ROWS_PER_THREAD} + t.tail WHERE t.thread_id = ?`,

  at: ({ records }: TableNames) => `SELECT ${ENTRY_COLUMNS.join(", ")} FROM ${records} WHERE id = ?`,

  list: ({ threads, records }: TableNames) =>
    `SELECT ${entryColumns("r")} FROM ${threads} t JOIN ${records} r
       ON r.id > t.thread_no * ${ROWS_PER_THREAD} AND r.id < t.thread_no * ${ROWS_PER_THREAD} + MIN(?, t.tail + 1)
     WHERE t.thread_id = ? AND r.checkpoint_id IS NOT NULL ORDER BY r.id DESC LIMIT ?`,

  toIndex: ({ threads }: TableNames) => `SELECT thread_no, tail, indexed FROM ${threads} WHERE indexed < tail LIMIT 1`,

  unindexed: ({ records }: TableNames) =>
    `SELECT ${ENTRY_COLUMNS.join(", ")}, body FROM ${records} WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`,

  indexedTo: ({ threads }: TableNames) => `UPDATE ${threads} SET indexed = ? WHERE thread_no = ?`,

  copy: ({ records }: TableNames) =>
    `INSERT INTO ${records} (${ENTRY_COLUMNS.join(", ")}, body)
     SELECT id - ? + ?, ${ENTRY_COLUMNS.slice(1).join(", ")}, body FROM ${records} WHERE id BETWEEN ? AND ?`,

  threads: ({ threads, records }: TableNames) =>
    `SELECT t.thread_id, ${entryColumns("r")} FROM ${threads} t
       JOIN ${records} r ON r.id = t.thread_no * ${ROWS_PER_THREAD} + t.head
     WHERE t.thread_id >= ? AND t.thread_id > ? AND (? IS NULL OR t.thread_id < ?) AND t.head > 0
     ORDER BY t.thread_id LIMIT ?`,

  withKey: ({ threads, records }: TableNames) =>
    `SELECT t.thread_id, ${entryColumns("r")} FROM ${threads} t
       JOIN ${records} r ON r.id = t.thread_no * ${ROWS_PER_THREAD} + t.head
     WHERE t.thread_id >= ? AND t.thread_id > ? AND (? IS NULL OR t.thread_id < ?) AND t.head > 0 AND r.metadata IS NOT NULL
       AND (? IS NULL OR EXISTS (SELECT 1 FROM json_each(r.metadata) m WHERE m.key = ?))
     ORDER BY t.thread_id LIMIT ?`,

  search: ({ threads, records, words }: TableNames) =>
    `SELECT t.thread_id, ${entryColumns("r")}, length(r.body) AS length FROM ${words} w
       JOIN ${records} r ON r.id = w.rowid JOIN ${threads} t ON t.thread_no = r.id / ${ROWS_PER_THREAD}
     WHERE ${words} MATCH ? AND t.thread_id >= ? AND (? IS NULL OR t.thread_id < ?)
     ORDER BY length(r.body), r.id DESC LIMIT ?`,
} as const;

export type StatementName = keyof typeof STATEMENTS;
export type Statements = Readonly<Record<StatementName, SqliteStatement>>;

export function prepareStatements(database: SqliteDatabase, names: TableNames): Statements {
  const prepared = Object.entries(STATEMENTS).map(([name, sql]) => [name, database.prepare(sql(names))] as const);
  return Object.fromEntries(prepared) as Statements;
}

function entryColumns(table: string): string {
  return ENTRY_COLUMNS.map((column) => `${table}.${column}`).join(", ");
}
