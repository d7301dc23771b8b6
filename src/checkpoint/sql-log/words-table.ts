import { openPlace, placeOf } from "../find/search-place.ts";
import type { FoundRecords, SearchHit, SearchRange } from "../log/thread-log.ts";
import type { IndexBatch } from "./catch-up.ts";
import type { Row, SqlDialect, SqlTables, SqlText, Values } from "./dialect.ts";
import { isInNoId, rangeOf } from "./finding.ts";
import { numberIn, threadIdIn, toEntry } from "./rows.ts";

/**
 * The index of words: rows `(word, thread_no, seq, word_count)`, `word_count` being how many words the record has. The
 * number of a thread grows with the threads that are made, so that the order of the index is that of time.
 */
export type SearchStatements = (lists: number) => Readonly<Record<WordsRead, SqlText>>;

/** `count`: how many records have the words, up to a limit. */
export type WordsRead = "count" | "best" | "newest";

/** For questions with any number of lists of words beside the one word that is looked up in the index. */
export function searchStatements(
  dialect: SqlDialect & WordsDialect,
  { threads, records, words }: SqlTables & { readonly words: string },
): SearchStatements {
  const { entry, page, now, statement, fromHex } = dialect;
  const search = (lists: number): Readonly<Record<WordsRead, SqlText>> => {
    const hasAll = (_: unknown, at: number): string => `
        AND (SELECT COUNT(*) FROM ${dialect.jsonWords(`:others_${at}`)} q WHERE EXISTS (SELECT 1 FROM ${words} x
          WHERE x.thread_no = w.thread_no AND x.seq = w.seq
            AND x.word >= ${fromHex("q.low")} AND x.word < ${fromHex("q.high")})) = :many_${at}`;
    /** One word is looked for in the index, and of what it leads to each of the others. */
    const matching = `FROM ${words} w JOIN ${threads} t ON t.thread_no = w.thread_no
      WHERE w.word >= ${fromHex(":low")} AND w.word < ${fromHex(":high")}
        AND t.thread_id >= :first AND t.thread_id <= :last
        AND (t.expires_at IS NULL OR t.expires_at > ${now})${Array.from({ length: lists }, hasAll).join("")}`;
    const isBehind = "(w.thread_no < :thread_no OR (w.thread_no = :thread_no AND w.seq < :seq))";
    const found = (condition: string, order: string): SqlText =>
      statement(`SELECT f.thread_id, f.thread_no, f.word_count, ${entry("r")} FROM (
      SELECT DISTINCT t.thread_id, w.thread_no, w.seq, w.word_count ${matching} AND ${condition}
      ORDER BY ${order} ${page("most")}) f
    JOIN ${records} r ON r.thread_id = f.thread_id AND r.seq = f.seq
    ORDER BY ${order.replaceAll("w.", "f.")}`);
    const isLonger = `(w.word_count > :word_count OR (w.word_count = :word_count AND ${isBehind}))`;
    return {
      count: statement(
        `SELECT COUNT(*) AS found FROM (SELECT DISTINCT w.thread_no, w.seq ${matching} ${page("most")}) f`,
      ),
      best: found(isLonger, "w.word_count, w.thread_no DESC, w.seq DESC"),
      newest: found(isBehind, "w.thread_no DESC, w.seq DESC"),
    };
  };
  const made = new Map<number, ReturnType<typeof search>>();
  return (lists) => {
    const known = made.get(lists) ?? search(lists);
    made.set(lists, known);
    return known;
  };
}

/** Words travel as hexadecimal digits: no character set on the way can change one. */
export interface WordsDialect {
  fromHex(text: string): string;
  /** `[[low, high], …]`, in the text that is given, as rows. */
  jsonWords(list: string): string;
  /** `[[seq, word count, [word, …]], …]`, in the text that is given, as rows of one word each. */
  jsonRecords(list: string): string;
}

/** Runs a statement for a question with this many lists. */
export type ReadWords = (name: WordsRead, lists: number, values: Values) => Promise<readonly Row[]>;

/** Behind every id, where no prefix narrows. */
const EVERY_ID = "\u{10ffff}".repeat(272);

export interface SearchBounds {
  readonly ranksUpTo: number;
  /** How long the text of a list may be. */
  readonly listCharacters: number;
  /** How many lists there may be, so that few texts are sent: fewer are filled up by repeating one. */
  readonly listCounts?: readonly number[];
}

/** The fewer other words a record has, the better the hit. More hits than are ranked come newest first. */
export async function searchWordsTable(
  read: ReadWords,
  words: readonly string[],
  { limit, prefix = "", after }: SearchRange,
  { ranksUpTo, listCharacters, listCounts = [] }: SearchBounds,
): Promise<FoundRecords> {
  const from = after === undefined ? undefined : openPlace(after, ["number", "number", "number"]);
  if (isInNoId(prefix)) return { hits: [], order: from?.order ?? "best" };
  const { first, last = EVERY_ID } = rangeOf(prefix);
  const [longest, ...others] = words.map(wordBytes).toSorted((one, other) => other.length - one.length);
  if (longest === undefined) return { hits: [], order: "best" };
  const lists = filledUp(listsOf(others.map(boundsOf), listCharacters), listCounts);
  const { length: count } = lists;
  const each = lists.flatMap((list, at) => [
    [`others_${at}`, JSON.stringify(list)],
    [`many_${at}`, list.length],
  ]);
  const [low, high] = boundsOf(longest);
  const question: Values = { low, high, first, last, ...Object.fromEntries(each) };
  const countUpTo = async (most: number): Promise<number> =>
    numberIn((await read("count", count, { ...question, most }))[0], "found");
  const order = from?.order ?? ((await countUpTo(ranksUpTo + 1)) > ranksUpTo ? "newest" : "best");
  const [word_count, thread_no, seq] = from?.parts ?? [-1, Number.MAX_SAFE_INTEGER, 0];
  const rows = await read(order, count, { ...question, word_count, thread_no, seq, most: limit });
  return { hits: rows.map((row) => hitOf(row, order)), order };
}

function hitOf(row: Row, order: FoundRecords["order"]): SearchHit {
  const [count, threadNo, entry] = [numberIn(row, "word_count"), numberIn(row, "thread_no"), toEntry(row)];
  const place = placeOf(order, count, threadNo, entry.seq);
  return { threadId: threadIdIn(row), entry, score: 1 / Math.sqrt(Math.max(count, 1)), place };
}

type Bounds = readonly [low: string, high: string];

/** The range of the words with a beginning: no byte of UTF-8 is as large as the one behind it. */
const boundsOf = (word: Buffer): Bounds => [word.toString("hex"), `${word.toString("hex")}ff`];

/** A single word always fits. */
function listsOf(words: readonly Bounds[], characters: number): readonly (readonly Bounds[])[] {
  const lists: Bounds[][] = [];
  let length = characters;
  for (const word of words) {
    const own = JSON.stringify(word).length + 1;
    if (length + own >= characters) {
      lists.push([]);
      length = 2;
    }
    lists.at(-1)?.push(word);
    length += own;
  }
  return lists;
}

const filledUp = <T>(lists: readonly T[], counts: readonly number[]): readonly T[] => {
  const wanted = counts.find((each) => each >= lists.length) ?? lists.length;
  return [...lists, ...lists.slice(0, 1).flatMap((list) => Array<T>(wanted - lists.length).fill(list))];
};

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

/** At most this many characters of JSON travel at once: a packet has a limit. */
const MOST_CHARACTERS = 1024 * 1024;

/** The words of a batch as `jsonRecords` takes them, in pieces. */
export function* storedWords(found: IndexBatch["found"]): Generator<string> {
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
