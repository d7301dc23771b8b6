import { inParallel } from "../../internal/in-parallel.ts";
import { Recent } from "../../internal/recent.ts";
import type { Snapshot } from "./snapshot.ts";

interface KnownIds {
  /** While it stands, no record was replaced or dropped: what was read once is still so. */
  readonly edition: string;
  readonly byPosition: Map<number, string | undefined>;
}

/**
 * Which record carries which checkpoint id. The files are the truth; each is
 * asked once, so that looking up a name before every save costs what was added
 * since the last time.
 */
export class CheckpointIndex {
  readonly #known = new Recent<KnownIds>(100);

  /** The position of the record that carries the id. */
  async find(snapshot: Snapshot, checkpointId: string): Promise<number | undefined> {
    const ids = this.#idsOf(snapshot);
    const unknown = snapshot.loose.filter((seq) => !ids.has(seq) || snapshot.isReplaced(seq));
    await inParallel(unknown, async (seq) => ids.set(seq, (await snapshot.entry(seq))?.checkpointId));
    return snapshot.loose.findLast((seq) => ids.get(seq) === checkpointId) ?? snapshot.findFolded(checkpointId);
  }

  #idsOf({ place, listing }: Snapshot): Map<number, string | undefined> {
    const known = this.#known.get(place.path);
    const isOfToday = known !== undefined && listing.editions.includes(known.edition);
    const byPosition = new Map(isOfToday ? listing.loose.flatMap((seq) => entryOf(known.byPosition, seq)) : []);
    const [edition] = listing.editions;
    if (edition !== undefined) this.#known.set(place.path, { edition, byPosition });
    return byPosition;
  }
}

const entryOf = (ids: ReadonlyMap<number, string | undefined>, seq: number): [number, string | undefined][] =>
  ids.has(seq) ? [[seq, ids.get(seq)]] : [];
