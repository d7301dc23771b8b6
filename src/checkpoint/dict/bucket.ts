import {
  BaseObjectBucket,
  type BucketListOptions,
  type FoundObject,
  type ObjectBucket,
} from "../../driver/object-bucket.ts";
import { StateError } from "../../errors.ts";
import { Recent } from "../../internal/recent.ts";
import type { DictData, DictStorage } from "./dict-storage.ts";
import { inTurn } from "./in-turn.ts";
import { dataOf, objectOf, versionOf } from "./stored-value.ts";

/** What was loaded is what a change must name; without it, it is loaded again. */
const BYTES_OF_VALUES_KEPT = 16 * 1024 * 1024;

/**
 * A dict-shaped storage as a bucket, for the names and objects of `DictLayout`: names are keys. Without
 * `compareAndSave` conditions hold in this process alone, where all changes of a key wait for each other.
 */
export class DictBucket extends BaseObjectBucket implements ObjectBucket {
  readonly #storage: DictStorage;
  readonly #loaded = new Recent<{ readonly value: object; readonly version: string }>(BYTES_OF_VALUES_KEPT);

  constructor(storage: DictStorage) {
    super();
    this.#storage = storage;
  }

  async get(key: string): Promise<FoundObject | undefined> {
    const value = (await this.#storage.load(key)) ?? undefined;
    const found = objectOf(key, value);
    if (found !== undefined && value !== undefined) {
      this.#loaded.set(key, { value, version: found.version }, found.bytes.byteLength);
    }
    return found;
  }

  async put(key: string, bytes: Buffer, expected: string | undefined): Promise<string | undefined> {
    const data = dataOf(key, bytes);
    return (await this.#replace(key, expected, data)) ? versionOf(data) : undefined;
  }

  async delete(key: string): Promise<void> {
    this.#loaded.delete(key);
    await this.#storage.delete(key);
  }

  override async deleteIf(key: string, version: string): Promise<boolean> {
    return (await this.#replace(key, version, undefined)) || (await this.get(key)) === undefined;
  }

  /** All at once, because a storage returns them in any order. */
  async *list({ prefix, startAfter = "", end }: BucketListOptions): AsyncGenerator<readonly string[]> {
    const keys = new Set<string>();
    const listed = await this.#storage.list?.(prefix);
    if (typeof listed !== "object" || listed === null) throw notKeys();
    for await (const key of listed) {
      if (typeof key !== "string") throw notKeys();
      if (key.startsWith(prefix) && key > startAfter && (end === undefined || key < end)) keys.add(key);
    }
    yield [...keys].sort();
  }

  #replace(key: string, expected: string | undefined, data: DictData | undefined): Promise<boolean> {
    const { compareAndSave } = this.#storage;
    if (compareAndSave === undefined) return inTurn(this.#storage, key, () => this.#replaceInTurn(key, expected, data));
    return this.#compareAndSave(key, expected, data);
  }

  async #compareAndSave(key: string, expected: string | undefined, data: DictData | undefined): Promise<boolean> {
    // To be refused once may mean that another process has just made and deleted the key.
    for (let refusals = 0; refusals < 2; refusals++) {
      const there = refusals === 0 ? await this.#expected(key, expected) : await this.#load(key);
      if (there?.version !== expected) return false;
      this.#loaded.delete(key);
      if ((await this.#storage.compareAndSave?.(key, there?.value, data)) === true) return true;
    }
    throw refusedWithoutReason(key);
  }

  async #replaceInTurn(key: string, expected: string | undefined, data: DictData | undefined): Promise<boolean> {
    const there = await this.#load(key);
    if (there?.version !== expected) return false;
    this.#loaded.delete(key);
    if (data === undefined) await this.#storage.delete(key);
    else await this.#storage.save(key, data);
    return true;
  }

  /** What a change that expects this version has to name: it is not asked for if it was loaded before, or is to be absent. */
  async #expected(key: string, version: string | undefined): Promise<{ value: object; version: string } | undefined> {
    if (version === undefined) return undefined;
    const loaded = this.#loaded.get(key);
    return loaded?.version === version ? loaded : this.#load(key);
  }

  async #load(key: string): Promise<{ value: object; version: string } | undefined> {
    const value = (await this.#storage.load(key)) ?? undefined;
    const version = objectOf(key, value)?.version;
    return value === undefined || version === undefined ? undefined : { value, version };
  }
}

const notKeys = (): TypeError =>
  new TypeError("the storage's list() must return its keys as strings, in a list, an iterable or an async iterable");

const refusedWithoutReason = (key: string): StateError =>
  new StateError(
    "UNAVAILABLE",
    `the storage's compareAndSave refused a change of the key ${JSON.stringify(key)} though load still returns what was expected. It must compare by value, and load must see the latest save`,
    { location: key },
  );
