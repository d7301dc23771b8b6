import { openPlace, placeOf } from "../../checkpoint/find/search-place.ts";
import { listedThread } from "../../checkpoint/log/listed-threads.ts";
import type {
  FoundRecords,
  ListedThread,
  LogPage,
  SearchHit,
  SearchOrder,
  SearchRange,
} from "../../checkpoint/log/thread-log.ts";
import { storedMember } from "../../checkpoint/record/metadata.ts";
import { MAX_ID_BYTES, MAX_TENANT_PREFIX_BYTES } from "../../driver/ids.ts";
import type { TextRow } from "./ask.ts";
import { indexable } from "./metadata.ts";
import { MAX_SEQ, toEntry } from "./rows.ts";
import type { RunStatement } from "./statements.ts";
import { wordQuery } from "./words.ts";

const NOTHING: LogPage<ListedThread> = { items: [], cursor: undefined };

export async function listThreads(
  run: RunStatement,
  { prefix, cursor = "", limit }: { prefix: string; cursor?: string; limit: number },
): Promise<LogPage<ListedThread>> {
  if (isInNoId(prefix)) return NOTHING;
  return pageOf((await run("threads", ...range(prefix, cursor), limit + 1)).map(listed), limit);
}

/** SQL narrows down to threads that may match. The exact comparison is made here on the JSON text, where no value is coerced. */
export async function queryMetadata(
  run: RunStatement,
  key: string,
  valueJson: string,
  { cursor = "", limit, prefix = "" }: { cursor?: string; limit: number; prefix?: string },
): Promise<LogPage<ListedThread>> {
  if (isInNoId(prefix)) return NOTHING;
  const matches: ListedThread[] = [];
  const member = indexable(key, valueJson);
  for (let after = cursor; ; ) {
    const asked = Math.max(limit - matches.length + 1, 100);
    const found = await run("withMember", ...range(prefix, after), asked, member);
    matches.push(...found.flatMap((row) => listedWithMember(row, key, valueJson) ?? []));
    const last = found.at(-1);
    if (last === undefined || found.length < asked || matches.length > limit) return pageOf(matches, limit);
    after = threadIdOf(last);
  }
}

/** The index knows which records have the words, but not how often. The fewer other words a record has, the better the hit. */
export async function search(
  run: RunStatement,
  words: readonly string[],
  { limit, prefix = "", after }: SearchRange,
  ranksUpTo: number,
): Promise<FoundRecords> {
  if (isInNoId(prefix)) return { hits: [], order: "best" };
  const from = after === undefined ? undefined : openPlace(after, ["number", "string", "number"]);
  const [key = null, thread = null, seq = null] = from?.parts ?? [];
  if (thread !== null && (isInNoId(thread) || !isPosition(seq))) return { hits: [], order: from?.order ?? "best" };
  const isNewest = from === undefined ? null : from.order === "newest";
  const rows = await run("search", wordQuery(words), ...range(prefix), limit, ranksUpTo, isNewest, key, thread, seq);
  const order = (isNewest ?? rows[0]?.["newest"] === "t") ? "newest" : "best";
  return { hits: rows.map((row) => toHit(row, order)), order };
}

function toHit(row: TextRow, order: SearchOrder): SearchHit {
  const { thread_id: threadId, at, size } = row;
  const entry = toEntry(row);
  return {
    threadId: threadId ?? "",
    entry,
    score: 1 / Math.sqrt(Math.max(Number(size), 1)),
    place: placeOf(order, Number(order === "newest" ? at : size), threadId ?? "", entry.seq),
  };
}

const isPosition = (seq: number | null): boolean => seq !== null && seq >= 0 && seq <= MAX_SEQ;

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

const threadIdOf = (row: TextRow): string => row["thread_id"] ?? "";

const listed = (row: TextRow): ListedThread => listedThread(threadIdOf(row), () => toEntry(row));

const listedWithMember = (row: TextRow, key: string, valueJson: string): ListedThread | undefined =>
  listedThread(threadIdOf(row), () => {
    const head = toEntry(row);
    return storedMember(head.metadata, key, valueJson) ? head : undefined;
  });

function pageOf(found: readonly ListedThread[], limit: number): LogPage<ListedThread> {
  const items = found.slice(0, limit);
  return { items, cursor: found.length > limit ? items.at(-1)?.threadId : undefined };
}
