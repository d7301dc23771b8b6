import { afterAll, test } from "vitest";
import { logOn, MemoryBucket } from "../../../test/memory-bucket.ts";
import { testBucket } from "../../testing/test-bucket.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";

const BUCKETS = {
  "": {},
  " without conditional deletes": { honoursDeletion: false },
  " of small objects": { maxObjectBytes: 24_000 },
};

for (const [what, options] of Object.entries(BUCKETS)) {
  testBucket({
    name: `memory bucket${what}`,
    test,
    afterAll,
    create: async () => {
      const subject = new MemoryBucket(options);
      return { subject, reopen: async () => subject };
    },
  });

  testThreadLog({
    name: `bucket log${what}`,
    test,
    afterAll,
    create: async () => {
      const bucket = new MemoryBucket(options);
      const copied = async () => {
        const copy = new Map(bucket.objects);
        return async () => {
          bucket.objects.clear();
          for (const [name, object] of copy) bucket.objects.set(name, object);
        };
      };
      return { subject: logOn(bucket), reopen: async () => logOn(bucket), copy: copied };
    },
  });
}
