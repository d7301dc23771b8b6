import { listedThread } from "../../checkpoint/log/listed-threads.ts";
import type { FoundRecords, ListedThread, LogEntry, LogPage, SearchHit } from "../../checkpoint/log/thread-log.ts";
import { storedMember } from "../../checkpoint/record/metadata.ts";
import { statusOf } from "./classify.ts";
import { entryOf, type Thread, toEntry, toRecord, toThread, WITHOUT_BODIES } from "./documents.ts";
import { assertStillOurs } from "./index-mark.ts";
import { tagOf } from "./metadata.ts";
import type { Hit, Json, Requests } from "./requests.ts";
import { wordQuery } from "./words.ts";

/** The most hits of one search. */
const PAGE = 1000;

/** The server refuses a query with a longer prefix, so longer ones are checked again in this process. */
const MAX_PREFIX_CHARACTERS = 300;

interface Within {
  readonly namespace: string;
  readonly prefix: string;
}

function within({ namespace, prefix }: Within): readonly object[] {
  const value = prefix.slice(0, MAX_PREFIX_CHARACTERS).replace(/[\ud800-\udbff]$/, "");
  return [{ term: { namespace } }, ...(value === "" ? [] : [{ prefix: { thread: { value } } }])];
}

export interface ThreadQuery extends Within {
  readonly cursor: string | undefined;
  readonly limit: number;
  readonly member?: { readonly key: string; readonly valueJson: string };
}

/**
 * Threads in order of their ids. The id of the last one leads to the next page. It
 * never changes, so a walk needs no snapshot on the server.
 */
export async function findThreads(requests: Requests, query: ThreadQuery): Promise<LogPage<ListedThread>> {
  const { cursor, member } = query;
  const limit = Math.min(query.limit, PAGE - 1);
  const tags = member === undefined ? [] : [{ term: { tags: tagOf(member.key, member.valueJson) } }];
  await requests.refresh();
  const hits = await searchOurs(requests, {
    query: {
      bool: {
        filter: [
          ...[{ term: { kind: "head" } }, { term: { listed: true } }, { exists: { field: "thread" } }],
          ...[...within(query), ...tags],
        ],
      },
    },
    sort: [{ thread: "asc" }],
    size: limit + 1,
    ...(cursor !== undefined && { search_after: [cursor] }),
    _source: ["thread", "log.headEntry"],
  });
  const page = hits.slice(0, limit);
  const items = page.flatMap((hit) => listed(hit, query) ?? []);
  return { items, cursor: hits.length > limit ? String(page.at(-1)?.sort[0]) : undefined };
}

/** One thread's damage must not affect others: an unreadable document is skipped, and loading it reports the damage. */
function readable<Item, Result>(items: readonly Item[], read: (item: Item) => readonly Result[]): readonly Result[] {
  return items.flatMap((item) => {
    try {
      return read(item);
    } catch {
      return [];
    }
  });
}

function listed({ source }: Hit, { prefix, member }: ThreadQuery): ListedThread | undefined {
  const threadId = String(source["thread"]);
  if (!threadId.startsWith(prefix)) return undefined;
  return listedThread(threadId, () => {
    const { headEntry } = source["log"] as { headEntry: Json };
    const head = toEntry(headEntry);
    if (member === undefined || storedMember(head.metadata, member.key, member.valueJson)) return head;
    return undefined;
  });
}

/** A search that finds nothing or fails may have run on an index that is no longer ours. */
async function searchOurs(requests: Requests, body: Json): Promise<readonly Hit[]> {
  const hits = await requests.search(body).catch(async (error: unknown) => {
    if (statusOf(error) === 400) await assertStillOurs(requests);
    throw error;
  });
  if (hits.length === 0) await assertStillOurs(requests);
  return hits;
}

/** Best first. Documents that are about to be deleted are found too: the threads' own documents decide. */
export async function searchRecords(
  requests: Requests,
  words: readonly string[],
  options: Within & { readonly limit: number },
): Promise<FoundRecords> {
  const { limit } = options;
  await requests.refresh();
  const found = new Map<string, SearchHit>();
  for (let after: readonly unknown[] | undefined; ; ) {
    const size = Math.min(limit + 10, PAGE);
    const hits = await searchOurs(requests, {
      query: { bool: { must: wordQuery(words), filter: within(options) } },
      sort: [{ _score: "desc" }, { thread: "asc" }, { seq: "asc" }],
      size,
      ...(after !== undefined && { search_after: after }),
      _source: { excludes: WITHOUT_BODIES },
    });
    for (const hit of await liveOnes(requests, hits)) {
      if (hit.threadId.startsWith(options.prefix)) found.set(`${hit.entry.seq} ${hit.threadId}`, hit);
    }
    after = hits.at(-1)?.sort;
    if (found.size >= limit || hits.length < size) return { hits: [...found.values()].slice(0, limit), order: "best" };
  }
}

async function liveOnes(requests: Requests, hits: readonly Hit[]): Promise<readonly SearchHit[]> {
  const keys = [...new Set(hits.filter(isOlderRecord).map(({ id }) => keyIn(id)))];
  const documents = await requests.getThreads(keys, WITHOUT_BODIES);
  const threads = new Map(
    readable([...keys.entries()], ([index, key]): readonly [string, Thread][] => {
      const source = documents[index]?.source;
      return source?.["kind"] === "head" ? [[key, toThread(source)]] : [];
    }),
  );
  return readable(hits, (hit) => (!isOlderRecord(hit) || isLive(hit, threads) ? [toSearchHit(hit)] : []));
}

const keyIn = (id: string): string => id.split(".", 1)[0] ?? "";

const isOlderRecord = ({ source }: Hit): boolean => source["kind"] === "record";

function isLive({ id, source }: Hit, threads: ReadonlyMap<string, Thread>): boolean {
  const thread = threads.get(keyIn(id));
  if (thread === undefined || thread.life !== id.split(".")[1]) return false;
  const seq = Number(source["seq"]);
  const { floor, edits } = thread;
  const isReplaced = edits?.replace.some((record) => record.seq === seq && !isSame(record, toRecord(source)));
  return seq >= floor && !edits?.drop.includes(seq) && isReplaced !== true;
}

/** Whether the document of a replaced record is already the new one. */
const isSame = (one: LogEntry, other: LogEntry): boolean =>
  JSON.stringify(entryOf(one)) === JSON.stringify(entryOf(other));

const toSearchHit = ({ source, score, sort }: Hit): SearchHit => ({
  threadId: String(source["thread"]),
  entry: entryOf(toRecord(source)),
  score: typeof sort[0] === "number" ? sort[0] : score,
});
