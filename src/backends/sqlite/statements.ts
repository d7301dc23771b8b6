import type { SqliteDatabase, SqliteStatement } from "./connect.ts";
import type { Prepared } from "./connection.ts";
import type { SqliteHandle } from "./handle.ts";
import type { TableNames } from "./layout.ts";
import { checkpoints } from "./parts.ts";
import { prepareTables } from "./prepare-tables.ts";
import { ENTRY_COLUMNS, ROWS_PER_THREAD, sqlRowId, THREAD_COLUMNS } from "./rows.ts";

/**
 * From a prefix or behind a cursor, whichever is later, up to an end, or to the last text (every blob follows it).
 * One lower and one upper bound that the index itself can seek: a page costs the same wherever it begins, and a
 * prefix with few threads does not read those that follow.
 */
const withinPage = (column: string): string =>
  `${column} >= MAX(?, ?) AND ${column} <> ? AND ${column} < COALESCE(?, x'00')`;

const SHORT_BODY_BYTES = 64 * 1024;

/** Ids are made by `rowId` or `sqlRowId`: neither can reach another thread. */
const STATEMENTS = {
  thread: ({ threads }: TableNames) => `SELECT ${THREAD_COLUMNS.join(", ")} FROM ${threads} WHERE thread_id = ?`,

  /** With the metadata of its newest checkpoint, which tells whether that changes. */
  threadToAppend: ({ threads, records }: TableNames) =>
    `SELECT ${THREAD_COLUMNS.join(", ")}, (SELECT r.metadata FROM ${records} r
       WHERE r.id = ${sqlRowId("t.thread_no", "t.head")}) AS metadata FROM ${threads} t WHERE thread_id = ?`,

  /** The two rows before a place in the order of ids, and the two behind it, as they lie there. */
  threadsBefore: ({ threads }: TableNames) =>
    `SELECT ${THREAD_COLUMNS.join(", ")} FROM ${threads} WHERE thread_id < ? ORDER BY thread_id DESC LIMIT 2`,

  threadsBehind: ({ threads }: TableNames) =>
    `SELECT ${THREAD_COLUMNS.join(", ")} FROM ${threads} WHERE thread_id > ? ORDER BY thread_id LIMIT 2`,

  threadByNumber: ({ threads }: TableNames) =>
    `SELECT ${THREAD_COLUMNS.join(", ")} FROM ${threads} WHERE thread_no = ?`,

  create: ({ threads }: TableNames) =>
    `INSERT INTO ${threads} (${THREAD_COLUMNS.join(", ")}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (thread_id) DO NOTHING`,

  /** Leaves the index of stale threads alone: SQLite rewrites an index whenever one of its columns is set. */
  advance: ({ threads }: TableNames) =>
    `UPDATE ${threads} SET tail = ?, tail_write_id = ?, head = ?, sum = ? WHERE thread_id = ?`,

  advanceAndMark: ({ threads }: TableNames) =>
    `UPDATE ${threads} SET tail = ?, tail_write_id = ?, head = ?, sum = ?, stale = 1 WHERE thread_id = ?`,

  markIndexed: ({ threads }: TableNames) => `UPDATE ${threads} SET indexed = ?, stale = ?, sum = ? WHERE thread_id = ?`,

  forget: ({ threads }: TableNames) => `DELETE FROM ${threads} WHERE thread_id = ?`,

  insert: ({ records }: TableNames) =>
    `INSERT INTO ${records} (${ENTRY_COLUMNS.join(", ")}, is_hinted, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,

  /** Advances the thread, too, if its row is as it is said to be; else it fails with `isMoved`. */
  append: ({ appends }: TableNames) =>
    `INSERT INTO ${appends} (thread_no, thread_id, generation, tail, tail_write_id, head, indexed, sum, old_write_id, old_head, old_sum,
       id, base, write_id, checkpoint_id, is_hinted, names, header, metadata, record_sum, body)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,

  replace: ({ records }: TableNames) =>
    `UPDATE ${records} SET base = ?, head = ?, write_id = ?, checkpoint_id = ?, names = ?, header = ?, metadata = ?, sum = ?, is_hinted = ?, body = ?
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
    `INSERT INTO ${records} (${ENTRY_COLUMNS.join(", ")}, is_hinted, body)
     SELECT id - ? + ?, ${ENTRY_COLUMNS.slice(1).join(", ")}, is_hinted, body FROM ${records} WHERE id BETWEEN ? AND ?`,

  /** The newest row of a thread, which must be the tail's. */
  newest: ({ records }: TableNames) =>
    `SELECT ${ENTRY_COLUMNS.join(", ")} FROM ${records} WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1`,

  at: ({ records }: TableNames) => `SELECT ${ENTRY_COLUMNS.join(", ")} FROM ${records} WHERE id = ?`,

  newestSizes: ({ records }: TableNames) =>
    `SELECT id, length(body) AS length FROM ${records} WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?`,

  range: ({ records }: TableNames) =>
    `SELECT ${ENTRY_COLUMNS.join(", ")}, body FROM ${records} WHERE id BETWEEN ? AND ? ORDER BY id`,

  /** Some of the first records; without its body, one that is not short. */
  shortRecords: ({ records }: TableNames) =>
    `SELECT ${ENTRY_COLUMNS.join(", ")}, CASE WHEN length(body) <= ${SHORT_BODY_BYTES} THEN body END AS body
     FROM ${records} WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?`,

  /** The newest record with that name, as a first name that is indexed or as a further one. */
  named: ({ records, names }: TableNames) =>
    `SELECT ${ENTRY_COLUMNS.join(", ")} FROM ${records} WHERE id = MAX(
       COALESCE((SELECT MAX(id) FROM ${records} WHERE checkpoint_id = ? AND is_hinted = 0 AND id BETWEEN ? AND ?), 0),
       COALESCE((SELECT MAX(id) FROM ${names} WHERE name = ? AND id BETWEEN ? AND ?), 0))`,

  list: ({ records }: TableNames) =>
    `SELECT ${ENTRY_COLUMNS.join(", ")} FROM ${records}
     WHERE id BETWEEN ? AND ? AND checkpoint_id IS NOT NULL ORDER BY id DESC LIMIT ?`,

  threadRows: ({ threads }: TableNames) =>
    `SELECT ${THREAD_COLUMNS.join(", ")} FROM ${threads} WHERE ${withinPage("thread_id")} ORDER BY thread_id LIMIT ?`,

  threads: ({ threads, records }: TableNames) =>
    `SELECT ${headColumns()} FROM ${threads} t LEFT JOIN ${records} r ON r.id = ${sqlRowId("t.thread_no", "t.head")}
     WHERE ${withinPage("t.thread_id")} ORDER BY t.thread_id LIMIT ?`,

  /**
   * Two ranges, merged in the order of ids: the threads with a member, and those that are always looked at. What is
   * behind a row of the index may be missing, so that every row counts for the page.
   */
  withMember: ({ threads, records, members }: TableNames) =>
    `SELECT m.thread_id AS place, ${headColumns()} FROM (
       SELECT thread_id FROM ${members} WHERE member = ? AND ${withinPage("thread_id")}
       UNION SELECT thread_id FROM ${members} WHERE member = ? AND ${withinPage("thread_id")}
       ORDER BY thread_id LIMIT ?) m
     LEFT JOIN ${threads} t ON t.thread_id = m.thread_id
     LEFT JOIN ${records} r ON r.id = ${sqlRowId("t.thread_no", "t.head")}
     ORDER BY m.thread_id`,

  addMember: ({ members }: TableNames) =>
    `INSERT INTO ${members} (member, thread_id) VALUES (?, ?) ON CONFLICT DO NOTHING`,

  dropMember: ({ members }: TableNames) => `DELETE FROM ${members} WHERE member = ? AND thread_id = ?`,

  /** Reads the whole index: for a thread that is damaged. */
  dropMembers: ({ members }: TableNames) => `DELETE FROM ${members} WHERE thread_id = ?`,

  /** How many records have the words, up to a limit. */
  countHits: ({ words }: TableNames) =>
    `SELECT count(*) AS hits FROM (SELECT 1 FROM ${words} WHERE ${words} MATCH ? LIMIT ?)`,

  countHitsWithin: ({ threads, words }: TableNames) =>
    `SELECT count(*) AS hits FROM (
       SELECT 1 FROM ${words} w CROSS JOIN ${threads} t ON t.thread_no = w.rowid / ${ROWS_PER_THREAD}
       WHERE ${words} MATCH ? AND t.thread_id >= ? AND (? IS NULL OR t.thread_id < ?) LIMIT ?)`,

  /**
   * The next after a length and an id. The index is asked first, whatever the planner expects of it. Of what is
   * ranked only the lengths are read, and the threads where a prefix asks for them; the rest only of the page.
   */
  searchBest: ({ threads, records, words }: TableNames) =>
    `SELECT ${headColumns()}, found.length AS length FROM (
       SELECT r.id AS id, length(r.body) AS length FROM ${words} w CROSS JOIN ${records} r ON r.id = w.rowid
       WHERE ${words} MATCH ? AND (length(r.body), -r.id) > (?, ?) AND (? = '' OR EXISTS (
         SELECT 1 FROM ${threads} t WHERE t.thread_no = w.rowid / ${ROWS_PER_THREAD}
           AND t.thread_id >= ? AND (? IS NULL OR t.thread_id < ?)))
       ORDER BY length(r.body), r.id DESC LIMIT ?) found
     CROSS JOIN ${records} r ON r.id = found.id LEFT JOIN ${threads} t ON t.thread_no = found.id / ${ROWS_PER_THREAD}
     ORDER BY found.length, found.id DESC`,

  /**
   * The index hands out its rows in this order, so that nothing is sorted and it ends with the page. Of a hit that the
   * prefix leaves out no row is read: the index of numbers has the thread's id.
   */
  searchNewest: ({ threads, records, words }: TableNames) =>
    `SELECT ${headColumns()}, r.length AS length FROM (
       SELECT ${ENTRY_COLUMNS.map((name) => `r.${name} AS ${name}`).join(", ")}, length(r.body) AS length, t.thread_id AS thread_id
       FROM ${words} w CROSS JOIN ${threads} t ON t.thread_no = w.rowid / ${ROWS_PER_THREAD}
         CROSS JOIN ${records} r ON r.id = w.rowid
       WHERE ${words} MATCH ? AND w.rowid < CAST(? AS INTEGER) AND t.thread_id >= ? AND (? IS NULL OR t.thread_id < ?)
       ORDER BY w.rowid DESC LIMIT ?) r
     CROSS JOIN ${threads} t ON t.thread_id = r.thread_id ORDER BY r.id DESC`,

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
export async function prepareLog(handle: SqliteHandle, names: TableNames): Promise<Prepared<Statements>> {
  const assertCurrent = await prepareTables(handle, names, checkpoints(names));
  return { statements: prepareStatements(handle.database, names), assertCurrent };
}

export function prepareStatements(database: SqliteDatabase, names: TableNames): Statements {
  const prepared = Object.entries(STATEMENTS).map(([name, sql]) => [name, database.prepare(sql(names))] as const);
  return Object.fromEntries(prepared) as Statements;
}
