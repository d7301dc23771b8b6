import { type Page, page } from "../driver/page.ts";
import { Warnings } from "../driver/warnings.ts";
import { StateError } from "../errors.ts";
import { searchWords } from "../state/searchable-text.ts";
import type { FindOptions, ThreadSearchHit } from "./base-checkpointer.ts";
import { newMessagesOf } from "./chain.ts";
import type { CheckpointContext } from "./context.ts";
import { checkedLimit, checkedPrefix, everyThread } from "./finding.ts";
import { graphWordsOf } from "./graph-words.ts";
import { wordsOf } from "./plan-record.ts";
import { openHeader } from "./record.ts";
import { hitsInCheckpoints } from "./step-hits.ts";
import { isContent } from "./steps.ts";
import { summariseThread } from "./summary.ts";
import { isGraphs } from "./thread-kind.ts";
import type { LogRecord, SearchHit } from "./thread-log.ts";

/** More than anybody searches for. Each one costs an index a lookup. */
const MOST_WORDS = 1000;
const LONGEST_QUERY = 65_536;

interface SearchRange {
  readonly limit: number;
  readonly prefix: string;
}

/** Checkpoints that added messages with all of the query's words; each may be the beginning of a word. */
export async function searchThreads(
  context: CheckpointContext,
  query: string,
  options: FindOptions,
): Promise<Page<ThreadSearchHit>> {
  if (typeof query !== "string") throw new StateError("INVALID_ARGUMENT", "the query must be a string");
  if (query.length > LONGEST_QUERY) {
    throw new StateError("INVALID_ARGUMENT", `a query has at most ${LONGEST_QUERY} characters, not ${query.length}`);
  }
  const within = { limit: checkedLimit(options.limit, 10), prefix: checkedPrefix(options.threadPrefix) };
  const words = [...new Set(searchWords(query))];
  if (words.length > MOST_WORDS) {
    throw new StateError("INVALID_ARGUMENT", `a query takes at most ${MOST_WORDS} words, not ${words.length}`);
  }
  if (words.length === 0 || within.limit === 0) return page<ThreadSearchHit>([], undefined);
  const warnings = new Warnings();
  const find = context.log.search ? searchIndex : scan;
  const hits = await hitsInCheckpoints(context, within.limit, (limit) =>
    find(context, words, { ...within, limit }, warnings),
  );
  return page(
    hits.map(({ threadId, entry, score }) => ({ ...summariseThread({ threadId, head: entry }, warnings), score })),
    undefined,
    warnings.list,
  );
}

async function searchIndex(
  context: CheckpointContext,
  words: readonly string[],
  within: SearchRange,
  warnings: Warnings,
): Promise<readonly SearchHit[]> {
  await catchUpIndex(context, warnings);
  return context.call({ operation: "search" }, async (log) => (await log.search?.(words, within)) ?? []);
}

/** Indexes what was saved since the last time, for a backend that defers it. */
export const catchUpIndex = (context: CheckpointContext, warnings: Warnings): Promise<void> =>
  context.call({ operation: "search" }, async (log) =>
    log.catchUp?.((record) => wordsIn(record, undefined, warnings), context.closing),
  );

/** Loading an unreadable record reports it. It must not keep everything else from being found. */
function wordsIn(record: LogRecord, threadId: string | undefined, warnings: Warnings): string | undefined {
  try {
    if (!isContent(record)) return undefined;
    return isGraphs(openHeader(record).thread) ? graphWordsOf(record) : wordsOf(newMessagesOf(record));
  } catch (error) {
    warnings.note(error, threadId);
    return undefined;
  }
}

/** Reads every thread, for backends without an index. */
async function scan(
  context: CheckpointContext,
  words: readonly string[],
  { limit, prefix }: SearchRange,
  warnings: Warnings,
): Promise<readonly SearchHit[]> {
  let best: SearchHit[] = [];
  for await (const { threadId } of everyThread(context, "search", prefix, warnings)) {
    await warnings.skipping(threadId, async () => {
      for await (const hit of scanThread(context, threadId, words, warnings)) {
        best.push(hit);
        if (best.length > 2 * limit) best = bestOf(best, limit);
      }
    });
  }
  return bestOf(best, limit);
}

const bestOf = (hits: readonly SearchHit[], limit: number): SearchHit[] =>
  hits.toSorted((a, b) => b.score - a.score).slice(0, limit);

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
