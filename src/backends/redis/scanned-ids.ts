import { type MendedIndex, threadsIn } from "./mend-index.ts";

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
  #latest: readonly Buffer[] | undefined;

  async after(index: MendedIndex, { prefix, after, limit }: Range): Promise<readonly string[]> {
    if (after === undefined || this.#latest === undefined) this.#latest = await scan(index);
    const [start, last] = [Buffer.from(prefix), Buffer.from(after ?? "")];
    const isBehind = (id: Buffer): boolean =>
      Buffer.compare(id, start) >= 0 && (after === undefined || Buffer.compare(id, last) > 0);
    const from = firstOf(this.#latest, isBehind);
    const ids = this.#latest.slice(from, from + limit).map((id) => id.toString());
    return ids.filter((id) => id.startsWith(prefix));
  }

  /** What was kept is older than the listing that begins now. */
  forget(): void {
    this.#latest = undefined;
  }
}

/** The place of the first id that is behind a limit, as all after it are. */
function firstOf(ids: readonly Buffer[], isBehind: (id: Buffer) => boolean): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const id = ids[middle];
    if (id !== undefined && isBehind(id)) high = middle;
    else low = middle + 1;
  }
  return low;
}

async function scan({ scanners, keys }: MendedIndex): Promise<readonly Buffer[]> {
  const found = new Set<string>();
  for (const scanner of await scanners()) {
    for await (const ids of threadsIn(scanner, keys)) for (const id of ids) found.add(id);
  }
  return [...found].map((id) => Buffer.from(id)).sort(Buffer.compare);
}
