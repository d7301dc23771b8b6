/**
 * Threads in a bucket of OCI Object Storage: nothing to run, shared by every
 * worker, and what it asks of the storage.
 *
 *   HOLDFAST_OCI_URL="oci://my-bucket/example?region=eu-frankfurt-1" npx tsx examples/12-oci.ts
 */
import { randomUUID } from "node:crypto";
import { Agent, openCheckpointer, StateError } from "holdfast";
import { ociLifecyclePolicy } from "holdfast/oci";
import { ruleModel } from "holdfast/testing";

const url = process.env["HOLDFAST_OCI_URL"];
if (url === undefined) {
  console.log("HOLDFAST_OCI_URL is not set: oci://my-bucket/example?region=… with a key in ~/.oci/config");
  process.exit(0);
}

const model = ruleModel([
  { when: /planning a trip to (\w+)/, answer: ({ match }) => `${match?.[1]} it is.` },
  {
    when: /What were we discussing/,
    answer: ({ earlier }) => `A trip to ${/trip to (\w+)/.exec(earlier.join("\n"))?.[1] ?? "nowhere"}.`,
  },
]);
const threadId = `user-${randomUUID()}`;

// Day 1. In a program of your own: new OCIBucketBackend({ bucketName: "my-app-checkpoints", namespace: "…" }).
const checkpointer = await openCheckpointer(url);
await new Agent({ model, checkpointer }).run("I'm planning a trip to Tokyo.", { threadId });
console.log(`durability: ${checkpointer.capabilities.durability}`);

// Day 2, another process.
const another = await openCheckpointer(url);
const { text } = await new Agent({ model, checkpointer: another }).run("What were we discussing?", { threadId });
console.log(`another worker knows: ${text}`);

// Of two that save the same step, one is told.
const [mine, theirs] = [await checkpointer.load(threadId), await another.load(threadId)];
if (mine === undefined || theirs === undefined) throw new Error("the thread is not there");
await checkpointer.save(mine.withMetadata({ mood: "keen" }), threadId);
const refused = await another.save(theirs.withMetadata({ mood: "tired" }), threadId).catch((error: unknown) => error);
console.log(`the second of two writers: ${StateError.is(refused) ? refused.code : "was not told"}`);

await checkpointer.copyThread(threadId, `${threadId}/what-if`);
const found = await checkpointer.listWithMetadata({ pattern: `${threadId}*` });
console.log(`threads: ${found.map((thread) => `${thread.messageCount} messages`).join(", ")}`);

const [rule] = ociLifecyclePolicy({ deleteAfterIdleDays: 90 }).items;
console.log(`a rule for the bucket: delete ${rule?.objectNameFilter.inclusionPrefixes} after ${rule?.timeAmount} days`);

for (const id of [threadId, `${threadId}/what-if`]) await checkpointer.delete(id);
console.log(`deleted: ${(await checkpointer.listThreads({ pattern: `${threadId}*` })).length} threads left`);
await another.close();
await checkpointer.close();
