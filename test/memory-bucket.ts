import { randomBytes } from "node:crypto";
import { BucketLog } from "../src/checkpoint/bucket-log/log.ts";
import {
  BaseObjectBucket,
  type BucketListOptions,
  type FoundObject,
  type ObjectBucket,
} from "../src/driver/object-bucket.ts";

interface MemoryBucketOptions {
  readonly honoursDeletion?: boolean;
  readonly maxObjectBytes?: number;
}

/** The rules of an object store in memory, with every request counted. */
export class MemoryBucket extends BaseObjectBucket implements ObjectBucket {
  readonly objects: Map<string, FoundObject> = new Map();
  readonly requests: { readonly kind: "get" | "put" | "delete" | "list"; readonly bytes: number }[] = [];
  /** Requests that wait together are one round: how often something was awaited before the next could be asked. */
  rounds = 0;
  override readonly maxObjectBytes: number;
  readonly #honoursDeletion: boolean;
  #round: Promise<void> | undefined;

  constructor({ honoursDeletion = true, maxObjectBytes = Number.POSITIVE_INFINITY }: MemoryBucketOptions = {}) {
    super();
    this.maxObjectBytes = maxObjectBytes;
    this.#honoursDeletion = honoursDeletion;
  }

  async get(name: string): Promise<FoundObject | undefined> {
    await this.#request("get", 0);
    return this.objects.get(name);
  }

  async put(name: string, bytes: Buffer, expected: string | undefined): Promise<string | undefined> {
    await this.#request("put", bytes.byteLength);
    const found = this.objects.get(name);
    if (found?.version !== expected) return undefined;
    if (bytes.byteLength > this.maxObjectBytes) throw new Error(`${bytes.byteLength} bytes are too many`);
    const version = randomBytes(8).toString("hex");
    this.objects.set(name, { bytes: Buffer.from(bytes), version });
    return version;
  }

  async delete(name: string): Promise<void> {
    await this.#request("delete", 0);
    this.objects.delete(name);
  }

  override async deleteIf(name: string, version: string): Promise<boolean> {
    if (!this.#honoursDeletion) return false;
    await this.#request("delete", 0);
    const found = this.objects.get(name);
    if (found?.version === version) this.objects.delete(name);
    return found === undefined || found.version === version;
  }

  async *list({ prefix, startAfter = "", end, pageSize = 1000 }: BucketListOptions): AsyncGenerator<string[]> {
    for (let after = startAfter; ; ) {
      await this.#request("list", 0);
      const all = [...this.objects.keys()].filter((name) => name.startsWith(prefix) && name > after).sort();
      yield all.slice(0, pageSize).filter((name) => end === undefined || name < end);
      if (all.length <= pageSize) return;
      after = all[pageSize - 1] ?? after;
    }
  }

  override mayHaveWritten(): boolean {
    return false;
  }

  async #request(kind: "get" | "put" | "delete" | "list", bytes: number): Promise<void> {
    this.requests.push({ kind, bytes });
    this.#round ??= new Promise((resolve) => {
      setImmediate(() => {
        this.rounds++;
        this.#round = undefined;
        resolve();
      });
    });
    await this.#round;
  }
}

export const logOn = (bucket: MemoryBucket): BucketLog =>
  new BucketLog(
    {
      name: "bucket",
      durability: "memory",
      open: async () => bucket,
      classify: () => undefined,
    },
    "",
  );
