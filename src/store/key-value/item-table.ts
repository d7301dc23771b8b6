import type { Access } from "../../driver/access.ts";
import type { ObjectBucket } from "../../driver/object-bucket.ts";
import { StateError } from "../../errors.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import { sleep } from "../../internal/time.ts";
import { type ItemId, WRITES_REMEMBERED_MS } from "../driver/store-driver.ts";
import {
  emptyObject,
  type ItemObject,
  type PendingWrite,
  pack,
  packItem,
  type RememberedWrite,
  settled,
  unpack,
  unpackItem,
  withdrawn,
  writesFromJson,
  writesToJson,
} from "./item-object.ts";
import { type Layout, newRandomName } from "./layout.ts";

/** An item's object as it was met. */
export interface FoundItem {
  readonly name: string;
  /** Of the object; `undefined` if there is none. */
  readonly version: string | undefined;
  /** Says nothing of an item where there is no object, or none that can be read. */
  readonly object: ItemObject;
  /** Why the object cannot be read. */
  readonly trouble: StateError | undefined;
}

/** What a batch object says. */
export type BatchState = "open" | "committed" | "aborted";

export interface FoundBatch {
  readonly version: string;
  readonly state: BatchState;
  /** Names of the objects that it writes. */
  readonly names: readonly string[];
}

/** For a pending write that another caller leaves behind again and again: each has the bound that it asks for. */
const LONGEST_PATIENCE_MS = 60_000;
const LONGEST_LOOK_MS = 100;
/** Each time, another write is pending, or another process settled this one. */
const MOST_TURNS = 1000;

/** The objects of a bucket as items, and the one place that decides what becomes of a pending write. */
export class ItemTable {
  readonly bucket: ObjectBucket;
  readonly layout: Layout;
  readonly #mayWrite: boolean;
  /** What the names of this instance's attempts begin with. */
  readonly #mine = nodeCrypto().randomBytes(6).toString("hex");
  readonly #running = new Set<string>();

  constructor(bucket: ObjectBucket, layout: Layout, access: Access) {
    this.bucket = bucket;
    this.layout = layout;
    this.#mayWrite = access === "write";
  }

  get mayWrite(): boolean {
    return this.#mayWrite;
  }

  /** A name for an attempt at a write; `endAttempt` must follow. */
  beginAttempt(): string {
    const attempt = this.#mine + newRandomName();
    this.#running.add(attempt);
    return attempt;
  }

  endAttempt(attempt: string): void {
    this.#running.delete(attempt);
  }

  async find(name: string): Promise<FoundItem> {
    const found = await this.bucket.get(name);
    const nothing = emptyObject(this.layout.shownId(name));
    if (found === undefined) return { name, version: undefined, object: nothing, trouble: undefined };
    const { bytes, version } = found;
    try {
      const object = unpackItem(name, bytes, (id) => this.layout.item(id) === name);
      return { name, version, object, trouble: undefined };
    } catch (error) {
      if (StateError.is(error)) return { name, version, object: nothing, trouble: error };
      throw error;
    }
  }

  /** The item as a reader sees it: with all writes that count, and none that does not. */
  async read(name: string): Promise<FoundItem> {
    return this.#decided(await this.find(name), false);
  }

  /**
   * The same without anything pending in its object, so that it can be written. A caller that keeps others waiting
   * meanwhile says by which attempt: of two that wait for each other, one must give the other up at once.
   */
  async readToWrite(name: string, holding?: string): Promise<FoundItem> {
    return this.#decided(await this.find(name), true, holding);
  }

  /** Writes the object if it is still the one that was found; `undefined` if it is not. */
  async put(found: FoundItem, object: ItemObject): Promise<FoundItem | undefined> {
    const version = await this.putBytes(found.name, packItem(object), found.version);
    return version === undefined ? undefined : { name: found.name, version, object, trouble: undefined };
  }

  /** The same for any bytes. */
  async putBytes(name: string, bytes: Buffer, expected: string | undefined): Promise<string | undefined> {
    const { maxObjectBytes } = this.bucket;
    if (bytes.byteLength > maxObjectBytes) {
      throw new StateError(
        "TOO_LARGE",
        `the item with its words, its vector and what a write needs has ${bytes.byteLength} bytes; this storage takes ${maxObjectBytes}. Index less of it, or split it`,
      );
    }
    return this.bucket.put(name, bytes, expected);
  }

  /** Takes the pending write back; false if another writer was there before. */
  async withdraw(found: FoundItem): Promise<boolean> {
    const object = withdrawn(found.object);
    if (object.item !== undefined || object.writes.length > 0) return (await this.put(found, object)) !== undefined;
    return (await this.discard(found)) || (await this.put(found, object)) !== undefined;
  }

  /** Deletes an object that says nothing any more; false if it is another one by now, or if the bucket cannot tell. */
  async discard({ name, version }: FoundItem): Promise<boolean> {
    return version === undefined || this.bucket.deleteIf(name, version);
  }

  async findBatch(attempt: string): Promise<FoundBatch | undefined> {
    const name = this.layout.batches + attempt;
    const found = await this.bucket.get(name);
    if (found === undefined) return undefined;
    const { state, names } = unpack(name, found.bytes) as unknown as Omit<FoundBatch, "version">;
    return { version: found.version, state, names };
  }

  async putBatch(
    attempt: string,
    state: BatchState,
    names: readonly string[],
    expected?: string,
  ): Promise<string | undefined> {
    return this.putBytes(this.layout.batches + attempt, pack({ state, names, revision: newRandomName() }), expected);
  }

  async deleteBatch(attempt: string): Promise<void> {
    await this.bucket.delete(this.layout.batches + attempt);
  }

  /** The writes of an item whose object is gone. */
  async writesOfRemoved(id: ItemId, now: number): Promise<readonly RememberedWrite[]> {
    const name = this.layout.writesOfRemoved(id);
    const found = await this.bucket.get(name);
    if (found === undefined) return [];
    return recent(writesFromJson(unpack(name, found.bytes)["writes"]), now);
  }

  /** Keeps the writes of an item under a hash of its name, so that its object can go. */
  async keepWrites(id: ItemId, writes: readonly RememberedWrite[]): Promise<void> {
    const name = this.layout.writesOfRemoved(id);
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      const found = await this.bucket.get(name);
      const there = found === undefined ? [] : writesFromJson(unpack(name, found.bytes)["writes"]);
      const known = new Set(writes.map(({ key }) => key));
      const all = writesToJson([...there.filter(({ key }) => !known.has(key)), ...writes]);
      const bytes = pack({ writes: all, revision: newRandomName() });
      if ((await this.putBytes(name, bytes, found?.version)) !== undefined) return;
    }
    throw neverStill(name);
  }

  /** Deletes what `keepWrites` kept where none of it can be repeated any more. */
  async forgetWrites(name: string, now: number): Promise<void> {
    const found = await this.bucket.get(name);
    if (found === undefined) return;
    const writes = recent(writesFromJson(unpack(name, found.bytes)["writes"]), now);
    if (writes.length === 0) await this.bucket.deleteIf(name, found.version);
  }

  async #decided(found: FoundItem, isToWrite: boolean, holding?: string): Promise<FoundItem> {
    try {
      return await this.#decide(found, isToWrite, holding);
    } catch (error) {
      // Whether its pending write counts cannot be told: that is this item's trouble.
      if (StateError.is(error, "CORRUPT") || StateError.is(error, "INCOMPATIBLE")) return { ...found, trouble: error };
      throw error;
    }
  }

  async #decide(first: FoundItem, isToWrite: boolean, holding: string | undefined): Promise<FoundItem> {
    let found = first;
    let [waited, waitedFor] = [0, ""];
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      const { pending } = found.object;
      if (pending === undefined) return found;
      if (pending.attempt !== waitedFor) [waited, waitedFor] = [0, pending.attempt];
      const batch = pending.isBatch ? await this.findBatch(pending.attempt) : undefined;
      const isOpen = pending.isBatch ? batch?.state === "open" : true;
      if (batch?.state === "committed") {
        if (!this.#mayWrite) return { ...found, object: settled(found.object) };
        found = (await this.put(found, settled(found.object))) ?? (await this.find(found.name));
      } else if (!isOpen) {
        // It may have been committed, finished and taken away since the object was read.
        const now = await this.find(found.name);
        const isAsBefore = now.version === found.version;
        if (isAsBefore && !this.#mayWrite) return { ...found, object: withdrawn(found.object) };
        if (isAsBefore) await this.withdraw(found);
        found = isAsBefore ? await this.find(found.name) : now;
      } else if (!this.#mayWrite || (!isToWrite && !pending.isConditional)) {
        return { ...found, object: withdrawn(found.object) };
      } else if (waited < this.#patienceWith(pending, holding)) {
        const pause = Math.min(LONGEST_LOOK_MS, 5 + waited / 2);
        await sleep(pause);
        waited += pause;
        found = await this.find(found.name);
      } else {
        if (batch === undefined) await this.withdraw(found);
        else await this.putBatch(pending.attempt, "aborted", batch.names, batch.version);
        found = await this.find(found.name);
      }
    }
    throw neverStill(first.name);
  }

  #patienceWith({ attempt, patienceMs }: PendingWrite, holding: string | undefined): number {
    if (holding !== undefined && holding < attempt) return 0;
    // An attempt of this instance that has ended without an answer cannot count any more unless it does already.
    if (attempt.startsWith(this.#mine) && !this.#running.has(attempt)) return 0;
    return Math.min(patienceMs, LONGEST_PATIENCE_MS);
  }
}

/** Those that can still be repeated. */
export const recent = (writes: readonly RememberedWrite[], now: number): readonly RememberedWrite[] =>
  writes.filter(({ at }) => at + WRITES_REMEMBERED_MS >= now);

export const neverStill = (name: string): StateError =>
  new StateError("UNAVAILABLE", `the object ${name} did not hold still: other processes change it all the time`, {
    location: name,
  });
