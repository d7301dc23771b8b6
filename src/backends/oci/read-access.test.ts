import { expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { OciStandIn } from "../../../test/oci-stand-in/stand-in.ts";
import { placeOn } from "../../../test/oci-stand-in/test-bucket.ts";
import { readingCalls } from "../../../test/read-access/every-method.ts";
import { fillStore } from "../../../test/read-access/fill-store.ts";
import { hashOf } from "../../../test/read-access/hashed-files.ts";
import { type ObservedStore, testReadAccess } from "../../../test/read-access/proof.ts";
import { OCIBucketBackend } from "./index.ts";

/** Every object with its bytes and its ETag, and all buckets. */
function contentsOf(standIn: OciStandIn): Record<string, string> {
  const objects = [...standIn.objects()].map(([name, { bytes, etag }]) => [name, `${hashOf(bytes)} ${etag}`] as const);
  const buckets = ["threads", "other"].filter((name) => standIn.hasBucket(name));
  return { ...Object.fromEntries(objects), buckets: buckets.join() };
}

async function observed(bucketName: string): Promise<ObservedStore> {
  const standIn = await OciStandIn.start();
  const { compartmentId } = standIn;
  const place = { ...placeOn(standIn), bucketName, compartmentId };
  return {
    open: (options) => new OCIBucketBackend({ ...options, ...place }),
    contents: async () => contentsOf(standIn),
    cleanup: () => standIn.close(),
  };
}

testReadAccess({
  name: "OCI Object Storage",
  create: () => observed("threads"),
  // The compartment is named, so that a writer would have created the bucket.
  missing: () => observed("other"),
  connects: false,
});

test("with read access nothing but GET goes to OCI, and removeLeftovers is refused", async () => {
  const standIn = await OciStandIn.start();
  const place = placeOn(standIn);
  const writer = new OCIBucketBackend(place);
  const filled = await fillStore(writer);
  await writer.close();
  standIn.requests.length = 0;
  const reader = new OCIBucketBackend({ ...place, access: "read" });
  expect((await failureOf(() => reader.removeLeftovers())).code).toBe("PERMISSION_DENIED");
  expect(standIn.requests).toEqual([]);
  for (const call of Object.values(readingCalls(reader, filled))) await call();
  await reader.close();
  expect(new Set(standIn.requests.map(({ method }) => method))).toEqual(new Set(["GET"]));
  await standIn.close();
});
