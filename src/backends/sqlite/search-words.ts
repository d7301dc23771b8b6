import { openPlace, placeOf } from "../../checkpoint/find/search-place.ts";
import type { FoundRecords, SearchHit, SearchOrder, SearchRange } from "../../checkpoint/log/thread-log.ts";
import { provenEntry, successorOf, type ThreadHeadRow } from "./read-rows.ts";
import type { Statements } from "./statements.ts";

type HitRow = ThreadHeadRow & Behind;

/** Where a page begins: behind a record of this length and id. */
interface Behind {
  readonly length: number;
  readonly id: number;
}

const BEGINNING: Behind = { length: -1, id: Number.MAX_SAFE_INTEGER };

/**
 * The index knows which records have the words, but not how often. The fewer other
 * words a record has, the better the hit. Of more than are ranked, those of the newest
 * threads come first, of each the newest record first: that is the order of the ids.
 */
export function searchWords(
  statements: Statements,
  words: readonly string[],
  { limit, prefix = "", after }: SearchRange,
  ranksUpTo: number,
): FoundRecords {
  const isFew = words.length <= MOST_WORDS_LOOKED_UP;
  const query = words.map((word) => (isFew ? termsOf(statements, word) : `${quoted(word)}*`)).join(" AND ");
  const end = successorOf(prefix) ?? null;
  const from = after === undefined ? undefined : openPlace(after, ["number", "number"]);
  const order = from?.order ?? orderOf(statements, query, prefix, ranksUpTo);
  const [length, id] = from?.parts ?? [BEGINNING.length, BEGINNING.id];
  const hits: SearchHit[] = [];
  // A damaged record is left out, and takes no other's place.
  for (let behind: Behind = { length, id }; ; ) {
    const most = limit - hits.length;
    const rows = (
      order === "best"
        ? statements.searchBest.all(query, behind.length, -behind.id, prefix, prefix, end, end, most)
        : statements.searchNewest.all(query, behind.id, prefix, end, end, most)
    ) as HitRow[];
    hits.push(...rows.flatMap((row) => hitOf(row, order)));
    const last = rows.at(-1);
    if (last === undefined || rows.length < most || hits.length >= limit) return { hits, order };
    behind = last;
  }
}

/** Further words narrow the search anyway. */
const MOST_WORDS_LOOKED_UP = 8;
/** A word with more continuations than this is left to the index itself. */
const MOST_TERMS = 24;

/**
 * What finds the word and every longer one. The index looks up the beginning of a word
 * by merging all of their records before it answers; the few words that really begin
 * so, named one by one, it reads only as far as they are needed.
 */
function termsOf(statements: Statements, word: string): string {
  const terms: string[] = [];
  for (let from = word; terms.length <= MOST_TERMS; ) {
    const found = statements.nextTerm.get(from, successorOf(word) ?? null) as { term: string } | undefined;
    if (found === undefined) break;
    terms.push(quoted(found.term));
    // No word holds a control character, so this is before every other word that is longer.
    from = `${found.term}\u0001`;
  }
  return terms.length === 0 || terms.length > MOST_TERMS ? `${quoted(word)}*` : `(${terms.join(" OR ")})`;
}

const quoted = (term: string): string => `"${term.replaceAll('"', '""')}"`;

function orderOf(statements: Statements, query: string, prefix: string, ranksUpTo: number): SearchOrder {
  const end = successorOf(prefix) ?? null;
  const counted =
    prefix === ""
      ? statements.countHits.get(query, ranksUpTo + 1)
      : statements.countHitsWithin.get(query, prefix, end, end, ranksUpTo + 1);
  return (counted as { hits: number }).hits > ranksUpTo ? "newest" : "best";
}

function hitOf(row: HitRow, order: SearchOrder): readonly SearchHit[] {
  const entry = provenEntry(row);
  if (entry === undefined) return [];
  const { length, id } = row;
  return [{ threadId: row.t_thread_id, entry, score: 1 / Math.sqrt(length), place: placeOf(order, length, id) }];
}
