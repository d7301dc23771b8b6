import type { LogEntry } from "../../checkpoint/log/thread-log.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { Recent } from "../../internal/recent.ts";
import type { NamedPlace, Snapshot } from "./snapshot.ts";

interface KnownNames {
  /** While this is unchanged, no record was replaced or dropped, so earlier reads are still valid. */
  readonly edition: string;
  readonly byFile: Map<number, readonly NamedPlace[]>;
  /** The newest record when they were read. A directory that was put back to an older copy lacks it. */
  readonly asOf: Pick<LogEntry, "seq" | "writeId">;
}

/**
 * Which record carries which names. The files are the source of truth. Each is read
 * once, so that looking up a name before every save costs only what was added since.
 */
export class CheckpointIndex {
  readonly #known = new Recent<KnownNames>(100);

  /** The position of the newest record that carries the name. */
  async find(snapshot: Snapshot, name: string): Promise<number | undefined> {
    const byFile = await this.#namesOf(snapshot);
    const unknown = snapshot.files.filter((file) => !byFile.has(file));
    await inParallel(unknown, async (file) => byFile.set(file, (await snapshot.entriesAsWritten(file)).map(namesIn)));
    for (const file of snapshot.files.toReversed()) {
      const found = byFile.get(file)?.findLast((place) => snapshot.isNamed(place, name));
      if (found !== undefined) return found.seq;
    }
    return snapshot.findFolded(name);
  }

  async #namesOf(snapshot: Snapshot): Promise<Map<number, readonly NamedPlace[]>> {
    const { place, listing, tail } = snapshot;
    const known = this.#known.get(place.path);
    const isOfToday =
      known !== undefined &&
      listing.editions.includes(known.edition) &&
      (await snapshot.entry(known.asOf.seq))?.writeId === known.asOf.writeId;
    const byFile = new Map(isOfToday ? listing.loose.flatMap((file) => placesIn(known.byFile, file)) : []);
    const [edition] = listing.editions;
    if (edition !== undefined) this.#known.set(place.path, { edition, byFile, asOf: tail.entry });
    return byFile;
  }
}

const namesIn = ({ seq, checkpointId, names }: NamedPlace): NamedPlace =>
  names === undefined ? { seq, checkpointId } : { seq, checkpointId, names };

function placesIn(
  byFile: ReadonlyMap<number, readonly NamedPlace[]>,
  file: number,
): readonly (readonly [number, readonly NamedPlace[]])[] {
  const places = byFile.get(file);
  return places === undefined ? [] : [[file, places]];
}
