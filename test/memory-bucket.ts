import { randomBytes } from "node:crypto";
import { BucketLog } from "../src/checkpoint/bucket-log/log.ts";
import type { Condition, FoundObject, ListOptions, ObjectBucket } from "../src/checkpoint/bucket-log/object-bucket.ts";

/** The rules of an object store in memory, with every request counted. */
export class MemoryBucket implements ObjectBucket {
  readonly objects: Map<string, FoundObject> = new Map();
  readonly requests: { readonly kind: "get" | "put" | "delete" | "list"; readonly bytes: number }[] = [];
  /** Requests that wait together are one round: how often something was awaited before the next could be asked. */
  rounds = 0;
  readonly #honoursDeletion: boolean;
  #round: Promise<void> | undefined;

  constructor({ honoursDeletion = true }: { readonly honoursDeletion?: boolean } = {}) {
    this.#honoursDeletion = honoursDeletion;
  }

  async get(name: string): Promise<FoundObject | undefined> {
    await this.#request("get", 0);
    return this.objects.get(name);
  }

  async put(name: string, bytes: Buffer, condition: Condition): Promise<string | undefined> {
    await this.#request("put", bytes.byteLength);
    const found = this.objects.get(name);
    const holds = "ifMatch" in condition ? found?.etag === condition.ifMatch : found === undefined;
    if (!holds) return undefined;
    const etag = randomBytes(8).toString("hex");
    this.objects.set(name, { bytes: Buffer.from(bytes), etag });
    return etag;
  }

  async delete(name: string): Promise<void> {
    await this.#request("delete", 0);
    this.objects.delete(name);
  }

  async deleteIf(name: string, etag: string): Promise<boolean> {
    if (!this.#honoursDeletion) return false;
    await this.#request("delete", 0);
    if (this.objects.get(name)?.etag !== etag) return false;
    return this.objects.delete(name);
  }

  async *list({ prefix, startAfter = "", end, delimiter, limit = 1000 }: ListOptions): AsyncGenerator<string[]> {
    for (let after = startAfter; ; ) {
      await this.#request("list", 0);
      const all = [...this.objects.keys()].filter((name) => name.startsWith(prefix) && name > after).sort();
      const names = all.slice(0, limit).filter((name) => end === undefined || name < end);
      yield delimiter === undefined ? names : foldersIn(names, prefix);
      if (all.length <= limit) return;
      after = all[limit - 1] ?? after;
    }
  }

  mayHaveWritten(): boolean {
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

const foldersIn = (names: readonly string[], prefix: string): string[] => [
  ...new Set(names.map((name) => `${prefix}${name.slice(prefix.length).split("/")[0]}/`)),
];

export const logOn = (bucket: MemoryBucket): BucketLog =>
  new BucketLog(
    {
      name: "bucket",
      durability: "memory",
      open: async () => ({ bucket, close: () => undefined }),
      classify: () => undefined,
    },
    "",
  );
