import { carries } from "../../checkpoint/log/driver-rules.ts";
import type { LogEntry } from "../../checkpoint/log/thread-log.ts";
import { entryOf } from "./documents.ts";
import { type Located, OVERTAKEN, ThreadReader } from "./reading.ts";
import type { Requests } from "./requests.ts";

/** More records than a reader should check one by one: then the index is refreshed instead. */
const MAX_UNSEEN = 500;

/** How many positions the index is asked for at once, newest first. */
const CANDIDATES = 20;

/**
 * The entry of the newest record with a name. The index is queried without a
 * refresh. It knows the records up to some position, and newer ones are read
 * directly. An index result may be stale, so the document itself decides.
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
  /** Every record up to here is in the index, in its current or an older version. */
  readonly newest: number;
  readonly candidates: readonly number[];
}

/**
 * The head document shows the new tail before the records that were appended with it
 * have documents. So the progress of the index is read from documents of records,
 * which are written in order of position.
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
