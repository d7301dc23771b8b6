import { type MendedIndex, threadsIn } from "./mend-index.ts";

interface Range {
  readonly prefix: string;
  readonly after: string | undefined;
  readonly limit: number;
}

/**
 * The ids of all threads, found by a SCAN over the keys of the servers. For a reader
 * that may not write and finds an incomplete index: see layout.ts. The result for
 * the first page of a listing is kept for its later pages.
 */
export class ScannedIds {
  /** In byte order, like the index. */
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

  /** Called when a listing begins: an older result is stale. */
  forget(): void {
    this.#latest = undefined;
  }
}

/** The index of the first id that is beyond a limit, as all later ones are. */
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
