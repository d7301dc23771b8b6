import { createHash } from "node:crypto";
import { type Access, noStoreHere } from "../../driver/access.ts";
import type { ScrubReport } from "../../driver/driver.ts";
import {
  BaseObjectBucket,
  type BucketListOptions,
  etagOf,
  type FoundObject,
  type ObjectBucket,
} from "../../driver/object-bucket.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import { StateError } from "../../errors.ts";
import { isAmbiguous, isBucketAbsent, isObjectAbsent, isRefused, OciFailure } from "./classify.ts";
import type { ObjectListing, ObjectStorageClientShape } from "./connect.ts";
import { deleteOlderVersions, type VersionedBucket } from "./older-versions.ts";
import type { OciTransport } from "./transport.ts";

export interface BucketPlace {
  readonly bucketName: string;
  /** The tenancy's Object Storage namespace; looked up if not given. */
  readonly namespace: string | undefined;
  /** The compartment in which a missing bucket is created. Without it, the bucket is not created. */
  readonly compartmentId: string | undefined;
  /** With "read" the bucket is never created. @default "write" */
  readonly access?: Access;
}

/** One bucket, with the few operations that are needed. Only a missing object is an answer; all other failures are thrown. */
export class OciBucket extends BaseObjectBucket implements ObjectBucket {
  readonly #client: ObjectStorageClientShape;
  readonly #transport: OciTransport;
  readonly #place: BucketPlace & { readonly ownsClient: boolean };
  readonly #namespace: OpenOnce<string> = new OpenOnce(() => this.#findNamespace());

  constructor(
    client: ObjectStorageClientShape,
    transport: OciTransport,
    place: BucketPlace & { readonly ownsClient: boolean },
  ) {
    super();
    this.#client = client;
    this.#transport = transport;
    this.#place = place;
  }

  async get(objectName: string): Promise<FoundObject | undefined> {
    try {
      return await this.#request(async (place) => {
        const { value, eTag } = await this.#client.getObject({ ...place, objectName });
        return { bytes: await bytesOf(value), version: etagOf(eTag) };
      });
    } catch (error) {
      if (isObjectAbsent(error)) return undefined;
      throw error;
    }
  }

  async put(objectName: string, bytes: Buffer, expected: string | undefined): Promise<string | undefined> {
    const contentMD5 = createHash("md5").update(bytes).digest("base64");
    const body = { putObjectBody: bytes, contentLength: bytes.byteLength, contentMD5 };
    try {
      const type = { contentType: "application/octet-stream" };
      const condition = expected === undefined ? { ifNoneMatch: "*" } : { ifMatch: expected };
      const request = { objectName, ...body, ...type, ...condition };
      return await this.#request(async (place) =>
        etagOf((await this.#client.putObject({ ...place, ...request })).eTag),
      );
    } catch (error) {
      // With `If-Match`, a missing object also fails the condition.
      if (isRefused(error) || (expected !== undefined && isObjectAbsent(error))) return undefined;
      throw error;
    }
  }

  async delete(objectName: string): Promise<void> {
    try {
      await this.#request((place) => this.#client.deleteObject({ ...place, objectName }));
    } catch (error) {
      if (!isObjectAbsent(error)) throw error;
    }
  }

  override async deleteIf(objectName: string, ifMatch: string): Promise<boolean> {
    try {
      await this.#request((place) => this.#client.deleteObject({ ...place, objectName, ifMatch }));
      return true;
    } catch (error) {
      if (isObjectAbsent(error)) return true;
      if (isRefused(error)) return false;
      throw error;
    }
  }

  override mayHaveWritten(error: unknown): boolean {
    return isAmbiguous(error);
  }

  /** All pages, in byte order of the names. */
  async *list(options: BucketListOptions): AsyncGenerator<readonly string[], void, undefined> {
    const { prefix, startAfter, end, pageSize } = options;
    const always = {
      prefix,
      ...(end !== undefined && { end }),
      ...(pageSize !== undefined && { limit: pageSize }),
      fields: "name",
    };
    let from: object = startAfter === undefined ? {} : { startAfter };
    for (;;) {
      const request = { ...always, ...from };
      const page: ObjectListing = await this.#request(
        async (place) => (await this.#client.listObjects({ ...place, ...request })).listObjects,
      );
      yield page.objects.map(({ name }) => name);
      const next = page.nextStartWith;
      if (next === undefined || next === null || next === "") return;
      from = { start: next };
    }
  }

  override deleteOlderVersions(prefix: string): Promise<ScrubReport> {
    // A bucket that is not there must not be made for this.
    const send = async <T>(call: (place: object) => Promise<T>): Promise<T> => {
      const place = { namespaceName: await this.#namespace.get(), bucketName: this.#place.bucketName };
      return this.#transport.request((retryConfiguration) => call({ ...place, retryConfiguration }));
    };
    const versioned: VersionedBucket = {
      listVersions: (below, page) =>
        send(async (place) => {
          const request = { ...place, prefix: below, ...(page !== undefined && { page }) };
          const listing = await this.#client.listObjectVersions?.(request);
          if (listing === undefined) throw new StateError("UNSUPPORTED", "the client cannot list versions of objects");
          return { versions: listing.objectVersionCollection.items, next: listing.opcNextPage || undefined };
        }),
      currentVersion: (objectName) =>
        send(async (place) => {
          // Not HEAD, whose answer has no body: it would not tell a deleted object from one that must not be read.
          const { value, versionId } = await this.#client.getObject({ ...place, objectName });
          await bytesOf(value);
          if (versionId) return versionId;
          throw new StateError("UNSUPPORTED", "the service does not say which version an object is");
        }).catch((error: unknown) => {
          if (isObjectAbsent(error)) return undefined;
          throw error;
        }),
      deleteVersion: (objectName, versionId) =>
        send(async (place) => void (await this.#client.deleteObject({ ...place, objectName, versionId }))),
    };
    return deleteOlderVersions(versioned, prefix);
  }

  override async close(): Promise<void> {
    if (this.#place.ownsClient) this.#client.close?.();
  }

  async #request<T>(call: (place: object) => Promise<T>): Promise<T> {
    const namespaceName = await this.#namespace.get();
    const { bucketName } = this.#place;
    const send = (): Promise<T> =>
      this.#transport.request((retryConfiguration) => call({ namespaceName, bucketName, retryConfiguration }));
    try {
      return await send();
    } catch (error) {
      if (!isBucketAbsent(error)) throw error;
      await this.#createBucket(namespaceName, error);
      return send();
    }
  }

  async #findNamespace(): Promise<string> {
    const { namespace } = this.#place;
    if (namespace !== undefined) return namespace;
    return this.#transport.request(
      async (retryConfiguration) => (await this.#client.getNamespace({ retryConfiguration })).value,
    );
  }

  async #createBucket(namespaceName: string, cause: unknown): Promise<void> {
    const { bucketName: name, compartmentId, access } = this.#place;
    const what = `there is no bucket ${JSON.stringify(name)} in the namespace ${JSON.stringify(namespaceName)}`;
    if (access === "read") throw noStoreHere(what, cause);
    if (compartmentId === undefined) {
      throw new StateError("INVALID_ARGUMENT", `${what}; create it, or say in which compartmentId it shall be made`, {
        cause,
      });
    }
    const createBucketDetails = { name, compartmentId, publicAccessType: "NoPublicAccess", storageTier: "Standard" };
    try {
      await this.#transport.request((retryConfiguration) =>
        this.#client.createBucket({ namespaceName, createBucketDetails, retryConfiguration }),
      );
    } catch (error) {
      const isThere = error instanceof OciFailure && error.code === "BucketAlreadyExists";
      if (!isThere) throw error;
    }
  }
}

async function bytesOf(value: unknown): Promise<Buffer> {
  if (value === undefined || value === null) return Buffer.alloc(0);
  return Buffer.from(await new Response(value as ReadableStream).arrayBuffer());
}
