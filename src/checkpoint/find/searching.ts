import { createHash } from "node:crypto";
import { page, signCursor, verifyCursor } from "../../driver/page.ts";
import { Warnings } from "../../driver/warnings.ts";
import { StateError } from "../../errors.ts";
import { searchWords } from "../../state/words.ts";
import type { FindOptions, SearchPage, ThreadSearchHit } from "../base-checkpointer.ts";
import type { CheckpointContext } from "../context.ts";
import { wordsOfRecord } from "../graphs/graph-words.ts";
import type { FoundRecords, LogEntry, LogRecord, SearchHit, SearchOrder, SearchRange } from "../log/thread-log.ts";
import { checkedLimit, checkedPrefix } from "../options.ts";
import { isContent } from "../record/codec.ts";
import { openHeader } from "../record/record.ts";
import { Thread } from "../thread/thread.ts";
import { everyThread, noteSealedThreads } from "./finding.ts";
import { openPlace, placeOf } from "./search-place.ts";
import { summariseThread } from "./summary.ts";

/** More than any real search has. Each one costs an index a lookup. */
const MOST_WORDS = 1000;
const LONGEST_QUERY = 65_536;

/** Checkpoints that added messages with all of the query's words; each may be the beginning of a word. */
export async function searchThreads(
  context: CheckpointContext,
  query: string,
  options: FindOptions,
): Promise<SearchPage> {
  if (typeof query !== "string") throw new StateError("INVALID_ARGUMENT", "the query must be a string");
  if (query.length > LONGEST_QUERY) {
    throw new StateError("INVALID_ARGUMENT", `a query has at most ${LONGEST_QUERY} characters, not ${query.length}`);
  }
  const [limit, prefix] = [checkedLimit(options.limit, 10), checkedPrefix(options.threadPrefix)];
  const words = [...new Set(searchWords(query))];
  if (words.length > MOST_WORDS) {
    throw new StateError("INVALID_ARGUMENT", `a query takes at most ${MOST_WORDS} words, not ${words.length}`);
  }
  const question = digestOf([prefix, ...words.toSorted()]);
  const after = placeIn(options.cursor, question);
  if (words.length === 0 || limit === 0) return ordered([], undefined, "best");
  const warnings = new Warnings();
  const isIndexed = context.log.capabilities.search !== undefined;
  const find = isIndexed ? searchIndex : scan;
  const found = await hitsInCheckpoints(context, { limit, prefix, ...(after !== undefined && { after }) }, (within) =>
    find(context, words, within, warnings),
  );
  if (found.hits.length === 0 && isIndexed) await noteSealedThreads(context, "search", prefix, warnings);
  const hits = found.hits.map(({ threadId, entry, score }) => ({
    ...summariseThread({ threadId, head: entry }, warnings),
    score,
  }));
  const cursor = found.more === undefined ? undefined : JSON.stringify([question, found.more]);
  return ordered(hits, signCursor("search", cursor), found.order, warnings);
}

/** The order is not enumerable, like the cursor. */
const ordered = (
  hits: readonly ThreadSearchHit[],
  cursor: string | undefined,
  order: SearchOrder,
  warnings: Warnings = new Warnings(),
): SearchPage => Object.defineProperty(page(hits, cursor, warnings.list), "order", { value: order }) as SearchPage;

const digestOf = (parts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 16);

/** The place in a cursor, which belongs to one query: used with another query, it would silently leave out hits. */
function placeIn(cursor: unknown, question: string): string | undefined {
  const text = verifyCursor("search", cursor);
  if (text === undefined) return undefined;
  const [asked, place] = JSON.parse(text) as [string, string];
  if (asked === question) return place;
  throw new StateError(
    "INVALID_ARGUMENT",
    "this cursor belongs to another search: hand back page.cursor with the same query and threadPrefix",
  );
}

async function searchIndex(
  context: CheckpointContext,
  words: readonly string[],
  within: SearchRange,
  warnings: Warnings,
): Promise<FoundRecords> {
  await catchUpIndex(context, warnings);
  return context.call({ operation: "search" }, (log) => log.search(words, within));
}

/** Indexes what was saved since the last time, for a backend that defers it. */
export const catchUpIndex = (context: CheckpointContext, warnings: Warnings): Promise<void> =>
  context.call({ operation: "search" }, (log) =>
    log.catchUp((record) => wordsIn(record, undefined, warnings), context.closing),
  );

/** Loading an unreadable record reports it. It must not keep everything else from being found. */
function wordsIn(record: LogRecord, threadId: string | undefined, warnings: Warnings): string | undefined {
  try {
    if (!isContent(record)) return undefined;
    return wordsOfRecord(record, openHeader(record).thread);
  } catch (error) {
    warnings.note(error, threadId);
    return undefined;
  }
}

/** Reads every thread, for backends without an index, and keeps the best behind `after`. */
async function scan(
  context: CheckpointContext,
  words: readonly string[],
  { limit, prefix = "", after }: SearchRange,
  warnings: Warnings,
): Promise<FoundRecords> {
  const isBehind = placeTest(after);
  let best: PlacedHit[] = [];
  for await (const { threadId } of everyThread(context, "search", prefix, warnings)) {
    await warnings.skipping(threadId, async () => {
      for await (const hit of scanThread(context, threadId, words, warnings)) {
        if (!isBehind(hit)) continue;
        best.push({ ...hit, place: scanPlace(hit) });
        if (best.length > 2 * limit) best = bestOf(best, limit);
      }
    });
  }
  return { hits: bestOf(best, limit), order: "best" };
}

type PlacedHit = SearchHit & { readonly place: string };
type Ranked = Pick<SearchHit, "score" | "threadId"> & { readonly entry: Pick<SearchHit["entry"], "seq"> };

/** Total, so that a page goes on behind the last hit of the one before. */
function byRank(a: Ranked, b: Ranked): number {
  if (a.score !== b.score) return b.score - a.score;
  if (a.threadId !== b.threadId) return a.threadId < b.threadId ? -1 : 1;
  return a.entry.seq - b.entry.seq;
}

const bestOf = (hits: readonly PlacedHit[], limit: number): PlacedHit[] => hits.toSorted(byRank).slice(0, limit);

/** A score is no whole number, and its text is exact. */
const scanPlace = ({ score, threadId, entry }: SearchHit): string =>
  placeOf("best", String(score), threadId, entry.seq);

function placeTest(after: string | undefined): (hit: SearchHit) => boolean {
  if (after === undefined) return () => true;
  const [score, threadId, seq] = openPlace(after, ["string", "string", "number"]).parts;
  const last: Ranked = { score: Number(score), threadId, entry: { seq } };
  return (hit) => byRank(last, hit) < 0;
}

async function* scanThread(
  context: CheckpointContext,
  threadId: string,
  words: readonly string[],
  warnings: Warnings,
): AsyncGenerator<SearchHit, void, undefined> {
  const place = { operation: "search", threadId };
  let chain = await context.call(place, (log) => log.readTail(threadId));
  while (chain !== undefined) {
    for (const record of chain.records) {
      const score = scoreOf(wordsIn(record, threadId, warnings) ?? "", words);
      if (score > 0) yield { threadId, entry: record, score };
    }
    const before = chain.records[0]?.seq ?? 0;
    const [older] = await context.call(place, (log) => log.list(threadId, { before, limit: 1 }));
    const { checkpointId } = older ?? {};
    chain =
      checkpointId === undefined
        ? undefined
        : await context.call(place, (log) => log.readCheckpoint(threadId, checkpointId));
  }
}

/** How often the words occur relative to the length of the text; 0 unless all of them do. */
function scoreOf(text: string, words: readonly string[]): number {
  const found = text.split(" ");
  const counts = words.map((word) => found.filter((candidate) => candidate.startsWith(word)).length);
  if (counts.some((count) => count === 0)) return 0;
  return counts.reduce((sum, count) => sum + count, 0) / Math.sqrt(found.length);
}

/** The most to ask for, however many hits coincide. */
const MAX_HITS = 10_000;

export interface FoundCheckpoints {
  readonly hits: readonly SearchHit[];
  readonly order: SearchOrder;
  /** The place behind which there is more. */
  readonly more: string | undefined;
}

/**
 * The hits of `find` as checkpoints: a hit in a step counts for the first
 * checkpoint that builds on it. Several may coincide there, so more are asked for
 * until there are `limit`, or no more. On another page such a checkpoint may come
 * again.
 */
export async function hitsInCheckpoints(
  context: CheckpointContext,
  range: SearchRange,
  find: (range: SearchRange) => Promise<FoundRecords>,
): Promise<FoundCheckpoints> {
  const { limit } = range;
  for (let asked = Math.min(limit + 1, MAX_HITS); ; asked = Math.min(asked * 8, MAX_HITS)) {
    const { hits: found, order } = await find({ ...range, limit: asked });
    const checkpoints = new Checkpoints(context);
    let last: string | undefined;
    for (const hit of found) {
      const isRoom = await checkpoints.take(hit, limit);
      if (!isRoom) return { hits: checkpoints.hits, order, more: last };
      last = hit.place;
    }
    const isEnd = found.length < asked;
    if (isEnd || asked >= MAX_HITS) return { hits: checkpoints.hits, order, more: isEnd ? undefined : last };
  }
}

/** Checkpoints that hits belong to, in the order of the first hit of each. */
class Checkpoints {
  readonly #context: CheckpointContext;
  readonly #places = new Map<string, readonly LogEntry[]>();
  readonly #hits = new Map<string, SearchHit>();

  constructor(context: CheckpointContext) {
    this.#context = context;
  }

  get hits(): readonly SearchHit[] {
    return [...this.#hits.values()];
  }

  /** False where it would be one more than `limit`; then it is left out. */
  async take(hit: SearchHit, limit: number): Promise<boolean> {
    const entry = hit.entry.checkpointId === undefined ? await this.#after(hit) : hit.entry;
    if (entry === undefined) return true;
    const key = JSON.stringify([hit.threadId, entry.seq]);
    if (this.#hits.has(key)) return true;
    if (this.#hits.size >= limit) return false;
    this.#hits.set(key, { ...hit, entry });
    return true;
  }

  async #after({ threadId, entry: { seq } }: SearchHit): Promise<LogEntry | undefined> {
    const listed = this.#places.get(threadId) ?? (await oldestFirst(this.#context, threadId));
    this.#places.set(threadId, listed);
    return listed.find((other) => other.seq > seq);
  }
}

async function oldestFirst(context: CheckpointContext, threadId: string): Promise<readonly LogEntry[]> {
  const listed: LogEntry[] = [];
  for await (const entry of new Thread(context, threadId, "search").entries()) listed.push(entry);
  return listed.reverse();
}
