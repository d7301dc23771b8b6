import { AT_ONCE, inParallel } from "../../internal/in-parallel.ts";
import { Recent } from "../../internal/recent.ts";
import type { Snapshot } from "./snapshot.ts";

interface KnownIds {
  /** While it stands, no record was replaced or dropped: what was read once is still so. */
  readonly staging: string;
  readonly byPosition: Map<number, string | undefined>;
}

/**
 * Which record carries which checkpoint id. The files are the truth; each is
 * asked once, so that looking up a name before every save costs what was added
 * since the last time and not the whole history.
 */
export class CheckpointIndex {
  readonly #known = new Recent<KnownIds>(100);

  /** The position of the record that carries the id. */
  async find(snapshot: Snapshot, checkpointId: string): Promise<number | undefined> {
    const ids = this.#idsOf(snapshot);
    const newestFirst = snapshot.seqs.toReversed();
    for (let start = 0; start < newestFirst.length; start += AT_ONCE) {
      const some = newestFirst.slice(start, start + AT_ONCE);
      const found = await inParallel(some, async (seq) => (await this.#idAt(snapshot, ids, seq)) === checkpointId);
      if (found.includes(true)) return some[found.indexOf(true)];
    }
    return undefined;
  }

  async #idAt(snapshot: Snapshot, ids: Map<number, string | undefined>, seq: number): Promise<string | undefined> {
    if (!ids.has(seq) || snapshot.isReplaced(seq)) ids.set(seq, (await snapshot.entry(seq)).checkpointId);
    return ids.get(seq);
  }

  #idsOf({ place, listing }: Snapshot): Map<number, string | undefined> {
    const known = this.#known.get(place.path);
    if (known !== undefined && listing.stagings.includes(known.staging)) return known.byPosition;
    const byPosition = new Map<number, string | undefined>();
    const [staging] = listing.stagings;
    if (staging !== undefined) this.#known.set(place.path, { staging, byPosition });
    return byPosition;
  }
}
