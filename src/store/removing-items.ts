import { StateError } from "../errors.ts";
import type { BaseStore } from "./base-store.ts";
import { readableId } from "./driver/namespaces.ts";
import type { Change, ChangeResult, ItemId, RemoveChange } from "./driver/store-driver.ts";
import { writeTerms } from "./driver/write-terms.ts";
import { assertItemNotHeld, type SeenHolds } from "./holds.ts";
import type { PutEntry, WriteOptions } from "./items/items.ts";
import type { StoreAccess } from "./items/store-access.ts";
import { conflict, writeItems, writingContextOf } from "./writing/writing.ts";

/**
 * A writer that keeps placing holds, or keeps changing the item, must not keep a removal from
 * ending.
 */
const MOST_RACES = 100;

/**
 * Removes an item unless a legal hold keeps it, also one that is placed while this
 * is under way: the item goes only if no hold was placed since the holds were read.
 */
export async function removeItem(
  store: BaseStore,
  access: StoreAccess,
  operation: string,
  id: ItemId,
  options: WriteOptions,
): Promise<ChangeResult> {
  const { expectedVersion } = options;
  const { writeKey, digest } = writeTerms(id, options.writeId, "removed");
  const place = { operation, item: readableId(id) };
  for (let races = 0; races < MOST_RACES; races++) {
    const { seen, version } = await assertItemNotHeld(store, id);
    const change: RemoveChange = {
      kind: "remove",
      ...id,
      expected: expectedVersion === undefined ? version : expectedVersion,
      writeKey,
      digest,
    };
    await access.connect({ operation });
    const changes = [change, ...unlessHeldSince(access, seen)];
    const outcome = await access.write(place, changes);
    if (outcome.applied) {
      const [result] = outcome.results;
      if (result === undefined) throw new TypeError("a driver's write() answers with a result for each change");
      return result;
    }
    if (outcome.index === 0 && (expectedVersion !== undefined || outcome.because === "write key")) {
      throw conflict(access, operation, change, outcome);
    }
  }
  throw new StateError(
    "CONFLICT",
    `${place.item} is written to, or holds are placed, without a pause; try again later. Nothing was removed`,
    { item: place.item, written: "no" },
  );
}

/**
 * Replaces an item that was read before these holds were. False if it was written
 * meanwhile, or if a hold was placed: then nothing is written.
 */
export async function replaceUnlessHeld(
  store: BaseStore,
  entry: Pick<PutEntry, "namespace" | "key" | "value" | "metadata" | "expectedVersion">,
  seen: SeenHolds,
): Promise<boolean> {
  const context = writingContextOf(store);
  const { namespace, key, value, ...options } = entry;
  try {
    if (context === undefined) await store.put(namespace, key, value, options);
    else await writeItems(context, "put", [entry], undefined, { together: unlessHeldSince(context.access, seen) });
    return true;
  } catch (error) {
    if (StateError.is(error, "CONFLICT")) return false;
    throw error;
  }
}

/** What refuses a write together with which it is made, where a hold was placed since. A storage without transactions cannot. */
const unlessHeldSince = ({ driver }: StoreAccess, { unplaced }: SeenHolds): readonly Change[] =>
  driver.capabilities.transactions && unplaced !== undefined ? [unplaced] : [];
