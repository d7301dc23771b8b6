import { StateError } from "../errors.ts";
import { Sweep } from "../state/erasing.ts";
import {
  ActiveHolds,
  HOLDS,
  heldError,
  holdFrom,
  isLeftToService,
  type LegalHold,
  laterOf,
  storedHold,
} from "../state/legal-hold.ts";
import { erasedValue } from "../state/subjects.ts";
import type { BaseStore } from "./base-store.ts";
import type { StoreItem } from "./items.ts";
import { readableId } from "./namespaces.ts";
import { ownersOf } from "./owners.ts";
import type { ItemId, Namespace } from "./store-driver.ts";

/**
 * Legal holds, in a namespace of the package's own in the store of what they
 * hold. Only those on people concern items. They are read before each removal
 * and never remembered: whoever places one need not know who is deleting just now.
 */

const NAMESPACE: Namespace = [HOLDS];
const PER_PAGE = 500;
const MOST_RACES = 100;

/** Every hold that was ever placed, in the order of their times. */
export async function everyHoldIn(store: BaseStore): Promise<readonly LegalHold[]> {
  const holds: LegalHold[] = [];
  for await (const { value } of itemsIn(store, NAMESPACE, false)) holds.push(holdFrom(value));
  return holds.sort((a, b) => (a.placedAt < b.placedAt ? -1 : 1));
}

export async function activeHoldsIn(store: BaseStore): Promise<ActiveHolds> {
  try {
    return new ActiveHolds(await everyHoldIn(store));
  } catch (error) {
    if (isLeftToService(error)) return new ActiveHolds([]);
    throw error;
  }
}

/** Writes a hold, or that it was lifted. */
export async function putHoldIn(store: BaseStore, hold: LegalHold): Promise<void> {
  for (let races = 0; races < MOST_RACES; races++) {
    const known = await store.getItem(NAMESPACE, hold.id);
    const next = laterOf(known && holdFrom(known.value), hold);
    const options = { expectedVersion: known?.version ?? 0, index: false as const };
    try {
      await store.put(NAMESPACE, hold.id, storedHold(next), options);
      return;
    } catch (error) {
      if (!StateError.is(error, "CONFLICT")) throw error;
    }
  }
  throw new StateError("CONFLICT", "the holds of the store are written to without a pause; try again later");
}

/** Takes the person out of lifted holds: for a store that no erasure goes through. */
export async function forgetInHolds(store: BaseStore, matches: (subject: string) => boolean): Promise<void> {
  for await (const { key, value, version } of itemsIn(store, NAMESPACE, false)) {
    const hold = holdFrom(value);
    if (hold.lifted === undefined || hold.subject === undefined || !matches(hold.subject)) continue;
    const { subject: _, ...kept } = storedHold(hold);
    await store.put(NAMESPACE, key, { ...kept, subject: erasedValue }, { expectedVersion: version, index: false });
  }
}

/** The hold that keeps an item from being removed. */
export function holdOnItem(holds: ActiveHolds, item: StoreItem): LegalHold | undefined {
  if (item.namespace[0] === HOLDS) return holds.first;
  if (!holds.hasPeople) return undefined;
  let met: LegalHold | undefined;
  const isHeld = (subject: string): boolean => {
    const hold = holds.onPerson(subject);
    met ??= hold;
    return hold !== undefined;
  };
  if (ownersOf(item.namespace, item.metadata).some(isHeld)) return met;
  new Sweep({ matches: isHeld, isThreadMatched: false, keepsThreadSubject: true, calls: new Set() }).value(
    item.value,
    "value",
  );
  return met;
}

/** Refuses to remove an item that is about somebody under a hold. */
export async function assertItemNotHeld(store: BaseStore, id: ItemId): Promise<void> {
  const holds = await activeHoldsIn(store);
  if (holds.isEmpty) return;
  const item = await store.getItem(id.namespace, id.key);
  const hold = item && holdOnItem(holds, item);
  if (hold !== undefined) throw heldError(`item ${readableId(id)}`, hold);
}

/** Refuses to clear a namespace that holds something about somebody under a hold. */
export async function assertNamespaceNotHeld(
  store: BaseStore,
  namespace: Namespace,
  recursive: boolean,
): Promise<void> {
  const holds = await activeHoldsIn(store);
  if (holds.isEmpty) return;
  for await (const item of itemsIn(store, namespace, recursive)) {
    const hold = holdOnItem(holds, item);
    if (hold !== undefined) throw heldError(`item ${readableId(item)}`, hold);
  }
}

async function* itemsIn(
  store: BaseStore,
  namespace: Namespace,
  recursive: boolean,
): AsyncGenerator<StoreItem, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await store.list(namespace, { recursive, limit: PER_PAGE, ...(cursor !== undefined && { cursor }) });
    const [damaged] = page.warnings;
    // Whom it is about cannot be told, so nobody can say that it is not held.
    if (damaged !== undefined) throw new StateError(damaged.code, damaged.message);
    yield* page;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
