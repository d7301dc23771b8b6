/**
 * What did we tell whom? Keeps conversations in OpenSearch and finds them again
 * by what was said and by their metadata.
 *
 *   HOLDFAST_OPENSEARCH_URL=opensearch+http://localhost:9200 npx tsx examples/13-opensearch.ts
 *
 * `npm run services opensearch` starts a node and prints its URL. Everything is
 * kept under a name of its own and deleted at the end.
 */
import { randomUUID } from "node:crypto";
import { Agent, openCheckpointer, textOf } from "holdfast";
import { ruleModel } from "holdfast/testing";

const given = process.env["HOLDFAST_OPENSEARCH_URL"];
if (given === undefined) {
  console.log("HOLDFAST_OPENSEARCH_URL is not set: there is no OpenSearch to show this on");
  process.exit(0);
}
const url = new URL(given);
url.searchParams.set("namespace", `example ${randomUUID()}`);

const model = ruleModel([
  { when: /refund/i, answer: "A refund takes five days." },
  { when: /parcel/i, answer: "The parcel left on Monday." },
  { when: /.*/, answer: "How can I help?" },
]);

await using checkpointer = await openCheckpointer(url.href);
await checkpointer.connect();
const agent = new Agent({ model, checkpointer });
try {
  const conversations = [
    ["alice", "Where is my parcel?", "premium"],
    ["bob", "I want a refund, a full refund.", "basic"],
    ["carol", "Hello! My parcel is broken. May I have a refund for it?", "premium"],
  ] as const;
  for (const [threadId, prompt, plan] of conversations) await agent.run(prompt, { threadId, metadata: { plan } });

  console.log(`durability: ${checkpointer.capabilities.durability}`);
  console.log("Who talked about a refund? The best first.");
  const best = new Map<string, number>();
  for (const { threadId, score } of await checkpointer.search("refund")) {
    if (!best.has(threadId)) best.set(threadId, score);
  }
  for (const [threadId, score] of best) console.log(`  ${threadId}  ${score.toFixed(2)}`);

  console.log("By the beginning of a word, within some threads:");
  for (const { threadId } of await checkpointer.search("parc brok", { threadPrefix: "c" }))
    console.log(`  ${threadId}`);

  const premium = await checkpointer.queryByMetadata("plan", "premium");
  console.log(`Premium customers: ${premium.map(({ threadId }) => threadId).join(", ")}`);

  const last = (await checkpointer.load("bob"))?.messages.at(-1);
  console.log(`Bob was told: ${last === undefined ? "nothing" : textOf(last)}`);
} finally {
  for (const threadId of await checkpointer.listThreads()) await checkpointer.delete(threadId);
}
console.log(`threads left: ${(await checkpointer.listThreads()).length}`);
