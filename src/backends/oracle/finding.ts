import { assertNoPlace } from "../../checkpoint/find/search-place.ts";
import { listedThread } from "../../checkpoint/log/listed-threads.ts";
import type { FoundRecords, ListedThread, LogPage, SearchRange } from "../../checkpoint/log/thread-log.ts";
import { storedMember } from "../../checkpoint/record/metadata.ts";
import { MAX_ID_BYTES, MAX_TENANT_PREFIX_BYTES } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { type Binds, number, text } from "./binds.ts";
import { isOra } from "./classify.ts";
import { filledUp } from "./filled-up.ts";
import { memberCondition } from "./metadata.ts";
import { type Row, threadIdOf, toEntry } from "./rows.ts";
import type { Reading, Statements } from "./statements.ts";
import { textQueries } from "./text-words.ts";
import type { WordsStatements } from "./words-statements.ts";

/** Runs a query for entries, including their long values. */
export type ReadEntries = (reading: Reading, binds: Binds) => Promise<readonly Row[]>;

const NOTHING: LogPage<ListedThread> = { items: [], cursor: undefined };

export async function listThreads(
  read: ReadEntries,
  sql: Statements,
  { prefix, cursor = "", limit }: { prefix: string; cursor?: string; limit: number },
): Promise<LogPage<ListedThread>> {
  if (isInNoId(prefix)) return NOTHING;
  return pageOf(inOrder(await read(sql.threads(), page(prefix, cursor, limit + 1))).map(listed), limit);
}

/** SQL narrows down to threads that may match. The exact comparison is made here on the JSON text, where no value is coerced. */
export async function queryMetadata(
  read: ReadEntries,
  sql: Statements,
  key: string,
  valueJson: string,
  { cursor = "", limit, prefix = "" }: { cursor?: string; limit: number; prefix?: string },
): Promise<LogPage<ListedThread>> {
  if (isInNoId(prefix)) return NOTHING;
  const matches: ListedThread[] = [];
  const member = memberCondition("t.metadata", key, valueJson);
  const reading = sql.threads(member && ` AND (t.unindexed = 1 OR ${member.condition})`);
  for (let after = cursor; ; ) {
    const asked = Math.max(limit - matches.length + 1, 100);
    const found = inOrder(await read(reading, { ...page(prefix, after, asked), ...member?.binds }));
    matches.push(...found.flatMap((row) => listedWithMember(row, key, valueJson) ?? []));
    const last = found.at(-1);
    if (last === undefined || found.length < asked || matches.length > limit) return pageOf(matches, limit);
    after = threadIdOf(last);
  }
}

/** How many queries one search has. Shorter lists are padded, so that there are few different texts. */
export const QUERY_COUNTS: readonly number[] = [1, 4, 20];

/** The fewer other words a record has, the better the hit. */
export async function search(
  read: ReadEntries,
  sql: WordsStatements,
  words: readonly string[],
  { limit, prefix = "", after }: SearchRange,
): Promise<FoundRecords> {
  assertNoPlace(after);
  if (isInNoId(prefix)) return { hits: [], order: "best" };
  const queries = filledUp(textQueries(words), QUERY_COUNTS);
  const binds = Object.fromEntries(queries.map((query, at) => [`b_query_${at + 1}`, text(query)]));
  const rows = await read(sql.search(queries.length), { ...page(prefix, "", limit), ...binds }).catch(textFailure);
  const hits = rows.map((row) => ({
    ...{ threadId: threadIdOf(row), entry: toEntry(row) },
    score: 1 / Math.sqrt(Math.max(Number(row["WORD_COUNT"]), 1)),
  }));
  return { hits, order: "best" };
}

/** Oracle Text reports its errors as ORA-20000; what happened is in the message. */
function textFailure(error: unknown): never {
  const { message = "" } = (error ?? {}) as { message?: string };
  if (isOra(error, 29861) || (isOra(error, 20000) && message.includes("DRG-10599"))) {
    const what = "the text index that was there at first contact is gone or unusable";
    throw new StateError("INCOMPATIBLE", `${what}: create it again, or connect again, and threads are scanned`, {
      cause: error,
    });
  }
  if (isOra(error, 20000) && message.includes("DRG-51030")) {
    const what = "too many words begin like the words of this query: search for longer beginnings";
    throw new StateError("INVALID_ARGUMENT", `${what}, or raise WILDCARD_MAXTERMS of the text index`, { cause: error });
  }
  throw error;
}

/** U+0000, which some clients take for the end of a string. */
const isInNoId = (prefix: string): boolean => prefix.includes("\0");

/** The last character, repeated to the greatest length of an id. */
const LAST = "\u{10ffff}".repeat(Math.ceil((MAX_ID_BYTES + MAX_TENANT_PREFIX_BYTES) / 4));

/** The first and the last id with this prefix and after the cursor, in byte order. Ids hold no control characters. */
function page(prefix: string, cursor: string, most: number): Binds {
  const after = cursor === "" ? "" : `${cursor}\u0001`;
  const first = isBefore(prefix, after) ? after : prefix;
  return {
    b_first: text(first === "" ? null : first),
    b_last: text(prefix === "" ? null : prefix + LAST),
    b_most: number(most),
  };
}

/** A session with a linguistic sort order would skip threads in a walk, because the next page begins after the last id. */
function inOrder(rows: readonly Row[]): readonly Row[] {
  const ids = rows.map(threadIdOf);
  if (ids.every((threadId, index) => isBefore(ids[index - 1] ?? "", threadId))) return rows;
  throw new StateError("INVALID_ARGUMENT", `the sessions of this pool sort as a language does: ${BINARY_ORDER}`);
}

export const BINARY_ORDER =
  "let its sessionCallback run ALTER SESSION SET NLS_SORT = BINARY NLS_COMP = BINARY, or hand in no pool";

const isBefore = (one: string, other: string): boolean => Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;

const listed = (row: Row): ListedThread => listedThread(threadIdOf(row), () => toEntry(row));

const listedWithMember = (row: Row, key: string, valueJson: string): ListedThread | undefined =>
  listedThread(threadIdOf(row), () => {
    const head = toEntry(row);
    return storedMember(head.metadata, key, valueJson) ? head : undefined;
  });

function pageOf(found: readonly ListedThread[], limit: number): LogPage<ListedThread> {
  const items = found.slice(0, limit);
  return { items, cursor: found.length > limit ? items.at(-1)?.threadId : undefined };
}
