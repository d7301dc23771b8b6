import { StateError } from "../errors.ts";
import { globMatcher, globPrefix } from "../internal/glob.ts";
import { encodeText } from "../state/codec.ts";
import { searchWords } from "../state/searchable-text.ts";
import type {
  FindOptions,
  ListThreadsOptions,
  PageOptions,
  ThreadSearchHit,
  ThreadSummary,
} from "./base-checkpointer.ts";
import { newMessagesOf } from "./chain.ts";
import type { CheckpointContext } from "./context.ts";
import { hasMember } from "./metadata.ts";
import { type Page, page } from "./page.ts";
import { wordsOf } from "./plan-record.ts";
import { hitsInCheckpoints } from "./step-hits.ts";
import { isContent } from "./steps.ts";
import { metadataOf, summariseThread } from "./summary.ts";
import type { LogPage, LogRecord, SearchHit, ThreadEntry, ThreadLog } from "./thread-log.ts";

const MAX_LIMIT = 10_000;

export function checkedLimit(limit: number | undefined, otherwise: number): number {
  const value = limit ?? otherwise;
  if (Number.isInteger(value) && value >= 0 && value <= MAX_LIMIT) return value;
  throw new StateError("INVALID_ARGUMENT", `limit must be a whole number from 0 to ${MAX_LIMIT}, not ${String(limit)}`);
}

export function checkedCursor(cursor: unknown): string | undefined {
  if (cursor === undefined || typeof cursor === "string") return cursor;
  throw new StateError("INVALID_ARGUMENT", "a cursor is the text that the page before gave; hand it back as it is");
}

function checkedPrefix(prefix: unknown): string {
  if (prefix === undefined) return "";
  if (typeof prefix === "string" && prefix.isWellFormed()) return prefix;
  throw new StateError(
    "INVALID_ARGUMENT",
    "threadPrefix must be well-formed text: what the ids of the threads begin with",
  );
}

export async function findThreads(context: CheckpointContext, options: ListThreadsOptions): Promise<Page<ThreadEntry>> {
  const { pattern = "*" } = options;
  if (typeof pattern !== "string") throw new StateError("INVALID_ARGUMENT", "pattern must be a string");
  const matches = globMatcher(pattern);
  const found = await gather(context, globPrefix(pattern), options, ({ threadId }) => matches(threadId));
  return page(found.items, found.cursor);
}

/** Threads whose newest checkpoint's metadata has exactly this value under this key. */
export async function findByMetadata(
  context: CheckpointContext,
  key: string,
  value: unknown,
  options: FindOptions,
): Promise<Page<ThreadSummary>> {
  if (typeof key !== "string" || !key.isWellFormed()) {
    throw new StateError("INVALID_ARGUMENT", "the metadata key must be well-formed text");
  }
  const valueJson = encodeText(value, "value");
  const limit = checkedLimit(options.limit, 100);
  const cursor = checkedCursor(options.cursor);
  const prefix = checkedPrefix(options.threadPrefix);
  const found = context.log.queryMetadata
    ? await context.call({ operation: "queryByMetadata" }, async (log) => {
        const query = { limit, prefix, ...(cursor !== undefined && { cursor }) };
        return (await log.queryMetadata?.(key, valueJson, query)) ?? { items: [], cursor: undefined };
      })
    : await gather(context, prefix, options, ({ head }) => hasMember(metadataOf(head), key, valueJson));
  return page(found.items.map(summariseThread), found.cursor);
}

/**
 * Fills a page with threads that pass `test`. A cursor points behind a whole
 * page of the driver's, so a page may be short but none is skipped.
 */
async function gather(
  context: CheckpointContext,
  prefix: string,
  options: PageOptions,
  test: (entry: ThreadEntry) => boolean,
): Promise<LogPage<ThreadEntry>> {
  const limit = checkedLimit(options.limit, 100);
  const items: ThreadEntry[] = [];
  let cursor = checkedCursor(options.cursor);
  if (limit === 0) return { items, cursor };
  do {
    const query = { prefix, limit: limit - items.length, ...(cursor !== undefined && { cursor }) };
    const found = await readPage(context, query, items.length > 0);
    // What was found is handed out first; the failure comes with the next page.
    if (found === undefined) return { items, cursor };
    items.push(...found.items.filter(test));
    cursor = found.cursor;
  } while (cursor !== undefined && items.length < limit);
  return { items, cursor };
}

async function readPage(
  context: CheckpointContext,
  query: Parameters<ThreadLog["listThreads"]>[0],
  mayFail: boolean,
): Promise<LogPage<ThreadEntry> | undefined> {
  try {
    return await context.call({ operation: "listThreads" }, (log) => log.listThreads(query));
  } catch (error) {
    if (mayFail && query.cursor !== undefined) return undefined;
    throw error;
  }
}

/** Checkpoints that brought in messages with all of the query's words; each word may be the beginning of one. */
export async function searchThreads(
  context: CheckpointContext,
  query: string,
  options: FindOptions,
): Promise<Page<ThreadSearchHit>> {
  if (typeof query !== "string") throw new StateError("INVALID_ARGUMENT", "the query must be a string");
  const within = { limit: checkedLimit(options.limit, 10), prefix: checkedPrefix(options.threadPrefix) };
  const words = [...new Set(searchWords(query))];
  if (words.length === 0 || within.limit === 0) return page<ThreadSearchHit>([], undefined);
  const find = context.log.search ? searchIndex : scan;
  const hits = await hitsInCheckpoints(context, within.limit, (limit) => find(context, words, { ...within, limit }));
  return page(
    hits.map(({ threadId, entry, score }) => ({ ...summariseThread({ threadId, head: entry }), score })),
    undefined,
  );
}

interface SearchRange {
  readonly limit: number;
  readonly prefix: string;
}

async function searchIndex(
  context: CheckpointContext,
  words: readonly string[],
  within: SearchRange,
): Promise<readonly SearchHit[]> {
  await catchUpIndex(context);
  return context.call({ operation: "search" }, async (log) => (await log.search?.(words, within)) ?? []);
}

/** Indexes what was saved since the last time, where the backend leaves that for later. */
export const catchUpIndex = (context: CheckpointContext): Promise<void> =>
  context.call({ operation: "search" }, async (log) => log.catchUp?.(wordsToIndex, context.closing));

/** Whoever loads a damaged record hears of it; it must not keep everything else from being found. */
function wordsToIndex(record: LogRecord): string | undefined {
  try {
    return isContent(record) ? wordsOf(newMessagesOf(record)) : undefined;
  } catch (error) {
    if (StateError.is(error, "CORRUPT")) return undefined;
    throw error;
  }
}

/** Reads every thread. For backends without an index, where that is the only truthful answer. */
async function scan(
  context: CheckpointContext,
  words: readonly string[],
  { limit, prefix }: SearchRange,
): Promise<SearchHit[]> {
  const hits: SearchHit[] = [];
  let cursor: string | undefined;
  do {
    const query = { prefix, limit: 100, ...(cursor !== undefined && { cursor }) };
    const found = await context.call({ operation: "search" }, (log) => log.listThreads(query));
    for (const { threadId } of found.items) {
      hits.push(
        ...(await context.guard({ operation: "search", threadId }, () => scanThread(context, threadId, words))),
      );
    }
    cursor = found.cursor;
  } while (cursor !== undefined);
  return hits.sort((a, b) => b.score - a.score).slice(0, limit);
}

async function scanThread(
  context: CheckpointContext,
  threadId: string,
  words: readonly string[],
): Promise<readonly SearchHit[]> {
  const hits: SearchHit[] = [];
  const place = { operation: "search", threadId };
  let chain = await context.call(place, (log) => log.readTail(threadId));
  while (chain !== undefined) {
    for (const record of chain.records) {
      const score = !isContent(record) ? 0 : scoreOf(wordsOf(newMessagesOf(record)) ?? "", words);
      if (score > 0) hits.push({ threadId, entry: record, score });
    }
    const before = chain.records[0]?.seq ?? 0;
    const [older] = await context.call(place, (log) => log.list(threadId, { before, limit: 1 }));
    const { checkpointId } = older ?? {};
    chain =
      checkpointId === undefined
        ? undefined
        : await context.call(place, (log) => log.readCheckpoint(threadId, checkpointId));
  }
  return hits;
}

/** How often the words occur for the length of the text; 0 unless all of them do. */
function scoreOf(text: string, words: readonly string[]): number {
  const found = text.split(" ");
  const counts = words.map((word) => found.filter((candidate) => candidate.startsWith(word)).length);
  if (counts.some((count) => count === 0)) return 0;
  return counts.reduce((sum, count) => sum + count, 0) / Math.sqrt(found.length);
}
