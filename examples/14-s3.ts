/**
 * Threads in a bucket of S3, or of any service that speaks its protocol.
 *
 *   HOLDFAST_S3_URL="s3://my-bucket/example?region=eu-central-1" npx tsx examples/14-s3.ts
 */
import { randomUUID } from "node:crypto";
import { Agent, openCheckpointer, StateError } from "holdfast";
import { ruleModel } from "holdfast/testing";

const url = process.env["HOLDFAST_S3_URL"];
if (url === undefined) {
  console.log("HOLDFAST_S3_URL is not set: s3://my-bucket/example?region=… with keys where the SDK finds them");
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

// Day 1, on one machine.
const checkpointer = await openCheckpointer(url);
await new Agent({ model, checkpointer }).run("I'm planning a trip to Tokyo.", { threadId });
console.log(`durability: ${checkpointer.capabilities.durability}`);

// Day 2, on another.
const another = await openCheckpointer(url);
const { text } = await new Agent({ model, checkpointer: another }).run("What were we discussing?", { threadId });
console.log(`another worker knows: ${text}`);

// Of two that save the same step, one is told.
const [mine, theirs] = [await checkpointer.load(threadId), await another.load(threadId)];
if (mine === undefined || theirs === undefined) throw new Error("the thread is not there");
await checkpointer.save(mine.withMetadata({ mood: "keen" }), threadId);
const refused = await another.save(theirs.withMetadata({ mood: "tired" }), threadId).catch((error: unknown) => error);
console.log(`the second of two writers: ${StateError.is(refused) ? refused.code : "was not told"}`);

await checkpointer.delete(threadId);
console.log(`deleted: ${(await checkpointer.listThreads({ pattern: `${threadId}*` })).length} threads left`);
await another.close();
await checkpointer.close();
