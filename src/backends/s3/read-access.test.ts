import { expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { readingCalls } from "../../../test/read-access/every-method.ts";
import { fillStore } from "../../../test/read-access/fill-store.ts";
import { hashOf } from "../../../test/read-access/hashed-files.ts";
import { type ObservedStore, testReadAccess } from "../../../test/read-access/proof.ts";
import { s3Place } from "../../../test/s3/test-bucket.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { createClient, loadSdk } from "./connect.ts";
import { S3BucketCheckpointer } from "./index.ts";

// Hundreds of signed requests in one test.
await describeWithService("s3", async (url) => {
  const sdk = await loadSdk();

  /** Every object in the bucket below the prefix, with its bytes, its ETag and the time it was written. */
  async function objectsIn({
    bucketName,
    prefix,
    ...connection
  }: ReturnType<typeof s3Place>): Promise<Record<string, string>> {
    const client = createClient(sdk, connection);
    const found: Record<string, string> = {};
    const listing = (await client.send(
      new sdk.ListObjectsV2Command({ Bucket: bucketName, Prefix: prefix }),
    )) as Listing;
    for (const { Key = "", ETag, LastModified } of listing.Contents ?? []) {
      const { Body } = (await client.send(new sdk.GetObjectCommand({ Bucket: bucketName, Key }))) as Got;
      found[Key] = `${hashOf(await Body.transformToByteArray())} ${ETag} ${LastModified?.toISOString()}`;
    }
    expect(listing.IsTruncated).not.toBe(true);
    client.destroy?.();
    return found;
  }

  async function observed(): Promise<ObservedStore> {
    const place = s3Place(url);
    return { open: (options) => new S3BucketCheckpointer({ ...options, ...place }), contents: () => objectsIn(place) };
  }

  async function withoutBucket(): Promise<ObservedStore> {
    const place = { ...s3Place(url), bucketName: "absent-bucket" };
    return {
      open: (options) => new S3BucketCheckpointer({ ...options, ...place }),
      // A bucket that was created would show as an empty list instead of a failure.
      contents: async () => ({ failure: (await failureOfListing(place)).name }),
    };
  }

  const failureOfListing = (place: ReturnType<typeof s3Place>): Promise<Error> =>
    objectsIn(place).then(
      () => new Error("there is such a bucket"),
      (error: Error) => error,
    );

  testReadAccess({ name: "S3", create: observed, missing: withoutBucket, connects: false });

  test("with read access nothing but GET goes to S3, and removeLeftovers is refused", async () => {
    const place = s3Place(url);
    const writer = new S3BucketCheckpointer(place);
    const filled = await fillStore(writer);
    await writer.close();
    const { bucketName, prefix, ...connection } = place;
    const client = createClient(sdk, connection);
    const sent: string[] = [];
    const watched = {
      send: (command: object, options?: { readonly abortSignal?: AbortSignal }) => {
        sent.push(command.constructor.name);
        return client.send(command, options);
      },
    };
    const reader = new S3BucketCheckpointer({ bucketName, prefix, client: watched, access: "read" });
    expect((await failureOf(() => reader.removeLeftovers())).code).toBe("PERMISSION_DENIED");
    expect(sent).toEqual([]);
    for (const call of Object.values(readingCalls(reader, filled))) await call();
    await reader.close();
    expect([...new Set(sent)].sort()).toEqual(["GetObjectCommand", "ListObjectsV2Command"]);
    client.destroy?.();
  });
});

interface Listing {
  readonly Contents?: readonly { readonly Key?: string; readonly ETag?: string; readonly LastModified?: Date }[];
  readonly IsTruncated?: boolean;
}

interface Got {
  readonly Body: { transformToByteArray(): Promise<Uint8Array> };
}
