import { newId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import { encodeId, readableId } from "../driver/namespaces.ts";
import type { ItemId } from "../driver/store-driver.ts";
import type { StoreItem, UpdateFunction, UpdateOptions } from "../items/items.ts";
import { isOfTakenId } from "./writing.ts";

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

/**
 * How often, and for how long after the first time, another writer may be faster before we give up. Losing a few
 * times is always allowed, so one slow change that was overtaken once is tried again.
 */
const MOST_RACES = 100;
const LONGEST_RACE_MS = 30_000;
const FEWEST_RACES = 5;
/** The longest random pause before the next attempt, so that losers of one race do not meet again. */
const LONGEST_PAUSE_MS = 50;
/** How long an update waits for the one before it, once that has begun: a slower change is overtaken. */
const LONGEST_TURN_MS = 1_000;

interface Turn {
  readonly begun: Promise<void>;
  readonly ended: Promise<unknown>;
}

/**
 * The updates of one item from this store, one after another: thirty that race each
 * other would read and write nine hundred times. Correctness does not depend on it,
 * so a slow update, or one that waits for an update inside itself, never blocks
 * others for long.
 */
export class UpdateTurns {
  readonly #last = new Map<string, Turn>();

  async take<T>(id: ItemId, work: () => Promise<T>): Promise<T> {
    const name = encodeId(id);
    const before = this.#last.get(name);
    const begun = before === undefined ? Promise.resolve() : overOrLong(before);
    const mine = begun.then(work);
    const turn = { begun, ended: mine.catch(() => undefined) };
    this.#last.set(name, turn);
    try {
      return await mine;
    } finally {
      if (this.#last.get(name) === turn) this.#last.delete(name);
    }
  }
}

async function overOrLong({ begun, ended }: Turn): Promise<void> {
  await begun;
  const enough = new AbortController();
  await Promise.race([ended, sleep(LONGEST_TURN_MS, enough.signal)]);
  enough.abort();
}

/**
 * Reads, changes and writes until no other writer came in between. All attempts share
 * one write id: a refused attempt left nothing under it, and an attempt whose answer
 * was lost is recognised by it, so that a counter counts once. If the caller's own id
 * is taken, this update was made before, whatever it made of the value then; if an id
 * that was made here is taken, another process has the same random numbers: a copy of
 * this one's machine.
 */
export async function updateItem<Value>(
  id: ItemId,
  steps: UpdateSteps<Value>,
  change: UpdateFunction<Value>,
  { writeId: given }: UpdateOptions,
): Promise<StoreItem<Value> | undefined> {
  let writeId = given ?? newId();
  let end = Number.POSITIVE_INFINITY;
  for (let races = 0; races < FEWEST_RACES || (races < MOST_RACES && performance.now() < end); races++) {
    const read = await steps.read();
    const value = await change(read?.value, read);
    if (value === undefined && read === undefined) return undefined;
    try {
      return await steps.write(value, read, writeId);
    } catch (error) {
      if (!StateError.is(error, "CONFLICT")) throw error;
      if (isOfTakenId(error)) {
        if (given !== undefined) return steps.read();
        writeId = newId();
      }
    }
    end = Math.min(end, performance.now() + LONGEST_RACE_MS);
    await sleep(Math.random() * Math.min(races, LONGEST_PAUSE_MS));
  }
  throw new StateError(
    "CONFLICT",
    `update of ${readableId(id)} lost every attempt to other writers. Try again later; nothing was written`,
    { operation: "update", item: readableId(id), written: "no" },
  );
}
