import type { LogPage, SearchHit, ThreadEntry } from "../../checkpoint/thread-log.ts";
import { MAX_ID_BYTES, MAX_TENANT_PREFIX_BYTES } from "../../driver/ids.ts";
import { hasMember, indexable } from "./metadata.ts";
import { toEntry, toThreadEntry } from "./rows.ts";
import type { RunStatement } from "./statements.ts";
import { wordQuery } from "./words.ts";

const NOTHING: LogPage<ThreadEntry> = { items: [], cursor: undefined };

export async function listThreads(
  run: RunStatement,
  { prefix, cursor = "", limit }: { prefix: string; cursor?: string; limit: number },
): Promise<LogPage<ThreadEntry>> {
  if (isInNoId(prefix)) return NOTHING;
  return pageOf((await run("threads", ...range(prefix, cursor), limit + 1)).map(toThreadEntry), limit);
}

/** SQL narrows down to threads that may match. The exact comparison is made here on the JSON text, where no value is coerced. */
export async function queryMetadata(
  run: RunStatement,
  key: string,
  valueJson: string,
  { cursor = "", limit, prefix = "" }: { cursor?: string; limit: number; prefix?: string },
): Promise<LogPage<ThreadEntry>> {
  if (isInNoId(prefix)) return NOTHING;
  const matches: ThreadEntry[] = [];
  const member = indexable(key, valueJson);
  for (let after = cursor; ; ) {
    const asked = Math.max(limit - matches.length + 1, 100);
    const found = (await run("withMember", ...range(prefix, after), asked, member)).map(toThreadEntry);
    matches.push(...found.filter(({ head }) => hasMember(head.metadata, key, valueJson)));
    const last = found.at(-1);
    if (last === undefined || found.length < asked || matches.length > limit) return pageOf(matches, limit);
    after = last.threadId;
  }
}

/** The index knows which records have the words, but not how often. The fewer other words a record has, the better the hit. */
export async function search(
  run: RunStatement,
  words: readonly string[],
  { limit, prefix = "" }: { limit: number; prefix?: string },
): Promise<readonly SearchHit[]> {
  if (isInNoId(prefix)) return [];
  const rows = await run("search", wordQuery(words), ...range(prefix), limit);
  return rows.map((row) => ({
    threadId: row["thread_id"] ?? "",
    entry: toEntry(row),
    score: 1 / Math.sqrt(Math.max(Number(row["length"]), 1)),
  }));
}

/** U+0000: the server refuses it even as a parameter. */
const isInNoId = (prefix: string): boolean => prefix.includes("\0");

/** The last character, repeated to the greatest length of an id. */
const LAST = "\u{10ffff}".repeat(Math.ceil((MAX_ID_BYTES + MAX_TENANT_PREFIX_BYTES) / 4));

/**
 * The first and the last id with this prefix and after the cursor, in byte order.
 * Ids hold no control characters. There is no last id if every id matches: with
 * fewer conditions the planner is less likely to choose a bad plan.
 */
function range(prefix: string, cursor = ""): readonly [first: string, last: string | null] {
  const after = cursor === "" ? "" : `${cursor}\u0001`;
  const first = Buffer.compare(Buffer.from(after), Buffer.from(prefix)) > 0 ? after : prefix;
  return [first, prefix === "" ? null : prefix + LAST];
}

function pageOf(found: readonly ThreadEntry[], limit: number): LogPage<ThreadEntry> {
  const items = found.slice(0, limit);
  return { items, cursor: found.length > limit ? items.at(-1)?.threadId : undefined };
}
