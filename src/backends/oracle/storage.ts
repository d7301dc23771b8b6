import { replacedNothing } from "../../checkpoint/log/driver-rules.ts";
import type { AppendRequest, KnownPlace } from "../../checkpoint/log/thread-log.ts";
import type { Row, SqlText, Values } from "../../checkpoint/sql-log/dialect.ts";
import { memberOf, withMember } from "../../checkpoint/sql-log/members.ts";
import { type ReadName, reads } from "../../checkpoint/sql-log/reads.ts";
import { numberIn, threadIdIn } from "../../checkpoint/sql-log/rows.ts";
import type { Removed, SqlStorage } from "../../checkpoint/sql-log/sql-log.ts";
import {
  type ReadWords,
  searchStatements,
  searchWordsTable,
  storedWords,
} from "../../checkpoint/sql-log/words-table.ts";
import { StateError } from "../../errors.ts";
import { Recent } from "../../internal/recent.ts";
import { NOTHING_TO_REPLACE } from "./append-block.ts";
import { appendSteps } from "./appending.ts";
import { type Bind, type Binds, number, OUT_NUMBER, text } from "./binds.ts";
import { isOra } from "./classify.ts";
import type { OracleHandle } from "./handle.ts";
import { LONG_TEXT, type TableNames } from "./layout.ts";
import { BINARY_ORDER } from "./open-pool.ts";
import { logDeployment } from "./parts.ts";
import type { Row as ClientRow } from "./rows.ts";
import { dialect, statements, WORD_LISTS } from "./statements.ts";

/** The tables of threads of one name, made where they are not there. */
export async function storageOf(handle: OracleHandle, names: TableNames, ranksUpTo: number): Promise<SqlStorage> {
  const version = await handle.prepare(logDeployment(names));
  const [short, long] = [dialect(false), dialect(true)];
  const texts = { short: reads(short, names), long: reads(long, names) };
  const member = { short: withMember(short, names), long: withMember(long, names) };
  const searching = { short: searchStatements(short, names), long: searchStatements(long, names) };
  const sql = statements(names);
  const longThreads = new Recent<true>(LONG_THREADS_KEPT);

  const query = async ({ text: statement }: Pick<SqlText, "text">, values: Values): Promise<readonly Row[]> =>
    (await handle.ask(statement, bindsOf(statement, values))).rows.map(normal);

  /** The text for short values first: it takes one round trip. */
  const eitherWay = async (
    [first, second]: readonly [short: SqlText, long: SqlText],
    values: Values,
    isLong: (row: Row) => boolean,
  ): Promise<readonly Row[]> => {
    const rows = await query(first, values);
    // Everything is read again, not only what is missing: the thread may have changed since.
    return rows.some(isLong) ? query(second, values) : rows;
  };

  /** A thread that had long values when it was last read is asked for those at once. */
  const readBodies = async (name: ReadName, values: Values): Promise<readonly Row[]> => {
    const thread = String(values["thread"]);
    const wasLong = longThreads.get(thread) !== undefined;
    const rows = wasLong
      ? await query(texts.long[name], values)
      : await eitherWay([texts.short[name], texts.long[name]], values, isLengthy);
    if (rows.some(isLengthy)) longThreads.set(thread, true);
    else longThreads.delete(thread);
    return rows;
  };

  const read = async (name: ReadName, values: Values): Promise<readonly Row[]> => {
    if (WITH_BODIES.has(name)) return readBodies(name, values);
    const rows = await eitherWay([texts.short[name], texts.long[name]], values, hasLongText);
    return name === "threads" || name === "threadsTo" ? inOrder(rows) : rows;
  };

  const readWords: ReadWords = (name, lists, values) =>
    eitherWay([searching.short(lists)[name], searching.long(lists)[name]], values, hasLongText);

  const call = async (block: string, binds: Binds): Promise<Readonly<Record<string, number | null>>> =>
    (await handle.ask(block, binds, true)).out;

  return {
    learnt: {},
    version,
    read,
    withMember: async (range, key, valueJson) => {
      const values = { ...range, member: memberOf(key, valueJson) };
      const which = range["last"] === undefined ? "from" : "to";
      return inOrder(await eitherWay([member.short[which], member.long[which]], values, hasLongText));
    },
    append: (threadId, request) => append(handle, names, threadId, request),
    remove: async (threadId, ifTail): Promise<Removed> => {
      const out = { b_found: OUT_NUMBER, b_gone: OUT_NUMBER };
      const { b_found, b_gone } = await call(sql.remove, { b_thread: text(threadId), ...placeBinds(ifTail), ...out });
      if (b_found !== 1) return "absent";
      if (b_gone === 1) return "removed";
      return ifTail === undefined ? "absent" : "moved";
    },
    copy: async (source, target, generation) => {
      const binds = { b_source: text(source), b_target: text(target), b_generation: text(generation) };
      const { b_outcome } = await call(sql.copy, { ...binds, b_outcome: OUT_NUMBER });
      return b_outcome === 0 ? "no source" : b_outcome === 2 ? "copied" : "taken";
    },
    removeExpired: (threadId) => handle.ask(sql.removeExpired, { b_thread: text(threadId) }, true),
    sweep: () => handle.ask(sql.sweep, {}, true),
    search: (words, range) => searchWordsTable(readWords, words, range, { ranksUpTo, ...WORD_LISTS }),
    index: async ({ threadId, generation, from, to, edits, found }) => {
      const lists = [...storedWords(found)];
      const place = { b_thread: text(threadId), b_generation: text(generation) };
      const range = { b_from: number(from), b_to: number(to), b_edits: number(edits) };
      const words = Object.fromEntries(lists.map((list, at) => [`b_found_${at + 1}`, text(list)]));
      const out = await call(sql.index(lists.length), { ...place, ...range, ...words, b_indexed: OUT_NUMBER });
      return out["b_indexed"] === 1;
    },
    isLocked: (error) => isOra(error, ...LOCKED),
    recordsPerBatch: 16,
  };
}

const WITH_BODIES: ReadonlySet<ReadName> = new Set([
  ...(["readTail", "readNewer", "readRecords", "readCheckpoint", "unindexed"] as const),
]);
const LOCKED = [54, 30006];
/** Others cost one more round trip. */
const LONG_THREADS_KEPT = 10_000;

const isLengthy = (row: Row): boolean => numberIn(row, "lengthy") > 0;
const hasLongText = (row: Row): boolean => (numberIn(row, "lengthy") & LONG_TEXT) !== 0;

/** Columns in capitals, and long values beside short ones. */
function normal(row: ClientRow): Row {
  const found: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) found[column.toLowerCase()] = value;
  for (const column of ["names", "header", "metadata", "body"]) found[column] ??= found[`long_${column}`];
  return found;
}

/** Those of the values that the statement has. */
function bindsOf(statement: string, values: Values): Binds {
  const names = new Set(Array.from(statement.matchAll(/:b_(\w+)/g), ([, name = ""]) => name));
  return Object.fromEntries(Array.from(names, (name) => [`b_${name}`, bindOf(values[name])]));
}

const bindOf = (value: Values[string]): Bind =>
  typeof value === "number" ? number(value) : text(typeof value === "string" ? value : null);

/** No thread has a tail of 0. */
const placeBinds = (place: KnownPlace | undefined): Binds => ({
  b_generation: text(place?.generation),
  b_seq: number(place?.seq),
  b_write_id: text(place?.writeId),
});

/** One call for nearly every append; if it takes several, they are one transaction. */
async function append(
  handle: OracleHandle,
  names: TableNames,
  threadId: string,
  request: AppendRequest,
): Promise<boolean> {
  const steps = appendSteps(names, threadId, request);
  try {
    return await handle.onSession(async (asking) => {
      for (const [index, { block, binds }] of steps.entries()) {
        const { out } = await asking.ask(block, binds, index === steps.length - 1);
        if (index === 0 && out["b_appended"] !== 1) return false;
      }
      return true;
    });
  } catch (error) {
    if (isOra(error, NOTHING_TO_REPLACE)) throw replacedNothing();
    throw error;
  }
}

/** A session with a linguistic sort order would skip threads in a walk, because the next page begins after the last id. */
export function inOrder(rows: readonly Row[]): readonly Row[] {
  const ids = rows.map((row) => Buffer.from(threadIdIn(row)));
  if (ids.every((id, index) => Buffer.compare(ids[index - 1] ?? Buffer.alloc(0), id) < 0)) return rows;
  throw new StateError("INVALID_ARGUMENT", `the sessions of this pool sort as a language does: ${BINARY_ORDER}`);
}
