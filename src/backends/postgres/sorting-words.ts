import type { RunStatement } from "./statements.ts";

/**
 * Words that were written wait behind the index until they are sorted in: a search
 * reads all that wait. Sorting takes a while and concerns no single thread, so it is a
 * call of its own that holds no thread, and not a part of the write.
 *
 * On average it is due once in `per` characters, whichever process wrote them:
 * processes may be many, and each may live for a few saves only.
 */
export async function sortNowAndThen(run: RunStatement, written: number, per: number): Promise<void> {
  if (Math.random() * per >= written) return;
  // Unsorted words are found, too. The server sorts by itself when they are very many, and when it vacuums the table.
  await run("sortWords").catch(() => undefined);
}

/** In characters of words, which take about four times as many bytes while they wait. */
export const PER_CATCH_UP: number = 16 * 1024;
/** Few at a time, the words of thousands of edited threads would write the same pages again and again. */
export const PER_EDITS: number = 512 * 1024;
