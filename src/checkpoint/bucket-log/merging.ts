import type { Sizes } from "./layout.ts";
import type { StoredPage } from "./thread-document.ts";

/** A page with this many records is left alone: editing one of them rewrites all of it. */
const FULL_PAGE_RECORDS = 1024;

/** The most pages below that size that a thread may have. */
const MOST_OPEN_PAGES = 4;

/** The most pages in all. A load asks for as many at once, so that it takes one round however long the thread is. */
export const MOST_PAGES = 40;

/** Pages next to each other that become one. */
export interface Merge {
  readonly from: number;
  readonly count: number;
}

/**
 * Which of the newest pages to merge, if any. Each record is written about five
 * times in its life, and a thread of 1,500 small records has at most five pages.
 * The pages to merge are the newest ones up to the first that is larger than all
 * behind it, so that a large page is not rewritten for a small one.
 */
export function newestToMerge(pages: readonly StoredPage[], { fullPage }: Sizes): Merge | undefined {
  const isFull = ({ records, bytes }: StoredPage): boolean => records >= FULL_PAGE_RECORDS || bytes >= fullPage;
  const open = pages.slice(pages.findLastIndex(isFull) + 1);
  if (open.length <= MOST_OPEN_PAGES) return undefined;
  let [count, records] = [0, 0];
  for (const page of open.toReversed()) {
    if (count >= 2 && page.records > records) break;
    count++;
    records += page.records;
  }
  return { from: pages.length - count, count };
}

/**
 * Which two full pages to merge where there are too many: the neighbours that are
 * smallest together. So pages double in size as a thread does, and each record is
 * written once more for each doubling beyond 40,000 records.
 */
export function neighboursToMerge(pages: readonly StoredPage[]): Merge | undefined {
  if (pages.length <= MOST_PAGES) return undefined;
  let [from, least] = [0, Number.POSITIVE_INFINITY];
  for (const [index, { bytes }] of pages.slice(0, -1).entries()) {
    const together = bytes + (pages[index + 1]?.bytes ?? 0);
    if (together < least) [from, least] = [index, together];
  }
  return { from, count: 2 };
}
