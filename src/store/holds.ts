import { StateError } from "../errors.ts";
import { Sweep } from "../state/people/erasing.ts";
import {
  ActiveHolds,
  HOLDS,
  heldError,
  holdFrom,
  isLeftToService,
  type LegalHold,
  laterOf,
  storedHold,
} from "../state/people/legal-hold.ts";
import { erasedValue } from "../state/people/subjects.ts";
import type { BaseStore } from "./base-store.ts";
import { ownersOf, readableId } from "./driver/namespaces.ts";
import type { ItemId, Namespace, RemoveChange } from "./driver/store-driver.ts";
import { writeTerms } from "./driver/write-terms.ts";
import type { StoreItem } from "./items/items.ts";

/**
 * Legal holds, in a namespace of the package's own in the store of what they hold. Only
 * those on people concern items. They are read before each removal and never cached: a
 * hold is placed without knowing which removals run at that moment. Each that was
 * placed is followed by a mark, numbered from 1. A removal is made in one step with a
 * change that needs the next number to be free, so it is refused if a hold was placed
 * since it read the list.
 *
 *   holdfast:holds / !00000001   a mark
 *   holdfast:holds / ID          a hold
 */

const NAMESPACE: Namespace = [HOLDS];
const PER_PAGE = 500;
const MOST_RACES = 100;

/** Before the names of holds in any order, so that a reading of all of them meets the marks first. */
const MARK = "!";
const markKey = (number: number): string => `${MARK}${String(number).padStart(8, "0")}`;

/** Every hold that was ever placed, in the order of their times. */
export const everyHoldIn = async (store: BaseStore): Promise<readonly LegalHold[]> => (await readList(store)).holds;

async function readList(store: BaseStore): Promise<{ readonly holds: readonly LegalHold[]; readonly marks: number }> {
  const holds: LegalHold[] = [];
  let marks = 0;
  for await (const { key, value } of itemsIn(store, NAMESPACE, false)) {
    if (key.startsWith(MARK)) marks = Number(key.slice(MARK.length));
    else holds.push(holdFrom(value));
  }
  return { holds: holds.sort((a, b) => (a.placedAt < b.placedAt ? -1 : 1)), marks };
}

/** The holds as they were read, and what a removal has to do in the same step. */
export interface SeenHolds {
  readonly holds: ActiveHolds;
  /** Changes nothing, and is refused by the storage if a hold was placed since. */
  readonly unplaced: RemoveChange | undefined;
}

export async function seenHoldsIn(store: BaseStore): Promise<SeenHolds> {
  try {
    const { holds, marks } = await readList(store);
    const next = { namespace: NAMESPACE, key: markKey(marks + 1) };
    const { writeKey, digest } = writeTerms(next, undefined, "removed");
    const unplaced = { kind: "remove", ...next, expected: null, writeKey, digest } as const;
    return { holds: new ActiveHolds(holds), unplaced };
  } catch (error) {
    if (isLeftToService(error)) return { holds: new ActiveHolds([]), unplaced: undefined };
    throw error;
  }
}

export const activeHoldsIn = async (store: BaseStore): Promise<ActiveHolds> => (await seenHoldsIn(store)).holds;

/** Writes a hold, or that it was lifted. When it returns, the hold also counts for removals that were under way. */
export async function putHoldIn(store: BaseStore, hold: LegalHold): Promise<void> {
  for (let races = 0; races < MOST_RACES; races++) {
    const known = await store.getItem(NAMESPACE, hold.id);
    const next = laterOf(known && holdFrom(known.value), hold);
    const options = { expectedVersion: known?.version ?? null, index: false as const };
    if (!(await isWritten(store.put(NAMESPACE, hold.id, storedHold(next), options)))) continue;
    if (next.lifted === undefined) await putMark(store);
    return;
  }
  throw alwaysOvertaken();
}

/** Takes the next free number: a removal that read the list before is refused. */
async function putMark(store: BaseStore): Promise<void> {
  let { marks } = await readList(store);
  for (let races = 0; races < MOST_RACES; races++) {
    const options = { expectedVersion: null, index: false as const };
    if (await isWritten(store.put(NAMESPACE, markKey(++marks), { kind: "mark" }, options))) return;
  }
  throw alwaysOvertaken();
}

/** False where another one was faster. */
async function isWritten(writing: Promise<unknown>): Promise<boolean> {
  try {
    await writing;
    return true;
  } catch (error) {
    if (StateError.is(error, "CONFLICT")) return false;
    throw error;
  }
}

const alwaysOvertaken = (): StateError =>
  new StateError("CONFLICT", "the holds of the store are written to without a pause; try again later");

/** Takes the person out of lifted holds: for a store that no erasure goes through. */
export async function forgetInHolds(store: BaseStore, matches: (subject: string) => boolean): Promise<void> {
  for await (const { key, value, version } of itemsIn(store, NAMESPACE, false)) {
    if (key.startsWith(MARK)) continue;
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
  new Sweep({ matches: isHeld }).value([item.value, item.metadata], "item");
  return met;
}

/**
 * Refuses to remove an item that is about a person under a hold. Where there are holds,
 * it returns which version it looked into: `null` for no item.
 */
export async function assertItemNotHeld(
  store: BaseStore,
  id: ItemId,
): Promise<{ readonly seen: SeenHolds; readonly version: string | null | undefined }> {
  const seen = await seenHoldsIn(store);
  if (seen.holds.isEmpty) return { seen, version: undefined };
  const item = await store.getItem(id.namespace, id.key);
  const hold = item && holdOnItem(seen.holds, item);
  if (hold !== undefined) throw heldError(`item ${readableId(id)}`, hold);
  return { seen, version: item?.version ?? null };
}

/**
 * Refuses to clear a namespace with items about a person under a hold. What it returns
 * is passed again before the next part is cleared: then the items are looked at only if
 * a hold was placed since.
 */
export async function assertNamespaceNotHeld(
  store: BaseStore,
  namespace: Namespace,
  recursive: boolean,
  before: SeenHolds | undefined,
): Promise<SeenHolds> {
  const seen = await seenHoldsIn(store);
  const isAsBefore = before !== undefined && before.unplaced?.key === seen.unplaced?.key;
  if (seen.holds.isEmpty || isAsBefore) return seen;
  for await (const item of itemsIn(store, namespace, recursive)) {
    const hold = holdOnItem(seen.holds, item);
    if (hold !== undefined) throw heldError(`item ${readableId(item)}`, hold);
  }
  return seen;
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
    // Whom it is about cannot be read, so it counts as held.
    if (damaged !== undefined) throw new StateError(damaged.code, damaged.message);
    yield* page;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
