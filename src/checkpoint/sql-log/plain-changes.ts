import { recordsIn, replacedNothing } from "../log/driver-rules.ts";
import type { AppendRequest, KnownPlace, LogRecord } from "../log/thread-log.ts";
import type { IndexBatch } from "./catch-up.ts";
import type { Row, SqlDialect, SqlTables, SqlText, Values } from "./dialect.ts";
import { membersIn } from "./members.ts";
import { numberIn, positionIn, storedNames, storedWriteId, textIn } from "./rows.ts";
import { storedWords, type WordsDialect } from "./words-table.ts";

export interface Answer {
  readonly rows: readonly Row[];
  /** How many rows a statement inserted or deleted. Of an UPDATE it is not asked: clients count differently. */
  readonly changes: number;
}

/** A session within a transaction. */
export interface SqlSession {
  ask(statement: SqlText, values: Values): Promise<Answer>;
}

/** How plain transactions are made. */
export interface Transactions {
  /** How many bytes of records one statement takes. A single record is never larger. */
  readonly maxRecordBytes: number;
  /** Runs one statement, committed by itself. */
  ask(statement: SqlText, values: Values): Promise<Answer>;
  /** Commits where `work` resolves with something, and rolls back where it resolves with `undefined` or rejects. */
  transaction<T>(work: (session: SqlSession) => Promise<T | undefined>): Promise<T | undefined>;
  /** Whether a statement failed because a key was there already. */
  isTaken(error: unknown): boolean;
}

export interface PlainTables extends SqlTables {
  readonly members: string;
  readonly words: string;
}

/** What plain transactions need beyond reads. */
export interface PlainDialect extends SqlDialect, WordsDialect {
  /** The server's clock plus this many milliseconds; NULL from NULL. */
  later(name: string): string;
  /** `[1, 2, …]` as rows with the column `n`. */
  jsonNumbers(name: string): string;
}

const RECORD = ["base", "head", "write_id", "checkpoint_id", "names", "header", "metadata", "body_bytes", "body"];

const recordValues = (record: LogRecord): Values => ({
  ...{ seq: record.seq, base: record.base, head: record.head, write_id: storedWriteId(record) },
  ...{ checkpoint_id: record.checkpointId, names: storedNames(record), header: record.header },
  ...{ metadata: record.metadata, body_bytes: record.body.byteLength, body: record.body },
});

/** How many rows one INSERT takes. They are few numbers, because clients and servers keep every text that they prepared. */
const ROWS_TOGETHER: readonly number[] = [64, 8, 1];
/** More at once would only take memory. */
const MOST_BYTES_TOGETHER = 4 * 1024 * 1024;

interface RowToInsert {
  readonly values: Values;
  readonly bytes: number;
}

const recordRow = (record: LogRecord): RowToInsert => {
  const values = recordValues(record);
  const beside = [record.header, record.metadata, values["names"]].map((each) => Buffer.byteLength(String(each ?? "")));
  return { values, bytes: beside.reduce((sum, bytes) => sum + bytes, record.body.byteLength) };
};

const nameRows = ({ seq, names = [] }: LogRecord): readonly RowToInsert[] =>
  names.map((name) => ({ values: { name, seq }, bytes: Buffer.byteLength(name) }));

/** The rows of one thread in few statements: each takes as many rows as fit, with their values. */
function* rowsTogether(
  rows: readonly RowToInsert[],
  mostBytes: number,
): Generator<readonly [count: number, values: Values]> {
  for (let at = 0; at < rows.length; ) {
    const fits = (count: number): boolean =>
      at + count <= rows.length &&
      rows.slice(at, at + count).reduce((sum, { bytes }) => sum + bytes, 0) <= Math.min(mostBytes, MOST_BYTES_TOGETHER);
    const count = ROWS_TOGETHER.find(fits) ?? 1;
    const values = rows
      .slice(at, at + count)
      .flatMap((row, place) => Object.entries(row.values).map(([name, value]) => [`${name}_${place}`, value] as const));
    yield [count, Object.fromEntries(values)];
    at += count;
  }
}

/** The texts of every change. */
function texts(dialect: PlainDialect, { threads, records, names, members, words }: PlainTables) {
  const { now, statement, jsonNumbers, later } = dialect;
  const isPlace = "generation = :generation AND tail = :tail AND tail_write_id = :tail_write_id";
  const gone = `(seq < :below OR seq IN (SELECT d.n FROM ${jsonNumbers("dropped")} d))`;
  const alive = `(expires_at IS NULL OR expires_at > ${now})`;
  const inserting = (table: string, columns: readonly string[]): ((rows: number) => SqlText) => {
    const row = (place: number): string => `(:thread, ${columns.map((column) => `:${column}_${place}`).join(", ")})`;
    const text = (rows: number): SqlText =>
      statement(`INSERT INTO ${table} (thread_id, ${columns.join(", ")})
      VALUES ${Array.from({ length: rows }, (_, place) => row(place)).join(", ")}`);
    const ready = new Map(ROWS_TOGETHER.map((rows) => [rows, text(rows)]));
    return (rows) => ready.get(rows) ?? text(rows);
  };
  return {
    begin: statement(`INSERT INTO ${threads} (thread_id, generation, tail, tail_write_id, head, members, expires_at)
      VALUES (:thread, :generation, :tail, :tail_write_id, :head, :members, ${later("ttl_ms")})`),
    lock: statement(`SELECT thread_no, head, members FROM ${threads}
      WHERE thread_id = :thread AND ${isPlace} AND ${alive} FOR UPDATE`),
    advance:
      statement(`UPDATE ${threads} SET tail = :tail, tail_write_id = :tail_write_id, head = :head, members = :members,
      stale = 1, indexed = LEAST(indexed, :kept), edits = edits + :edits,
      expires_at = COALESCE(${later("ttl_ms")}, expires_at) WHERE thread_id = :thread`),
    metadataOf: statement(`SELECT metadata FROM ${records} WHERE thread_id = :thread AND seq = :seq`),
    insert: inserting(records, ["seq", ...RECORD]),
    countThere: statement(`SELECT COUNT(*) AS found FROM ${records} WHERE thread_id = :thread
      AND seq IN (SELECT d.n FROM ${jsonNumbers("seqs")} d)`),
    dropRecords: statement(`DELETE FROM ${records} WHERE thread_id = :thread AND ${gone}`),
    dropNames: statement(`DELETE FROM ${names} WHERE thread_id = :thread AND ${gone}`),
    dropWords: statement(`DELETE FROM ${words} WHERE thread_no = :thread_no AND (seq > :kept OR ${gone})`),
    names: inserting(names, ["name", "seq"]),
    addWords: statement(`INSERT INTO ${words} (word, thread_no, seq, word_count)
      SELECT ${dialect.fromHex("j.word")}, :thread_no, j.seq, j.word_count FROM ${dialect.jsonRecords(":found")} j`),
    addMembers: statement(`INSERT INTO ${members} (member, thread_id)
      SELECT d.n, :thread FROM ${jsonNumbers("numbers")} d`),
    dropMembers: statement(`DELETE FROM ${members} WHERE thread_id = :thread
      AND member IN (SELECT d.n FROM ${jsonNumbers("numbers")} d)`),
    remove: statement(`DELETE FROM ${threads} WHERE thread_id = :thread AND ${alive}`),
    removeIf: statement(`DELETE FROM ${threads} WHERE thread_id = :thread AND ${isPlace} AND ${alive}`),
    removeExpired: statement(`DELETE FROM ${threads} WHERE thread_id = :thread AND expires_at <= ${now}`),
    sweep: statement(`DELETE FROM ${threads} WHERE expires_at <= ${now} ORDER BY expires_at ${dialect.page("most")}`),
    lockSource: statement(`SELECT 1 AS found FROM ${threads} WHERE thread_id = :source AND ${alive} FOR UPDATE`),
    copyThread:
      statement(`INSERT INTO ${threads} (thread_id, generation, tail, tail_write_id, head, members, expires_at)
      SELECT :target, :generation, tail, tail_write_id, head, members, expires_at FROM ${threads} WHERE thread_id = :source`),
    copyRecords: statement(`INSERT INTO ${records} (thread_id, seq, ${RECORD.join(", ")})
      SELECT :target, seq, ${RECORD.join(", ")} FROM ${records} WHERE thread_id = :source`),
    copyNames: statement(`INSERT INTO ${names} (thread_id, name, seq)
      SELECT :target, name, seq FROM ${names} WHERE thread_id = :source`),
    copyMembers: statement(`INSERT INTO ${members} (member, thread_id)
      SELECT member, :target FROM ${members} WHERE thread_id = :source`),
    lockToIndex: statement(`SELECT thread_no, tail FROM ${threads}
      WHERE thread_id = :thread AND generation = :generation AND indexed = :from_seq AND edits = :edits FOR UPDATE`),
    indexed: statement(`UPDATE ${threads} SET indexed = :to_seq, stale = :stale WHERE thread_id = :thread`),
  };
}

/**
 * The changes of a log as plain transactions. The thread's row is locked first: the transaction that holds it has the
 * thread to itself until the commit, and nothing waits for another thread.
 */
export class PlainChanges {
  readonly #sql: ReturnType<typeof texts>;
  readonly #database: Transactions;

  constructor(database: Transactions, dialect: PlainDialect, tables: PlainTables) {
    this.#database = database;
    this.#sql = texts(dialect, tables);
  }

  /** Whether it was made; refused where the tail is another one, or the thread is there that was to begin. */
  async append(threadId: string, request: AppendRequest): Promise<boolean> {
    const made = await this.#database.transaction((session) =>
      request.expected.seq === 0 ? this.#begin(session, threadId, request) : this.#continue(session, threadId, request),
    );
    return made === true;
  }

  async #begin(session: SqlSession, threadId: string, request: AppendRequest): Promise<true | undefined> {
    const added = recordsIn(request);
    const last = added.at(-1) ?? request.record;
    const members = membersIn(added.find(({ seq }) => seq === last.head)?.metadata);
    try {
      await session.ask(this.#sql.begin, {
        ...{ thread: threadId, generation: request.expected.generation, tail: last.seq, tail_write_id: last.writeId },
        ...{ head: last.head, members: storedMembers(members), ttl_ms: request.ttlMs },
      });
    } catch (error) {
      if (this.#database.isTaken(error)) return undefined;
      throw error;
    }
    await this.#insert(session, threadId, added);
    await this.#moveMembers(session, threadId, new Set(), members);
    return true;
  }

  async #continue(session: SqlSession, threadId: string, request: AppendRequest): Promise<true | undefined> {
    const { expected, replace = [], drop = [], dropBelow = 0, ttlMs } = request;
    const { generation, seq: tail, writeId: tail_write_id } = expected;
    const place = { thread: threadId, generation, tail, tail_write_id };
    const [thread] = (await session.ask(this.#sql.lock, place)).rows;
    if (thread === undefined) return undefined;
    const added = recordsIn(request);
    const last = added.at(-1) ?? request.record;
    const before = membersOf(thread);
    const after = await this.#membersAt(session, threadId, thread, last.head, [...added, ...replace]);
    // The words of what is replaced go at once, and those behind it; the next search indexes them again.
    const kept = replace.reduce((least, { seq }) => Math.min(least, seq - 1), tail);
    const isEdit = replace.length > 0 || drop.length > 0 || dropBelow > 0;
    await session.ask(this.#sql.advance, {
      ...{ thread: threadId, tail: last.seq, tail_write_id: last.writeId, head: last.head },
      ...{ members: storedMembers(after), kept, edits: isEdit ? 1 : 0, ttl_ms: ttlMs },
    });
    if (isEdit) await this.#edit(session, threadId, request, { thread_no: numberIn(thread, "thread_no"), kept });
    await this.#insert(session, threadId, [...replace, ...added]);
    await this.#moveMembers(session, threadId, before, after);
    return true;
  }

  /** Removes what is dropped and what is replaced. */
  async #edit(
    session: SqlSession,
    thread: string,
    { replace = [], drop = [], dropBelow = 0 }: AppendRequest,
    words: { readonly thread_no: number; readonly kept: number },
  ): Promise<void> {
    const replaced = replace.map(({ seq }) => seq);
    if (replaced.length > 0) {
      const { rows } = await session.ask(this.#sql.countThere, { thread, seqs: JSON.stringify(replaced) });
      const isThere = numberIn(rows[0], "found") === replaced.length && replaced.every((seq) => seq >= dropBelow);
      if (!isThere) throw replacedNothing();
    }
    const gone = { thread, below: dropBelow, dropped: JSON.stringify([...drop, ...replaced]) };
    for (const statement of [this.#sql.dropRecords, this.#sql.dropNames]) await session.ask(statement, gone);
    await session.ask(this.#sql.dropWords, { ...gone, ...words });
  }

  async #insert(session: SqlSession, thread: string, records: readonly LogRecord[]): Promise<void> {
    for (const [kind, rows] of [
      ["insert", records.map(recordRow)],
      ["names", records.flatMap(nameRows)],
    ] as const) {
      for (const [count, values] of rowsTogether(rows, this.#database.maxRecordBytes)) {
        await session.ask(this.#sql[kind](count), { thread, ...values });
      }
    }
  }

  /** The members of the checkpoint that stands for the thread from now on. */
  async #membersAt(
    session: SqlSession,
    thread: string,
    row: Row,
    head: number,
    written: readonly LogRecord[],
  ): Promise<ReadonlySet<number>> {
    const own = written.find(({ seq }) => seq === head);
    if (own !== undefined) return membersIn(own.metadata);
    if (numberIn(row, "head") === head) return membersOf(row);
    const [found] = (await session.ask(this.#sql.metadataOf, { thread, seq: head })).rows;
    return membersIn(textIn(found ?? {}, "metadata"));
  }

  /** Only what differs is written. */
  async #moveMembers(
    session: SqlSession,
    thread: string,
    before: ReadonlySet<number>,
    after: ReadonlySet<number>,
  ): Promise<void> {
    const [gone, come] = [
      [...before].filter((each) => !after.has(each)),
      [...after].filter((each) => !before.has(each)),
    ];
    if (gone.length > 0) await session.ask(this.#sql.dropMembers, { thread, numbers: JSON.stringify(gone) });
    if (come.length > 0) await session.ask(this.#sql.addMembers, { thread, numbers: JSON.stringify(come) });
  }

  /** Only by its own thread's row: what else is kept for it goes with that. `undefined` where nothing fits. */
  async remove(threadId: string, ifTail: KnownPlace | undefined): Promise<true | undefined> {
    const { generation, seq, writeId } = ifTail ?? {};
    const place = { thread: threadId, generation, tail: positionIn(seq), tail_write_id: writeId };
    const { changes } = await this.#database.ask(ifTail === undefined ? this.#sql.remove : this.#sql.removeIf, place);
    return changes > 0 ? true : undefined;
  }

  removeExpired(threadId: string): Promise<unknown> {
    return this.#database.ask(this.#sql.removeExpired, { thread: threadId });
  }

  sweep(): Promise<unknown> {
    return this.#database.ask(this.#sql.sweep, { most: 100 });
  }

  async copy(source: string, target: string, generation: string): Promise<"copied" | "no source" | "taken"> {
    let refusal: "no source" | "taken" = "no source";
    const copied = await this.#database.transaction(async (session) => {
      const values = { source, target, generation };
      if ((await session.ask(this.#sql.lockSource, values)).rows.length === 0) return undefined;
      try {
        await session.ask(this.#sql.copyThread, values);
      } catch (error) {
        if (!this.#database.isTaken(error)) throw error;
        refusal = "taken";
        return undefined;
      }
      for (const statement of [this.#sql.copyRecords, this.#sql.copyNames, this.#sql.copyMembers]) {
        await session.ask(statement, values);
      }
      return "copied" as const;
    });
    return copied ?? refusal;
  }

  /** Stores words only if the thread is as it was when they were found: what was erased meanwhile must not come back. */
  async index(batch: IndexBatch): Promise<boolean> {
    const { threadId: thread, generation, from, to, edits } = batch;
    const indexed = await this.#database.transaction(async (session) => {
      const place = { thread, generation, from_seq: from, edits };
      const [row] = (await session.ask(this.#sql.lockToIndex, place)).rows;
      if (row === undefined) return undefined;
      const stale = to < numberIn(row, "tail") ? 1 : 0;
      await session.ask(this.#sql.indexed, { thread, to_seq: to, stale });
      const thread_no = numberIn(row, "thread_no");
      for (const found of storedWords(batch.found)) await session.ask(this.#sql.addWords, { thread_no, found });
      return true;
    });
    return indexed === true;
  }
}

/** What the index has of a thread, beside its row, so that a save that changes nothing of it need not look. */
const storedMembers = (members: ReadonlySet<number>): string | null =>
  members.size === 0 ? null : JSON.stringify([...members]);

const membersOf = (row: Row): ReadonlySet<number> =>
  new Set(JSON.parse(textIn(row, "members") ?? "[]") as readonly number[]);
