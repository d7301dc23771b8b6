import { afterAll, test } from "vitest";
import { logOn, MemoryBucket } from "../../../test/memory-bucket.ts";
import { testBucket } from "../../testing/test-bucket.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";

for (const honoursDeletion of [true, false]) {
  testBucket({
    name: honoursDeletion ? "memory bucket" : "memory bucket without conditional deletes",
    test,
    afterAll,
    create: async () => {
      const subject = new MemoryBucket({ honoursDeletion, maxObjectBytes: 100_000 });
      return { subject, reopen: async () => subject };
    },
  });

  testThreadLog({
    name: honoursDeletion ? "bucket log" : "bucket log without conditional deletes",
    test,
    afterAll,
    create: async () => {
      const bucket = new MemoryBucket({ honoursDeletion });
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
