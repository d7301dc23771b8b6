import { listedThread } from "../../checkpoint/log/listed-threads.ts";
import type { ListedThread, LogEntry, LogPage } from "../../checkpoint/log/thread-log.ts";
import { AT_ONCE, inParallel } from "../../internal/concurrency.ts";
import { COMPLETE, type KeyNames } from "./layout.ts";
import { type MendedIndex, mendIndex } from "./mend-index.ts";
import { asReply, asText, entryAt, type Reply } from "./replies.ts";
import { faultOf, type RunScript } from "./run-script.ts";
import type { ScannedIds } from "./scanned-ids.ts";
import { READ_HEADS } from "./scripts/reading.ts";
import { FORGET, FORGET_ABSENT, WALK } from "./scripts/thread-index.ts";

export interface WalkedIndex extends MendedIndex {
  readonly isCluster: boolean;
  /** Present with read access, which neither repairs the index nor removes anything from it. */
  readonly scanned?: ScannedIds | undefined;
}

/** Threads in byte order of their ids. Ids without a thread are removed from the index on the way. */
export async function walkThreads(
  index: WalkedIndex,
  { prefix, cursor, limit }: { readonly prefix: string; readonly cursor?: string; readonly limit: number },
): Promise<LogPage<ListedThread>> {
  const items: ListedThread[] = [];
  let after = cursor;
  // If many ids have no thread any more, ever larger pages of them are skipped.
  for (let size = limit + 1; ; size = Math.min(Math.max(size, AT_ONCE) * 2, LARGEST_PAGE)) {
    const [seenAt = "", ...ids] = await idsAfter(index, prefix, after, size);
    const heads = await headsOf(index, ids);
    const absent = ids.filter((_, at) => asReply(heads[at]) === undefined);
    // Listing may be allowed where removing is not: on a replica it never is. Such ids are skipped again next time.
    if (index.scanned === undefined) await forget(index, absent, seenAt).catch(() => undefined);
    for (const [at, threadId] of ids.entries()) {
      const thread = listedThread(threadId, () => headIn(asReply(heads[at]) ?? []));
      if (thread !== undefined && items.length === limit) return { items, cursor: items.at(-1)?.threadId };
      if (thread !== undefined) items.push(thread);
    }
    if (ids.length < size) return { items, cursor: undefined };
    after = ids.at(-1);
  }
}

const LARGEST_PAGE = 2048;

function headIn(head: Reply): LogEntry | undefined {
  if (head.length === 0) return undefined;
  if (asText(head[0]) === "fault") throw faultOf(asText(head[1]));
  return entryAt(head, 0);
}

/** All at once on one server; one by one in a cluster, where each may be on another node. */
async function headsOf({ run, keys, isCluster }: WalkedIndex, ids: readonly string[]): Promise<readonly unknown[]> {
  const threads = ids.map(keys.thread);
  if (isCluster) return inParallel(threads, async (thread) => asReply(await run(READ_HEADS, [thread]))?.[0]);
  const heads: unknown[] = [];
  for (const some of chunks(threads)) heads.push(...(asReply(await run(READ_HEADS, some)) ?? []));
  return heads;
}

/** A script that reads too many keys would block all other clients. */
function* chunks(items: readonly string[]): Generator<readonly string[]> {
  for (let start = 0; start < items.length; start += KEYS_AT_ONCE) yield items.slice(start, start + KEYS_AT_ONCE);
}

const KEYS_AT_ONCE = 1000;

/** The index's time, then ids. */
async function idsAfter(
  index: WalkedIndex,
  prefix: string,
  after: string | undefined,
  limit: number,
): Promise<readonly string[]> {
  // UTF-8 never contains the byte 255, so it sorts after everything that begins with the prefix.
  const last = prefix === "" ? "+" : Buffer.concat([Buffer.from(`(${prefix}`), Buffer.from([0xff])]);
  const beginning = prefix === "" ? "-" : `[${prefix}`;
  const first =
    after === undefined || Buffer.compare(Buffer.from(after), Buffer.from(prefix)) < 0 ? beginning : `(${after}`;
  const walk = async (): Promise<string[]> => {
    const reply = asReply(await index.run(WALK, [index.keys.ids], [first, last, String(limit)])) ?? [];
    return reply.map(asText);
  };
  const [seenAt = "", mark = "", ...ids] = await walk();
  if (mark === COMPLETE) {
    if (after === undefined) index.scanned?.forget();
    return [seenAt, ...ids];
  }
  if (index.scanned !== undefined) return [seenAt, ...(await index.scanned.after(index, { prefix, after, limit }))];
  await mendIndex(index, mark);
  const [seenThen = "", , ...mended] = await walk();
  return [seenThen, ...mended];
}

async function forget({ run, keys, isCluster }: WalkedIndex, ids: readonly string[], seenAt: string): Promise<void> {
  if (isCluster) await inParallel(ids, (id) => forgetAbsent(run, keys, id, seenAt));
  else for (const some of chunks(ids)) await run(FORGET, [...some.map(keys.thread), keys.ids], some);
}

/** `seenAt` is the index's time before the thread was found absent. */
export const forgetAbsent = (run: RunScript, keys: KeyNames, threadId: string, seenAt: string): Promise<unknown> =>
  run(FORGET_ABSENT, [keys.ids, keys.announced], [threadId, seenAt]);
