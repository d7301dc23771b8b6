import type { StoredPage } from "./thread-document.ts";

/** A page of this size is left alone: editing one of its records rewrites all of it. */
const FULL_PAGE_RECORDS = 1024;
const FULL_PAGE_BYTES = 2 * 1024 * 1024;

/** The most pages below that size that a thread may have. */
const MOST_OPEN_PAGES = 4;

const isFull = ({ records, bytes }: StoredPage): boolean => records >= FULL_PAGE_RECORDS || bytes >= FULL_PAGE_BYTES;

/**
 * How many of the newest pages to merge, or 0. Each record is written about five
 * times in its life, and a thread of 1,500 small records has at most five pages.
 * The pages to merge are the newest ones up to the first that is larger than all
 * behind it, so that a large page is not rewritten for a small one.
 */
export function pagesToMerge(pages: readonly StoredPage[]): number {
  const open = pages.slice(pages.findLastIndex(isFull) + 1);
  if (open.length <= MOST_OPEN_PAGES) return 0;
  let [count, records] = [0, 0];
  for (const page of open.toReversed()) {
    if (count >= 2 && page.records > records) break;
    count++;
    records += page.records;
  }
  return count;
}
