import type { LogPage, ThreadEntry } from "../../checkpoint/thread-log.ts";
import { AT_ONCE, inParallel } from "../../internal/in-parallel.ts";
import type { KeyNames } from "./layout.ts";
import { asReply, asText, entryAt } from "./replies.ts";
import type { RunScript } from "./run-script.ts";
import { FORGET, FORGET_ABSENT, WALK } from "./scripts/thread-index.ts";

export interface WalkedIndex {
  readonly run: RunScript;
  readonly keys: KeyNames;
  readonly isCluster: boolean;
  readonly headOf: (threadId: string) => Promise<unknown>;
}

/** Threads in the order of their ids' bytes. Ids without a thread are taken out of the index on the way. */
export async function walkThreads(
  index: WalkedIndex,
  { prefix, cursor, limit }: { readonly prefix: string; readonly cursor?: string; readonly limit: number },
): Promise<LogPage<ThreadEntry>> {
  const items: ThreadEntry[] = [];
  let after = cursor;
  // Where many ids have no thread any more, ever larger pages of them are passed over.
  for (let size = limit + 1; ; size = Math.min(Math.max(size, AT_ONCE) * 2, LARGEST_PAGE)) {
    const [seenAt = "", ...ids] = await idsAfter(index, prefix, after, size);
    const heads = await inParallel(ids, index.headOf);
    for (const [at, threadId] of ids.entries()) {
      const head = asReply(heads[at]);
      if (head === undefined) await forget(index, threadId, seenAt);
      else if (head.length > 0 && items.length === limit) return { items, cursor: items.at(-1)?.threadId };
      else if (head.length > 0) items.push({ threadId, head: entryAt(head, 0) });
    }
    if (ids.length < size) return { items, cursor: undefined };
    after = ids.at(-1);
  }
}

const LARGEST_PAGE = 2048;

/** The index's time, then ids. */
async function idsAfter(
  { run, keys }: WalkedIndex,
  prefix: string,
  after: string | undefined,
  limit: number,
): Promise<readonly string[]> {
  // No text in UTF-8 holds the byte 255, so it stands behind everything that begins with the prefix.
  const last = prefix === "" ? "+" : Buffer.concat([Buffer.from(`(${prefix}`), Buffer.from([0xff])]);
  const beginning = prefix === "" ? "-" : `[${prefix}`;
  const first =
    after === undefined || Buffer.compare(Buffer.from(after), Buffer.from(prefix)) < 0 ? beginning : `(${after}`;
  const reply = asReply(await run(WALK, [keys.ids], [first, last, String(limit)])) ?? [];
  return reply.map(asText);
}

async function forget({ run, keys, isCluster }: WalkedIndex, threadId: string, seenAt: string): Promise<void> {
  if (isCluster) await forgetAbsent(run, keys, threadId, seenAt);
  else await run(FORGET, [keys.thread(threadId), keys.ids], [threadId]);
}

/** `seenAt` is the index's time from before the thread was found absent. */
export const forgetAbsent = (run: RunScript, keys: KeyNames, threadId: string, seenAt: string): Promise<unknown> =>
  run(FORGET_ABSENT, [keys.ids, keys.announced], [threadId, seenAt]);
