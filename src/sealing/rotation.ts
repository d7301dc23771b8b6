import { invalid, optionsOf } from "../driver/options.ts";
import { StateError } from "../errors.ts";
import { placeBytes } from "./box.ts";
import {
  type Kept,
  type KeyShelf,
  PEOPLE,
  type PersonItem,
  type RingItem,
  TENANTS,
  type TenantItem,
} from "./key-shelf.ts";
import { type MasterKeys, newMaster } from "./master-keys.ts";

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
 * In steps, each of which leaves a working keyring: a new master key is written
 * beside the old ones, then each key is rewrapped in place, then the old master keys
 * are retired, and removed after their grace period.
 */
export async function rotateKeys(
  shelf: KeyShelf,
  masters: MasterKeys,
  now: () => number,
  given?: RotationOptions,
): Promise<RotationReport> {
  const { graceMs = DAY_MS } = optionsOf("rotate", given, { graceMs: true });
  if (!(typeof graceMs === "number" && graceMs >= 0)) throw invalid("graceMs must be a number of milliseconds");
  const begun = await changeRing(shelf, async (ring) => {
    if (ring.isRotating) return ring;
    const { master } = await newMaster(ring.id, masters.provider);
    return { ...ring, masters: [...ring.masters, master], isRotating: true };
  });
  await masters.take(begun);
  const rewrapped = await rewrapAll(shelf, masters, begun.id);
  let removed = 0;
  const ended = await changeRing(shelf, async (ring) => {
    const index = await rewrappedIndex(ring, masters);
    const stamped = ring.masters.map((each) =>
      each.id === masters.current ? each : { ...each, retiredAt: each.retiredAt ?? now() },
    );
    const kept = stamped.filter(({ retiredAt }) => retiredAt === null || now() - retiredAt < graceMs);
    removed = stamped.length - kept.length;
    return { ...ring, index, masters: kept, isRotating: false };
  });
  return {
    rewrapped: rewrapped + 1,
    removed,
    retired: ended.masters.length - 1,
    outerKeys: [...new Set(ended.masters.map(({ by }) => by))],
  };
}

async function changeRing(shelf: KeyShelf, change: (ring: RingItem) => Promise<RingItem>): Promise<RingItem> {
  for (let races = 0; races < MOST_RACES; races++) {
    const kept = await shelf.ring();
    if (kept === undefined) throw new StateError("NOT_FOUND", "the keyring is no longer in its store");
    const next = await change(kept.value);
    if (next === kept.value || (await shelf.putRing(next, kept.version))) return next;
  }
  throw new StateError("CONFLICT", "the keyring is written to without a pause; try again later");
}

async function rewrappedIndex({ id, index }: RingItem, masters: MasterKeys): Promise<RingItem["index"]> {
  const place = placeBytes([id, "index"]);
  return masters.wrap(await masters.unwrap(index, place), place);
}

async function rewrapAll(shelf: KeyShelf, masters: MasterKeys, ring: string): Promise<number> {
  let count = 0;
  for await (const page of shelf.all<TenantItem>(TENANTS)) {
    for (const kept of page) {
      const again = () => shelf.tenant(kept.value.tenant);
      count += await rewrapOne(kept, again, async ({ value, version }) => {
        if (value.key.by === masters.current) return undefined;
        const place = placeBytes([ring, "tenant", value.tenant, value.id]);
        const key = masters.wrap(await masters.unwrap(value.key, place), place);
        return shelf.putTenant({ ...value, key }, version);
      });
    }
  }
  for await (const page of shelf.all<PersonItem>(PEOPLE)) {
    for (const kept of page) {
      const again = () => shelf.person(kept.key);
      count += await rewrapOne(kept, again, async ({ key: token, value, version }) => {
        const { key, name, number } = value;
        if (key === null || name === null || key.by === masters.current) return undefined;
        const id = `${token}.${number}`;
        const places = { key: placeBytes([ring, "person", id]), name: placeBytes([ring, "name", id]) };
        const next = {
          ...value,
          key: masters.wrap(await masters.unwrap(key, places.key), places.key),
          name: masters.wrap(await masters.unwrap(name, places.name), places.name),
        };
        return shelf.putPerson(token, next, version);
      });
    }
  }
  return count;
}

/** 1 if it was rewrapped. A key that was destroyed meanwhile stays destroyed: the item is read again. */
async function rewrapOne<Item>(
  kept: Kept<Item>,
  again: () => Promise<Kept<Item> | undefined>,
  rewrap: (kept: Kept<Item>) => Promise<boolean | undefined>,
): Promise<number> {
  let current: Kept<Item> | undefined = kept;
  for (let races = 0; races < MOST_RACES && current !== undefined; races++) {
    const done = await rewrap(current);
    if (done !== false) return done === true ? 1 : 0;
    current = await again();
  }
  if (current === undefined) return 0;
  throw new StateError("CONFLICT", "a key is written to without a pause; try again later");
}
