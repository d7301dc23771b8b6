import { MAX_ID_BYTES, MAX_TENANT_PREFIX_BYTES } from "../../driver/ids.ts";
import { listedThread } from "../log/listed-threads.ts";
import type { ListedThread, LogPage } from "../log/thread-log.ts";
import { storedMember } from "../record/metadata.ts";
import type { Row, Values } from "./dialect.ts";
import { threadIdIn, toEntry } from "./rows.ts";

export interface PageOptions {
  readonly cursor?: string;
  readonly limit: number;
  readonly prefix?: string;
}

/** A page of threads with their heads, in the order of ids by bytes. */
export type ReadPage = (range: Values) => Promise<readonly Row[]>;

const NOTHING: LogPage<ListedThread> = { items: [], cursor: undefined };

export async function listThreads(
  read: ReadPage,
  { prefix = "", cursor = "", limit }: PageOptions,
): Promise<LogPage<ListedThread>> {
  if (isInNoId(prefix)) return NOTHING;
  const rows = await read({ ...rangeOf(prefix, cursor), most: limit + 1 });
  return pageOf(
    rows.map((row) => listedThread(threadIdIn(row), () => toEntry(row))),
    limit,
  );
}

/** SQL narrows down to threads that may match. The exact comparison is made here on the JSON text, where no value is coerced. */
export async function queryMetadata(
  read: ReadPage,
  key: string,
  valueJson: string,
  { cursor = "", limit, prefix = "" }: PageOptions,
): Promise<LogPage<ListedThread>> {
  if (isInNoId(prefix)) return NOTHING;
  const matches: ListedThread[] = [];
  for (let after = cursor; ; ) {
    const most = Math.max(limit - matches.length + 1, 100);
    const found = await read({ ...rangeOf(prefix, after), most });
    matches.push(...found.flatMap((row) => listedWithMember(row, key, valueJson) ?? []));
    if (found.length < most || matches.length > limit) return pageOf(matches, limit);
    after = threadIdIn(found.at(-1));
  }
}

/** U+0000: some servers refuse it even as a value, and some clients take it for the end of a text. */
export const isInNoId = (prefix: string): boolean => prefix.includes("\0");

/** Before every id: ids hold no control characters. */
const FIRST = "\u0001";
/** The last character, repeated to the greatest length of an id. */
const LAST = "\u{10ffff}".repeat(Math.ceil((MAX_ID_BYTES + MAX_TENANT_PREFIX_BYTES) / 4));

/** The first and the last id with this prefix and after the cursor, in the order of bytes; `last` only where there is a prefix. */
export function rangeOf(prefix: string, cursor = ""): { readonly first: string; readonly last: string | undefined } {
  const after = cursor === "" ? FIRST : `${cursor}${FIRST}`;
  const isBefore = Buffer.compare(Buffer.from(prefix), Buffer.from(after)) < 0;
  return { first: isBefore ? after : prefix, last: prefix === "" ? undefined : prefix + LAST };
}

/** A row whose thread is gone is none of the answer: an index may lead to it still. */
function listedWithMember(row: Row, key: string, valueJson: string): ListedThread | undefined {
  return listedThread(threadIdIn(row), () => {
    const head = toEntry(row);
    return storedMember(head.metadata, key, valueJson) ? head : undefined;
  });
}

function pageOf(found: readonly ListedThread[], limit: number): LogPage<ListedThread> {
  const items = found.slice(0, limit);
  return { items, cursor: found.length > limit ? items.at(-1)?.threadId : undefined };
}
