import { newId } from "../driver/new-id.ts";
import { StateError } from "../errors.ts";
import { sleep } from "../internal/sleep.ts";
import type { StoreItem, UpdateFunction, UpdateOptions } from "./items.ts";
import { encodeId, readableId } from "./namespaces.ts";
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
/** A pause of this length at most before the next race: those who lost together do not meet again. */
const LONGEST_PAUSE_MS = 50;
/** So long an update waits for the one before it: a change that takes longer is overtaken. */
const LONGEST_TURN_MS = 250;

/**
 * The updates of one item from this store, one behind the other: thirty that race
 * each other would read and write nine hundred times. Nobody relies on it, so a
 * slow one, or one that waits for an update inside itself, holds up no other for long.
 */
export class UpdateTurns {
  readonly #last = new Map<string, Promise<unknown>>();

  async take<T>(id: ItemId, work: () => Promise<T>): Promise<T> {
    const name = encodeId(id);
    const before = this.#last.get(name);
    const mine = before === undefined ? work() : this.#after(before).then(work);
    const ended = mine.catch(() => undefined);
    this.#last.set(name, ended);
    try {
      return await mine;
    } finally {
      if (this.#last.get(name) === ended) this.#last.delete(name);
    }
  }

  async #after(before: Promise<unknown>): Promise<void> {
    const enough = new AbortController();
    await Promise.race([before, sleep(LONGEST_TURN_MS, enough.signal)]);
    enough.abort();
  }
}

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
    await sleep(Math.random() * Math.min(races, LONGEST_PAUSE_MS));
  }
  throw new StateError(
    "CONFLICT",
    `update of ${readableId(id)} came too late every time: somebody writes to it without a pause. Try again later; nothing was written`,
    { operation: "update", item: readableId(id), written: "no" },
  );
}
