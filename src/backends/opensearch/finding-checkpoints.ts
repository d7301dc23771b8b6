import type { LogEntry } from "../../checkpoint/thread-log.ts";
import { entryOf } from "./documents.ts";
import { type Located, OVERTAKEN, ThreadReader } from "./reading.ts";
import type { Requests } from "./requests.ts";

/** More than a reader should have to look at one by one: then the index is brought up to date instead. */
const MAX_UNSEEN = 500;

/**
 * The entry that carries a checkpoint id. The index is asked as it is. It knows
 * the records up to some position; those above it are looked at themselves, so
 * that no refresh is needed. What the index knows may be outdated: the document
 * has the last word.
 */
export async function findCheckpoint(
  requests: Requests,
  located: Located,
  checkpointId: string,
): Promise<LogEntry | undefined | typeof OVERTAKEN> {
  const { tail, edits, headEntry } = located.thread;
  const has = (entry: LogEntry | undefined): boolean => entry?.checkpointId === checkpointId;
  const known = [tail, ...(edits?.replace ?? []), headEntry].find(has);
  if (known !== undefined) return entryOf(known);
  let index = await askIndex(requests, located, checkpointId);
  if (tail.seq - index.newest > MAX_UNSEEN) {
    await requests.refresh();
    index = await askIndex(requests, located, checkpointId);
  }
  const reader = new ThreadReader(requests, located);
  const ranges = [[index.newest + 1, tail.seq - 1], ...index.candidates.map((seq) => [seq, seq])] as [number, number][];
  for (const [from, to] of ranges) {
    const read = await reader.entries(from, to);
    if (read === OVERTAKEN) return OVERTAKEN;
    const entry = read.find(has);
    if (entry !== undefined) return entryOf(entry);
  }
  return undefined;
}

interface IndexKnowledge {
  /** Every record up to here is in the index, as it was at some time. */
  readonly newest: number;
  readonly candidates: readonly number[];
}

async function askIndex(
  requests: Requests,
  { thread: { key, life } }: Located,
  checkpointId: string,
): Promise<IndexKnowledge> {
  const { hits, aggregations } = await requests.searchWithFigures(
    {
      query: { bool: { filter: [{ term: { life } }] } },
      post_filter: { term: { checkpoint: checkpointId } },
      aggs: { newest: { max: { field: "seq" } } },
      sort: [{ seq: "desc" }],
      size: 20,
      _source: ["seq"],
    },
    key,
  );
  const newest = (aggregations["newest"] as { value?: number | null } | undefined)?.value ?? 0;
  return { newest, candidates: hits.map(({ source }) => Number(source["seq"])) };
}
