import { invalid, optionsOf } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import { placeBytes } from "./box.ts";
import {
  type Kept,
  type KeyShelf,
  nameOfKey,
  PEOPLE,
  type PersonItem,
  type RingItem,
  TENANTS,
  type TenantItem,
  type Wrapped,
} from "./key-shelf.ts";
import { currentOf, type MasterKeys, newMaster } from "./master-keys.ts";

export interface RotationOptions {
  /**
   * How long a retired master key is kept: a process that has not noticed yet may
   * still wrap with it. 0 only if no other process has the keyring open. @default a
   * day
   */
  readonly graceMs?: number;
}

export interface RotationReport {
  /** Keys that this call rewrapped. */
  readonly rewrapped: number;
  /** Master keys that were removed for good. */
  readonly removed: number;
  /** Master keys that are kept until their grace period is over: rotate again then. */
  readonly retired: number;
  /** The provider's keys that the keyring still needs. Any other may be destroyed. */
  readonly outerKeys: readonly string[];
}

const DAY_MS = 86_400_000;
const MOST_RACES = 20;

/**
 * In steps, each of which leaves a working keyring: a new master key is written beside
 * the old ones, then each key is rewrapped in place, then the old master keys are
 * retired, and removed after their grace period. Several processes may do that at once:
 * a process that finds a rotation begun joins it, and only one that rewrapped with the
 * newest master key ends it.
 */
export async function rotateKeys(
  shelf: KeyShelf,
  masters: MasterKeys,
  now: () => number,
  given?: RotationOptions,
): Promise<RotationReport> {
  const { graceMs = DAY_MS } = optionsOf("rotate", given, { graceMs: true });
  if (!(typeof graceMs === "number" && graceMs >= 0)) throw invalid("graceMs must be a number of milliseconds");
  const begin = async (ring: RingItem): Promise<RingItem> => {
    if (ring.isRotating) return ring;
    const { master } = await newMaster(ring.id, masters.outer);
    return { ...ring, masters: [...ring.masters, master], isRotating: true };
  };
  let rewrapped = 0;
  let removed = 0;
  let ring = await changeRing(shelf, begin);
  for (let joined = 0; joined < MOST_RACES; joined++) {
    const current = currentOf(ring);
    rewrapped += await rewrapAll(shelf, masters, ring);
    ring = await changeRing(shelf, async (last) => {
      if (currentOf(last) !== current) return last;
      const index = await rewrappedIndex(last, masters);
      const stamped = last.masters.map((each) =>
        each.id === current ? each : { ...each, retiredAt: each.retiredAt ?? now() },
      );
      const kept = stamped.filter(({ id, retiredAt }) => id === current || now() - (retiredAt ?? now()) < graceMs);
      removed = stamped.length - kept.length;
      return { ...last, index, masters: kept, isRotating: false };
    });
    if (ring.isRotating) continue;
    return {
      rewrapped: rewrapped + 1,
      removed,
      retired: ring.masters.length - 1,
      outerKeys: [...new Set(ring.masters.map(({ by }) => by))],
    };
  }
  throw new StateError("CONFLICT", "others begin rotations all the time; try again later");
}

async function changeRing(shelf: KeyShelf, change: (ring: RingItem) => Promise<RingItem>): Promise<RingItem> {
  for (let races = 0; races < MOST_RACES; races++) {
    const kept = await shelf.ring();
    if (kept === undefined) throw new StateError("NOT_FOUND", "the keyring is no longer in its store");
    const next = await change(kept.value);
    if (next === kept.value || (await shelf.putRing(next, kept.version)) !== undefined) return next;
  }
  throw new StateError("CONFLICT", "the keyring is written to without a pause; try again later");
}

async function rewrappedIndex(ring: RingItem, masters: MasterKeys): Promise<RingItem["index"]> {
  const place = placeBytes([ring.id, "index"]);
  return masters.wrapBy(currentOf(ring), await masters.unwrap(ring.index, place, "the index key"), place);
}

/**
 * Every key that an earlier master key of the ring wraps. What a later one wraps
 * belongs to a newer rotation. A damaged key keeps no other from its turn, but the old
 * master keys stay then: a copy of the key from a backup may need them.
 */
async function rewrapAll(shelf: KeyShelf, masters: MasterKeys, ring: RingItem): Promise<number> {
  const current = currentOf(ring);
  const earlier = new Set(ring.masters.map(({ id }) => id).filter((id) => id !== current));
  const again = async (wrapped: Wrapped, place: Uint8Array, what: string): Promise<Wrapped> =>
    masters.wrapBy(current, await masters.unwrap(wrapped, place, what), place);
  const damage: StateError[] = [];
  const note = (error: StateError): void => void damage.push(error);
  let count = 0;
  for await (const page of shelf.all<TenantItem>(TENANTS, note)) {
    for (const kept of page) {
      const read = () => shelf.tenant(kept.value.tenant);
      count += await rewrapOne(kept, read, note, async ({ value, version }) => {
        if (!earlier.has(value.key.by)) return "done";
        const place = placeBytes([ring.id, "tenant", value.tenant, value.id]);
        const key = await again(value.key, place, `the key of the tenant ${JSON.stringify(value.tenant)}`);
        return shelf.putTenant({ ...value, key }, version);
      });
    }
  }
  for await (const page of shelf.all<PersonItem>(PEOPLE, note)) {
    for (const kept of page) {
      const read = () => shelf.person(kept.key);
      count += await rewrapOne(kept, read, note, async ({ key: token, value, version }) => {
        if (value.key === null || value.name === null || !earlier.has(value.key.by)) return "done";
        const id = nameOfKey(token, value);
        const key = await again(value.key, placeBytes([ring.id, "person", id]), `the key ${id}`);
        const name = await again(value.name, placeBytes([ring.id, "name", id]), `the name beside the key ${id}`);
        return shelf.putPerson(token, { ...value, key, name }, version);
      });
    }
  }
  if (damage.length > 0) throw unfinished(damage);
  return count;
}

const unfinished = (damage: readonly StateError[]): StateError =>
  new StateError(
    "CORRUPT",
    `all other keys are rewrapped, but not ${damage.length} that cannot be opened (${damage[0]?.message}). The old master keys stay. Bring the damaged keys back from a backup of the keyring, or destroy() those that are lost, and call rotate() again`,
    { cause: damage[0] },
  );

/**
 * 1 if it was rewrapped. A key that was destroyed meanwhile stays destroyed: the item
 * is read again. So it is where another rotation has wrapped it anew meanwhile, and
 * removed the master key that this one would have needed.
 */
async function rewrapOne<Item>(
  kept: Kept<Item>,
  read: () => Promise<Kept<Item> | undefined>,
  damaged: (error: StateError) => void,
  rewrap: (kept: Kept<Item>) => Promise<string | undefined>,
): Promise<number> {
  let current: Kept<Item> | undefined = kept;
  for (let races = 0; races < MOST_RACES && current !== undefined; races++) {
    const seen: Kept<Item> = current;
    try {
      const written = await rewrap(seen);
      if (written !== undefined) return written === "done" ? 0 : 1;
      current = await read();
    } catch (error) {
      if (!StateError.is(error, "CORRUPT") && !StateError.is(error, "PERMISSION_DENIED")) throw error;
      current = await read();
      if (current?.version !== seen.version) continue;
      if (!StateError.is(error, "CORRUPT")) throw error;
      damaged(error);
      return 0;
    }
  }
  if (current === undefined) return 0;
  throw new StateError("CONFLICT", "a key is written to without a pause; try again later");
}
