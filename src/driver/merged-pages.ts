import { inParallel } from "../internal/concurrency.ts";

interface Source {
  readonly pages: AsyncIterator<readonly string[]>;
  names: readonly string[];
  isRead: boolean;
}

/**
 * One list of several, each of which is in order and has pages of its own. The next pages of all are
 * asked for at once, and what is before the last name of each of them is handed over.
 */
export async function* mergedPages(lists: readonly AsyncIterable<readonly string[]>[]): AsyncGenerator<string[]> {
  const sources = lists.map((list): Source => ({ pages: list[Symbol.asyncIterator](), names: [], isRead: false }));
  for (let unread = sources; unread.length > 0; ) {
    await inParallel(unread, async (source) => {
      while (source.names.length === 0 && !source.isRead) {
        const next = await source.pages.next();
        source.isRead = next.done === true;
        source.names = next.done === true ? [] : next.value;
      }
    });
    unread = unread.filter(({ isRead }) => !isRead);
    const [known] = unread.map(({ names }) => names.at(-1) ?? "").sort();
    const page: string[] = [];
    for (const source of sources) {
      const ready = source.names.filter((name) => known === undefined || name <= known);
      source.names = source.names.slice(ready.length);
      page.push(...ready);
    }
    yield page.sort();
  }
}
