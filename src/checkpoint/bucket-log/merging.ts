import type { StoredPage } from "./thread-document.ts";

/** A page that holds this much is left alone: whoever edits one of its records writes all of it again. */
const FULL_PAGE_RECORDS = 1024;
const FULL_PAGE_BYTES = 2 * 1024 * 1024;

/** How many pages below that size a thread may have. */
const MOST_OPEN_PAGES = 4;

const isFull = ({ records, bytes }: StoredPage): boolean => records >= FULL_PAGE_RECORDS || bytes >= FULL_PAGE_BYTES;

/**
 * How many of the newest pages to put together, or 0. Each record is written
 * about five times in its life this way, and a thread of 1,500 small records is
 * at most five pages. The pages that are put together are the newest ones up to
 * the first that is larger than all behind it: so that a large page is not
 * written again for the sake of a small one.
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
