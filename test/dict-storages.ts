import { mkdtemp, open, readdir, readFile, rename, rm, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { DictData, DictStorage } from "../src/checkpoint/dict/dict-storage.ts";

export type CompleteStorage = Required<Omit<DictStorage, "exists" | "close">>;
export type StorageCall = keyof CompleteStorage;

/** JSON texts in a Map. */
export class MapStorage implements CompleteStorage {
  readonly cells: Map<string, string>;

  /** Two storages on the same cells are one storage opened by two processes. */
  constructor(cells: Map<string, string> = new Map()) {
    this.cells = cells;
  }

  async save(key: string, data: DictData): Promise<void> {
    this.cells.set(key, JSON.stringify(data));
  }

  async load(key: string): Promise<object | undefined> {
    const text = this.cells.get(key);
    return text === undefined ? undefined : (JSON.parse(text) as object);
  }

  async delete(key: string): Promise<boolean> {
    return this.cells.delete(key);
  }

  async list(prefix: string): Promise<string[]> {
    return [...this.cells.keys()].filter((key) => key.startsWith(prefix));
  }

  async compareAndSave(key: string, expected: object | undefined, data: DictData | undefined): Promise<boolean> {
    const text = this.cells.get(key);
    if (!isDeepStrictEqual(text === undefined ? undefined : JSON.parse(text), expected)) return false;
    if (data === undefined) this.cells.delete(key);
    else this.cells.set(key, JSON.stringify(data));
    return true;
  }
}

/** Gives the keys of objects back in another order than it got them, as document databases do. */
export class ReorderingStorage extends MapStorage {
  override async load(key: string): Promise<object | undefined> {
    const text = this.cells.get(key);
    return text === undefined ? undefined : (JSON.parse(text, reordered) as object);
  }
}

function reordered(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).reverse());
}

/** One JSON file a key, in a folder of its own; compared and replaced under a lock file. */
export class JsonFileStorage implements CompleteStorage {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  static async create(): Promise<JsonFileStorage> {
    return new JsonFileStorage(await mkdtemp(join(tmpdir(), "holdfast-dict-")));
  }

  async save(key: string, data: DictData): Promise<void> {
    const temporary = `${this.#path(key)}.${Math.random().toString(36).slice(2)}.tmp`;
    await writeFile(temporary, JSON.stringify(data, null, 2), { flag: "wx" });
    await rename(temporary, this.#path(key));
  }

  async load(key: string): Promise<object | null> {
    try {
      return JSON.parse(await readFile(this.#path(key), "utf8")) as object;
    } catch (error) {
      if ((error as { code?: string }).code === "ENOENT") return null;
      throw error;
    }
  }

  async delete(key: string): Promise<void> {
    await rm(this.#path(key), { force: true });
  }

  async *list(prefix: string): AsyncGenerator<string, void, undefined> {
    for (const name of await readdir(this.directory)) {
      if (name.startsWith(prefix) && name.endsWith(".json")) yield name.slice(0, -".json".length);
    }
  }

  async compareAndSave(key: string, expected: object | undefined, data: DictData | undefined): Promise<boolean> {
    const lock = `${this.#path(key)}.lock`;
    for (;;) {
      try {
        await (await open(lock, "wx")).close();
        break;
      } catch (error) {
        if ((error as { code?: string }).code !== "EEXIST") throw error;
      }
    }
    try {
      if (!isDeepStrictEqual((await this.load(key)) ?? undefined, expected)) return false;
      if (data === undefined) await this.delete(key);
      else await this.save(key, data);
      return true;
    } finally {
      await unlink(lock);
    }
  }

  remove(): Promise<void> {
    return rm(this.directory, { recursive: true, force: true });
  }

  #path(key: string): string {
    return join(this.directory, `${key}.json`);
  }
}

/** The same storage without some of the methods that a storage need not have. */
export function without(storage: CompleteStorage, ...missing: ("list" | "compareAndSave")[]): DictStorage {
  const all: DictStorage = observed(storage, () => undefined);
  for (const name of missing) delete all[name];
  return all;
}

/** Called before every call is made; may throw, or wait, or return what is to be done after it. */
export type Observer = (call: StorageCall, key: string) => Promise<(() => void) | undefined> | (() => void) | undefined;

export function observed(storage: CompleteStorage, observe: Observer): CompleteStorage {
  const around = async <T>(call: StorageCall, key: string, work: () => Promise<T>): Promise<T> => {
    const afterwards = await observe(call, key);
    const answer = await work();
    afterwards?.();
    return answer;
  };
  return {
    save: (key, data) => around("save", key, () => storage.save(key, data)),
    load: (key) => around("load", key, () => storage.load(key)),
    delete: (key) => around("delete", key, () => storage.delete(key)),
    list: (prefix) => around("list", prefix, async () => storage.list(prefix)),
    compareAndSave: (key, expected, data) =>
      around("compareAndSave", key, () => storage.compareAndSave(key, expected, data)),
  };
}
