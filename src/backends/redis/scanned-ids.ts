import type { MendedIndex } from "./mend-index.ts";
import { threadsIn } from "./mend-index.ts";

interface Range {
  readonly prefix: string;
  readonly after: string | undefined;
  readonly limit: number;
}

/**
 * The ids of all threads, found by a walk through the keys of the servers. For
 * somebody who may not write and meets an index that lacks some: see layout.ts.
 * The answer to the first page of a listing is kept for the pages after it.
 */
export class ScannedIds {
  /** In the order of their bytes, as the index has them. */
  #latest: readonly string[] | undefined;

  async after(index: MendedIndex, { prefix, after, limit }: Range): Promise<readonly string[]> {
    if (after === undefined || this.#latest === undefined) this.#latest = await scan(index);
    const least = after === undefined ? undefined : Buffer.from(after);
    const isBehind = (id: string): boolean => least === undefined || Buffer.compare(Buffer.from(id), least) > 0;
    return this.#latest.filter((id) => id.startsWith(prefix) && isBehind(id)).slice(0, limit);
  }

  /** What was kept is older than the listing that begins now. */
  forget(): void {
    this.#latest = undefined;
  }
}

async function scan({ scanners, keys }: MendedIndex): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const scanner of await scanners()) {
    for await (const ids of threadsIn(scanner, keys)) for (const id of ids) found.add(id);
  }
  const ordered = [...found].map((id) => Buffer.from(id)).sort(Buffer.compare);
  return ordered.map((id) => id.toString());
}
