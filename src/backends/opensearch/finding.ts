import type { LogEntry, LogPage, SearchHit, ThreadEntry } from "../../checkpoint/thread-log.ts";
import { entryOf, type Thread, toEntry, toRecord, toThread, WITHOUT_BODIES } from "./documents.ts";
import { threadKey } from "./layout.ts";
import { hasMember, tagOf } from "./metadata.ts";
import { type Located, OVERTAKEN, ThreadReader } from "./reading.ts";
import type { Hit, Json, Requests } from "./requests.ts";
import { wordQuery } from "./words.ts";

/** As many as one search answers. */
const PAGE = 1000;

const within = (prefix: string): readonly object[] =>
  prefix === "" ? [] : [{ prefix: { thread: { value: prefix } } }];

export interface ThreadQuery {
  readonly prefix: string;
  readonly cursor: string | undefined;
  readonly limit: number;
  readonly member?: { readonly key: string; readonly valueJson: string };
}

/**
 * Threads in the order of their ids. The id of the last one leads to the next
 * page: it never changes, so a walk needs no snapshot on the server, which
 * would have to be kept open and given back.
 */
export async function findThreads(requests: Requests, query: ThreadQuery): Promise<LogPage<ThreadEntry>> {
  const { prefix, cursor, member } = query;
  const limit = Math.min(query.limit, PAGE - 1);
  const tags = member === undefined ? [] : [{ term: { tags: tagOf(member.key, member.valueJson) } }];
  await requests.refresh();
  const hits = await requests.search({
    query: { bool: { filter: [{ term: { kind: "head" } }, { term: { listed: true } }, ...within(prefix), ...tags] } },
    sort: [{ thread: "asc" }],
    size: limit + 1,
    ...(cursor !== undefined && { search_after: [cursor] }),
    _source: ["thread", "log.headEntry"],
  });
  const found = hits.map(toThreadEntry);
  const page = found.slice(0, limit);
  const items =
    member === undefined ? page : page.filter(({ head }) => hasMember(head.metadata, member.key, member.valueJson));
  return { items, cursor: found.length > limit ? page.at(-1)?.threadId : undefined };
}

const toThreadEntry = ({ source }: Hit): ThreadEntry => {
  const { headEntry } = source["log"] as { headEntry: Json };
  return { threadId: String(source["thread"]), head: toEntry(headEntry) };
};

/** The best first. Documents that are about to be deleted are found too: the threads' own documents tell. */
export async function searchRecords(
  requests: Requests,
  words: readonly string[],
  { limit, prefix }: { readonly limit: number; readonly prefix: string },
): Promise<readonly SearchHit[]> {
  await requests.refresh();
  const found = new Map<string, SearchHit>();
  for (let after: readonly unknown[] | undefined; ; ) {
    const size = Math.min(limit + 10, PAGE);
    const hits = await requests.search({
      query: { bool: { must: wordQuery(words), filter: [{ exists: { field: "checkpoint" } }, ...within(prefix)] } },
      sort: [{ _score: "desc" }, { thread: "asc" }, { seq: "asc" }],
      size,
      ...(after !== undefined && { search_after: after }),
      _source: { excludes: WITHOUT_BODIES },
    });
    for (const hit of await liveOnes(requests, hits)) found.set(`${hit.entry.seq} ${hit.threadId}`, hit);
    after = hits.at(-1)?.sort;
    if (found.size >= limit || hits.length < size) return [...found.values()].slice(0, limit);
  }
}

async function liveOnes(requests: Requests, hits: readonly Hit[]): Promise<readonly SearchHit[]> {
  const keys = [...new Set(hits.filter(isOlderRecord).map(({ source }) => threadKey(String(source["thread"]))))];
  const documents = await requests.getThreads(keys, WITHOUT_BODIES);
  const threads = new Map<string, Thread>();
  for (const [index, key] of keys.entries()) {
    const source = documents[index]?.source;
    if (source?.["kind"] === "head") threads.set(key, toThread(source));
  }
  return hits.filter((hit) => !isOlderRecord(hit) || isLive(hit, threads)).map(toSearchHit);
}

const isOlderRecord = ({ source }: Hit): boolean => source["kind"] === "record";

function isLive({ id, source }: Hit, threads: ReadonlyMap<string, Thread>): boolean {
  const [key = "", life] = id.split(".");
  const thread = threads.get(key);
  if (thread === undefined || thread.life !== life) return false;
  const seq = Number(source["seq"]);
  const { floor, edits } = thread;
  const isReplaced = edits?.replace.some((record) => record.seq === seq && !isSame(record, toRecord(source)));
  return seq >= floor && !edits?.drop.includes(seq) && isReplaced !== true;
}

/** Whether the document of a replaced record is the new one already. */
const isSame = (one: LogEntry, other: LogEntry): boolean =>
  JSON.stringify(entryOf(one)) === JSON.stringify(entryOf(other));

const toSearchHit = ({ source, score, sort }: Hit): SearchHit => ({
  threadId: String(source["thread"]),
  entry: entryOf(toRecord(source)),
  score: typeof sort[0] === "number" ? sort[0] : score,
});

/**
 * The position of a checkpoint, and its entry. The index is asked as it is, and
 * again after a refresh only where it did not know: what it knows may be old,
 * so the document itself has the last word.
 */
export async function findCheckpoint(
  requests: Requests,
  located: Located,
  checkpointId: string,
): Promise<LogEntry | undefined | typeof OVERTAKEN> {
  const { threadId, tail, edits, headEntry } = located.thread;
  const has = (entry: LogEntry | undefined): boolean => entry?.checkpointId === checkpointId;
  const known = [tail, ...(edits?.replace ?? []), headEntry].find(has);
  if (known !== undefined) return entryOf(known);
  const reader = new ThreadReader(requests, located);
  for (const isFresh of [false, true]) {
    if (isFresh) await requests.refresh();
    const filter = [{ term: { thread: threadId } }, { term: { checkpoint: checkpointId } }];
    const query = { query: { bool: { filter } }, sort: [{ seq: "desc" }], size: 20, _source: ["seq"] };
    for (const { source } of await requests.search(query, threadKey(threadId))) {
      const seq = Number(source["seq"]);
      const read = await reader.entries(seq, seq);
      if (read === OVERTAKEN) return OVERTAKEN;
      const entry = read.find(has);
      if (entry !== undefined) return entryOf(entry);
    }
  }
  return undefined;
}
