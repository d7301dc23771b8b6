import { openPlace, placeOf } from "../../checkpoint/find/search-place.ts";
import type { FoundRecords, SearchHit, SearchOrder, SearchRange } from "../../checkpoint/log/thread-log.ts";
import { isStanding } from "../../checkpoint/record/metadata.ts";
import type { IndexBatch } from "../../checkpoint/sql-log/catch-up.ts";
import { type Row, type Values, valuesOf } from "../../checkpoint/sql-log/dialect.ts";
import { isInNoId, rangeOf } from "../../checkpoint/sql-log/finding.ts";
import { type ReadName, reads } from "../../checkpoint/sql-log/reads.ts";
import { MAX_SEQ, toEntry } from "../../checkpoint/sql-log/rows.ts";
import type { SqlStorage } from "../../checkpoint/sql-log/sql-log.ts";
import { Groups } from "../../driver/groups.ts";
import type { TextRow } from "./ask.ts";
import {
  type Appending,
  appendValues,
  editingValues,
  editManyValues,
  groupValues,
  indexingValues,
  isOneRecord,
  wordsWrittenBy,
} from "./calls.ts";
import { sqlState } from "./classify.ts";
import { appendWays, callGroups, editWays, withBytes } from "./groups.ts";
import type { PostgresHandle } from "./handle.ts";
import type { TableNames } from "./layout.ts";
import { checkpoints } from "./parts.ts";
import { PER_CATCH_UP, PER_EDITS, sortNowAndThen } from "./sorting-words.ts";
import { ASKING, DIALECT, type RunStatement, statements } from "./statements.ts";
import { storedWords, wordQuery } from "./words.ts";

const LOCK_NOT_AVAILABLE = "55P03";

export interface PostgresStorage extends SqlStorage {
  readonly run: RunStatement;
}

/** The tables of threads in one schema, made where they are not there. */
export async function storageOf(
  handle: PostgresHandle,
  names: TableNames,
  ranksUpTo: number,
): Promise<PostgresStorage> {
  const version = await handle.prepare(names, checkpoints(names));
  const [texts, sql] = [reads(DIALECT, names), statements(names)];
  const run: RunStatement = (statement, ...values) => handle.ask(sql[statement], values, ASKING[statement]);
  const read = async (name: ReadName, values: Values): Promise<readonly Row[]> =>
    (await handle.ask(texts[name].text, valuesOf(texts[name], values))).map(withBytes);
  const groups = callGroups(read, run);
  const one = async (appending: Appending): Promise<boolean> => {
    const isOne = isOneRecord(appending.request);
    const values = isOne ? appendValues(appending) : editingValues(appending);
    const [row] = await run(isOne ? "append" : "appendWithEdits", ...values);
    return row?.["appended"] === "t";
  };
  /** A call whose place is not returned goes alone. */
  const together = async (
    by: "appendMany" | "editMany",
    group: readonly Appending[],
  ): Promise<readonly (true | undefined)[]> => {
    const places = await run(by, ...(by === "appendMany" ? groupValues(group) : editManyValues(group)));
    if (by === "editMany") await sortNowAndThen(run, wordsWrittenBy(group), PER_EDITS);
    const appended = new Set(places.map(({ place }) => Number(place) - 1));
    return group.map((_, place) => appended.has(place) || undefined);
  };
  const appends = new Groups(appendWays({ one, many: (group) => together("appendMany", group) }));
  const edits = new Groups(editWays({ one, many: (group) => together("editMany", group) }));
  return {
    learnt: { durability: handle.durability },
    version,
    run,
    read: groups.read,
    withMember: async (range, key, valueJson) => {
      const [whole, part] = isStanding(key) ? [sql.standing, sql.standingTo] : [sql.withMember, sql.withMemberTo];
      const { text, names: order } = range["last"] === undefined ? whole : part;
      return handle.ask(text, valuesOf({ text, names: order }, { ...range, member: indexable(key, valueJson) }));
    },
    append: (threadId, request) => (isOneRecord(request) ? appends : edits).call({ threadId, request }),
    remove: (threadId, ifTail) => groups.removals.call({ threadId, ifTail }),
    copy: async (source, target, generation) => {
      const [row] = await run("copy", source, target, generation);
      if (row?.["found"] !== "1") return "no source";
      return row["made"] === "1" ? "copied" : "taken";
    },
    removeExpired: (threadId) => run("removeExpired", threadId),
    sweep: () => run("sweep"),
    search: (words, range) => search(run, words, range, ranksUpTo),
    index: (batch) => index(run, batch),
    isLocked: (error) => sqlState(error) === LOCK_NOT_AVAILABLE,
    recordsPerBatch: 256,
  };
}

/**
 * What jsonb cannot hold: U+0000 and unpaired surrogates, which JSON writes as
 * escapes. Literal text that only looks like such an escape matches too. That makes
 * a query slower, never wrong.
 */
const UNINDEXABLE = /\\u(?:0000|d[89a-f])/i;

/** The object that jsonb must contain for this member, or null if jsonb cannot express it. */
function indexable(key: string, valueJson: string): string | null {
  const member = `{${JSON.stringify(key)}:${valueJson}}`;
  return UNINDEXABLE.test(member) ? null : member;
}

async function index(run: RunStatement, batch: IndexBatch): Promise<boolean> {
  const found = batch.found.flatMap(({ row, words }) => {
    const stored = storedWords(words);
    const { seq, version } = row as TextRow;
    return stored === null ? [] : [{ seq, version, words: stored }];
  });
  const { threadId, generation, from: indexed, to: reached } = batch;
  const [row] = await run("index", ...indexingValues({ threadId, generation, indexed, reached, found }));
  const written = found.reduce((characters, { words }) => characters + words.length, 0);
  await sortNowAndThen(run, written, PER_CATCH_UP);
  return row?.["indexed"] === "t";
}

/** The index knows which records have the words, but not how often. The fewer other words a record has, the better the hit. */
async function search(
  run: RunStatement,
  words: readonly string[],
  { limit, prefix = "", after }: SearchRange,
  ranksUpTo: number,
): Promise<FoundRecords> {
  if (isInNoId(prefix)) return { hits: [], order: "best" };
  const from = after === undefined ? undefined : openPlace(after, ["number", "string", "number"]);
  const [key = null, thread = null, seq = null] = from?.parts ?? [];
  if (thread !== null && (isInNoId(thread) || !isPosition(seq))) return { hits: [], order: from?.order ?? "best" };
  const isNewest = from === undefined ? null : from.order === "newest";
  const { first, last = null } = rangeOf(prefix);
  const rows = await run("search", wordQuery(words), first, last, limit, ranksUpTo, isNewest, key, thread, seq);
  const order = (isNewest ?? rows[0]?.["newest"] === "t") ? "newest" : "best";
  return { hits: rows.map((row) => toHit(row, order)), order };
}

function toHit(row: TextRow, order: SearchOrder): SearchHit {
  const { thread_id: threadId, at, size } = row;
  const entry = toEntry(row);
  return {
    threadId: threadId ?? "",
    entry,
    score: 1 / Math.sqrt(Math.max(Number(size), 1)),
    place: placeOf(order, Number(order === "newest" ? at : size), threadId ?? "", entry.seq),
  };
}

const isPosition = (seq: number | null): boolean => seq !== null && seq >= 0 && seq <= MAX_SEQ;
