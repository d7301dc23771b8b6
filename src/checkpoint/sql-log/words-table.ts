import { openPlace, placeOf } from "../find/search-place.ts";
import type { FoundRecords, SearchHit, SearchRange } from "../log/thread-log.ts";
import type { IndexBatch } from "./catch-up.ts";
import type { Row, SqlDialect, SqlTables, SqlText, Values } from "./dialect.ts";
import { isInNoId, rangeOf } from "./finding.ts";
import { numberIn, threadIdIn, toEntry } from "./rows.ts";

/**
 * The index of words where a database has none that takes every word as it is: rows `(word, thread_no, seq, size)`,
 * `size` being how many words the record has. The number of a thread grows with the threads that are made, so that the
 * order of the index is that of time.
 */
export interface WordsStatements {
  /** How many records have the words, up to a limit. */
  readonly count: SqlText;
  readonly best: SqlText;
  readonly newest: SqlText;
  readonly insert: SqlText;
}

export function wordsStatements(
  dialect: SqlDialect & WordsDialect,
  { threads, records, words }: SqlTables & { readonly words: string },
): WordsStatements {
  const { entry, page, now, statement, fromHex } = dialect;
  /** One word is looked for in the index, and of what it leads to each of the others. */
  const matching = `FROM ${words} w JOIN ${threads} t ON t.thread_no = w.thread_no
      WHERE w.word >= :low AND w.word < :high AND t.thread_id >= :first AND t.thread_id <= :last
        AND (t.expires_at IS NULL OR t.expires_at > ${now})
        AND (SELECT COUNT(*) FROM ${dialect.jsonWords("others")} q WHERE EXISTS (SELECT 1 FROM ${words} x
          WHERE x.thread_no = w.thread_no AND x.seq = w.seq
            AND x.word >= ${fromHex("q.low")} AND x.word < ${fromHex("q.high")})) = :many`;
  const isBehind = "(w.thread_no < :thread_no OR (w.thread_no = :thread_no AND w.seq < :seq))";
  const found = (condition: string, order: string): SqlText =>
    statement(`SELECT f.thread_id, f.thread_no, f.size, ${entry("r")} FROM (
      SELECT DISTINCT t.thread_id, w.thread_no, w.seq, w.size ${matching} AND ${condition}
      ORDER BY ${order} ${page("most")}) f
    JOIN ${records} r ON r.thread_id = f.thread_id AND r.seq = f.seq
    ORDER BY ${order.replaceAll("w.", "f.")}`);
  return {
    count: statement(
      `SELECT COUNT(*) AS found FROM (SELECT DISTINCT w.thread_no, w.seq ${matching} ${page("most")}) f`,
    ),
    best: found(`(w.size > :size OR (w.size = :size AND ${isBehind}))`, "w.size, w.thread_no DESC, w.seq DESC"),
    newest: found(isBehind, "w.thread_no DESC, w.seq DESC"),
    insert: statement(`INSERT INTO ${words} (word, thread_no, seq, size)
      SELECT ${fromHex("j.word")}, :thread_no, j.seq, j.size FROM ${dialect.jsonRecords("found")} j`),
  };
}

/** Words travel as JSON of hexadecimal digits: no character set on the way can change one. */
export interface WordsDialect {
  fromHex(column: string): string;
  /** `[[low, high], …]` as rows. */
  jsonWords(name: string): string;
  /** `[[seq, size, [word, …]], …]` as rows of one word each. */
  jsonRecords(name: string): string;
}

type Read = (statement: SqlText, values: Values) => Promise<readonly Row[]>;

/** Behind every id, where no prefix narrows. */
const EVERY_ID = "\u{10ffff}".repeat(272);

/** The fewer other words a record has, the better the hit. More hits than are ranked come newest first. */
export async function searchWordsTable(
  read: Read,
  sql: WordsStatements,
  words: readonly string[],
  { limit, prefix = "", after }: SearchRange,
  ranksUpTo: number,
): Promise<FoundRecords> {
  const from = after === undefined ? undefined : openPlace(after, ["number", "number", "number"]);
  if (isInNoId(prefix)) return { hits: [], order: from?.order ?? "best" };
  const { first, last = EVERY_ID } = rangeOf(prefix);
  const [longest, ...others] = words.map(wordBytes).toSorted((one, other) => other.length - one.length);
  if (longest === undefined) return { hits: [], order: "best" };
  const question: Values = {
    ...{ low: longest, high: Buffer.concat([longest, BEHIND]), first, last, many: others.length },
    others: JSON.stringify(others.map((word) => [word.toString("hex"), `${word.toString("hex")}ff`])),
  };
  const order = from?.order ?? ((await countUpTo(read, sql, question, ranksUpTo + 1)) > ranksUpTo ? "newest" : "best");
  const [size, threadNo, seq] = from?.parts ?? [-1, Number.MAX_SAFE_INTEGER, 0];
  const rows = await read(sql[order], { ...question, size, thread_no: threadNo, seq, most: limit });
  return { hits: rows.map((row) => hitOf(row, order)), order };
}

async function countUpTo(read: Read, sql: WordsStatements, question: Values, most: number): Promise<number> {
  return numberIn((await read(sql.count, { ...question, most }))[0], "found");
}

function hitOf(row: Row, order: FoundRecords["order"]): SearchHit {
  const [size, threadNo, entry] = [numberIn(row, "size"), numberIn(row, "thread_no"), toEntry(row)];
  const place = placeOf(order, size, threadNo, entry.seq);
  return { threadId: threadIdIn(row), entry, score: 1 / Math.sqrt(Math.max(size, 1)), place };
}

/** No byte of UTF-8 is as large: it ends the range of the words with a beginning. */
const BEHIND = Buffer.from([0xff]);

/** What a word of 128 characters has at most; the column takes no more. */
const MOST_WORD_BYTES = 512;

/** Never cuts a character in half. */
function wordBytes(word: string): Buffer {
  const bytes = Buffer.from(word);
  if (bytes.length <= MOST_WORD_BYTES) return bytes;
  let end = MOST_WORD_BYTES;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end);
}

/** So many characters of JSON travel at once at most: a packet has a limit. */
const MOST_CHARACTERS = 1024 * 1024;

/** The words of a batch as the statement `insert` takes them, in pieces. */
export function* storedWords({ found }: IndexBatch): Generator<string> {
  let [piece, length]: [string[], number] = [[], 0];
  for (const { row, words } of found) {
    const all = [...new Set(words.split(" "))].filter((word) => word !== "");
    const hex = [...new Set(all.map((word) => wordBytes(word).toString("hex")))];
    for (let at = 0; at < hex.length; ) {
      let end = at;
      for (; end < hex.length && length < MOST_CHARACTERS; end++) length += (hex[end]?.length ?? 0) + 3;
      piece.push(JSON.stringify([numberIn(row, "seq"), hex.length, hex.slice(at, end)]));
      at = end;
      if (length < MOST_CHARACTERS) continue;
      yield `[${piece.join(",")}]`;
      [piece, length] = [[], 0];
    }
  }
  if (piece.length > 0) yield `[${piece.join(",")}]`;
}
