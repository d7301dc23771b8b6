import { carries } from "../../checkpoint/append-rules.ts";
import type { LogEntry } from "../../checkpoint/thread-log.ts";
import { entryOf } from "./documents.ts";
import { type Located, OVERTAKEN, ThreadReader } from "./reading.ts";
import type { Requests } from "./requests.ts";

/** More than a reader should have to look at one by one: then the index is brought up to date instead. */
const MAX_UNSEEN = 500;

/** How many positions the index is asked for at once, newest first. */
const CANDIDATES = 20;

/**
 * The entry of the newest record with a name. The index is asked as it is. It
 * knows the records up to some position; those above it are looked at
 * themselves, so that no refresh is needed. What the index knows may be
 * outdated: the document has the last word.
 */
export async function findNamed(
  requests: Requests,
  located: Located,
  name: string,
): Promise<LogEntry | undefined | typeof OVERTAKEN> {
  const { tail, edits } = located.thread;
  if (carries(tail, name)) return entryOf(tail);
  let index = await askIndex(requests, located, name);
  if (tail.seq - index.newest > MAX_UNSEEN) {
    await requests.refresh();
    index = await askIndex(requests, located, name);
  }
  const reader = new ThreadReader(requests, located);
  const unseen = await reader.entries(index.newest + 1, tail.seq - 1);
  if (unseen === OVERTAKEN) return OVERTAKEN;
  const above = unseen.findLast((entry) => carries(entry, name));
  if (above !== undefined) return entryOf(above);
  const edited = (edits?.replace ?? []).filter((entry) => carries(entry, name)).map(({ seq }) => seq);
  for (;;) {
    const { candidates } = index;
    const lowest = candidates.length < CANDIDATES ? 0 : (candidates.at(-1) ?? 0);
    const here = [...candidates, ...edited.filter((seq) => seq >= lowest)];
    const read = await reader.entriesAt([...new Set(here)]);
    if (read === OVERTAKEN) return OVERTAKEN;
    const newest = read.filter((entry) => carries(entry, name)).sort((one, other) => other.seq - one.seq)[0];
    if (newest !== undefined) return entryOf(newest);
    if (lowest === 0) return undefined;
    index = await askIndex(requests, located, name, lowest);
  }
}

interface IndexKnowledge {
  /** Every record up to here is in the index, as it was at some time. */
  readonly newest: number;
  readonly candidates: readonly number[];
}

/**
 * The head document tells of the tail before the records that came with it have
 * documents, so how far the index has come is seen from documents of records,
 * which are written in the order of their positions.
 */
async function askIndex(
  requests: Requests,
  { thread: { key, life } }: Located,
  name: string,
  below?: number,
): Promise<IndexKnowledge> {
  const { hits, aggregations } = await requests.searchWithFigures(
    {
      query: { bool: { filter: [{ term: { life } }, { term: { kind: "record" } }] } },
      post_filter: { term: { names: name } },
      aggs: { newest: { max: { field: "seq" } } },
      sort: [{ seq: "desc" }],
      size: CANDIDATES,
      ...(below !== undefined && { search_after: [below] }),
      _source: ["seq"],
    },
    key,
  );
  const newest = (aggregations["newest"] as { value?: number | null } | undefined)?.value ?? 0;
  return { newest, candidates: hits.map(({ source }) => Number(source["seq"])) };
}
