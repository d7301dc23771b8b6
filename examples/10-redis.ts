/**
 * Threads in Redis or Valkey: one key each, that expires whole; two programs
 * that share it; what the server's configuration promises.
 *
 *   HOLDFAST_REDIS_URL=redis://localhost:6379 npx tsx examples/10-redis.ts
 */
import { randomUUID } from "node:crypto";
import { Agent, StateError } from "holdfast";
import { redisCheckpointer } from "holdfast/redis";
import { ruleModel } from "holdfast/testing";
import { Redis } from "ioredis";

const url = process.env["HOLDFAST_REDIS_URL"];
if (url === undefined) {
  console.log("HOLDFAST_REDIS_URL is not set: docker run -p 6379:6379 redis, and set it to redis://localhost:6379");
  process.exit(0);
}

// Everything of this run lies under a prefix of its own, so that it can be taken away again.
const prefix = `example-${randomUUID()}:`;
const model = ruleModel([
  { when: /I'm (\w+)/, answer: ({ match }) => `Nice to meet you, ${match?.[1]}.` },
  { when: /Who am I/, answer: ({ earlier }) => /I'm (\w+)/.exec(earlier.join("\n"))?.[1] ?? "I do not know." },
]);

// One program by its URL. A client of yours would do as well, of `ioredis` or of `redis`: it stays open then.
const checkpointer = redisCheckpointer({ url, prefix, ttlSeconds: 3600 });
await new Agent({ model, checkpointer }).run("I'm Alex.", { threadId: "user-42" });
console.log(`durability, as the server is set: ${checkpointer.capabilities.durability}`);

const client = new Redis(url);
const another = redisCheckpointer({ client, prefix, ttlSeconds: 3600 });
const { text } = await new Agent({ model, checkpointer: another }).run("Who am I?", { threadId: "user-42" });
console.log(`another program knows: ${text}`);

// Of two that save the same step, one is told.
const [mine, theirs] = [await checkpointer.load("user-42"), await another.load("user-42")];
if (mine === undefined || theirs === undefined) throw new Error("the thread is not there");
await checkpointer.save(mine.withMetadata({ mood: "keen" }), "user-42");
const refused = await another.save(theirs.withMetadata({ mood: "tired" }), "user-42").catch((error: unknown) => error);
console.log(`the second of two writers: ${StateError.is(refused) ? refused.code : "was not told"}`);

const key = `${prefix}t:{user-42}`;
console.log(`one key a thread: ${await client.type(key)} with ${await client.hlen(key)} fields`);
console.log(`gone in ${Math.round((await client.pttl(key)) / 60_000)} minutes, all of it, unless it is saved again`);

await checkpointer.delete("user-42");
console.log(`deleted: ${await client.exists(key, `${prefix}{index}:ids`)} keys left`);
await another.close();
await checkpointer.close();
client.disconnect();
