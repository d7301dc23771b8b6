import { newId } from "../driver/new-id.ts";
import { StateError } from "../errors.ts";
import type { StoreItem, UpdateFunction, UpdateOptions } from "./items.ts";
import { readableId } from "./namespaces.ts";
import type { ItemId } from "./store-driver.ts";

/** What an update is made of. */
export interface UpdateSteps<Value> {
  read(): Promise<StoreItem<Value> | undefined>;
  /**
   * Writes the value, or removes the item where there is none; throws `CONFLICT`
   * where the item is not the one that was read. Gives the item as it is now.
   */
  write(
    value: Value | undefined,
    read: StoreItem<Value> | undefined,
    writeId: string,
  ): Promise<StoreItem<Value> | undefined>;
}

/** So often somebody else may be faster before it is given up, and for so long. */
const MOST_RACES = 1000;
const LONGEST_RACE_MS = 5_000;

/**
 * Reads, changes and writes until nobody wrote in between. All attempts have one
 * write id: those that were refused left nothing under it, and an attempt whose
 * answer was lost is recognised by it, so that a counter counts once.
 */
export async function updateItem<Value>(
  id: ItemId,
  steps: UpdateSteps<Value>,
  change: UpdateFunction<Value>,
  { writeId = newId() }: UpdateOptions,
): Promise<StoreItem<Value> | undefined> {
  const end = performance.now() + LONGEST_RACE_MS;
  for (let races = 0; races < MOST_RACES && performance.now() < end; races++) {
    const read = await steps.read();
    const value = await change(read?.value, read);
    if (value === undefined && read === undefined) return undefined;
    try {
      return await steps.write(value, read, writeId);
    } catch (error) {
      if (!StateError.is(error, "CONFLICT")) throw error;
    }
  }
  throw new StateError(
    "CONFLICT",
    `update of ${readableId(id)} came too late every time: somebody writes to it without a pause. Try again later; nothing was written`,
    { operation: "update", item: readableId(id), written: "no" },
  );
}
