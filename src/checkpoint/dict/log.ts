import type { Durability } from "../../driver/durability.ts";
import { BucketLog } from "../bucket-log/log.ts";
import { classify } from "./classify.ts";
import type { DictStorage } from "./dict-storage.ts";

export interface DictLogOptions {
  readonly name: string;
  readonly durability: Durability;
  readonly maxRecordBytes: number;
}

/** The log of object stores, in a dict-shaped storage. */
export class DictLog extends BucketLog {
  readonly #storage: DictStorage;
  #isClosed = false;

  constructor(storage: DictStorage, options: DictLogOptions) {
    const conditional = storage.compareAndSave !== undefined;
    const lists = storage.list !== undefined;
    const open = async () => new (await import("./bucket.ts")).DictBucket(storage);
    super(
      { ...options, conditional, lists, open, classify },
      async () => new (await import("./layout.ts")).DictLayout(),
    );
    this.#storage = storage;
  }

  /** The storage was opened before it was handed in, so it is closed also where it was never asked. */
  override async close(): Promise<void> {
    await super.close();
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#storage.close?.();
  }
}
