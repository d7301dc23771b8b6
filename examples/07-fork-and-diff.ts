/**
 * What if? Forks a conversation at an earlier checkpoint, goes another way, and
 * shows what changed between checkpoints.
 *
 *   npx tsx examples/07-fork-and-diff.ts
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, textOf } from "holdfast";
import { FileCheckpointer } from "holdfast/file";
import { ruleModel } from "holdfast/testing";

const model = ruleModel([
  { when: /plan a trip to (\w+)/i, answer: ({ match }) => `${match?.[1]}, gladly. By train or by plane?` },
  { when: /by (train|plane)/i, answer: ({ match, earlier }) => `Booked by ${match?.[1]}: "${earlier[0]}"` },
]);

const folder = await mkdtemp(join(tmpdir(), "holdfast-fork-"));
try {
  await using checkpointer = new FileCheckpointer({ directory: folder });
  const agent = new Agent({ model, checkpointer });
  const planned = await agent.run("Plan a trip to Paris.", { threadId: "trip", metadata: { mood: "keen" } });
  const booked = await agent.run("Go by plane.", { threadId: "trip", metadata: { mood: "tired" } });
  const [start, end] = [planned.checkpointId ?? "", booked.checkpointId ?? ""];

  console.log("The history of the thread, newest first");
  for await (const { seq, messageCount, metadata } of checkpointer.history("trip")) {
    console.log(`  ${seq}: ${messageCount} messages, ${JSON.stringify(metadata)}`);
  }

  const { messages, fields } = await checkpointer.diff("trip", start, end);
  console.log(`From the plan to the booking: ${messages.shared} messages shared, ${messages.added.length} added`);
  for (const message of messages.added) console.log(`  + ${message.role}: ${textOf(message)}`);
  for (const [name, { before, after }] of Object.entries(fields)) console.log(`  ~ ${name}: ${before} → ${after}`);

  await checkpointer.fork("trip", "trip-by-train", { at: start });
  const other = await agent.run("Go by train.", { threadId: "trip-by-train" });
  console.log(`The fork went another way: ${other.text}`);
  console.log(`The original did not notice: ${(await checkpointer.load("trip"))?.messages.length} messages`);
  const [origin] = await checkpointer.lineage("trip-by-train");
  console.log(
    `It remembers where it came from: ${origin?.threadId} at ${origin?.checkpointId === start ? "the plan" : "?"}`,
  );

  await checkpointer.copyThread("trip", "trip-copy");
  await checkpointer.delete("trip");
  const [fork, copy] = [await checkpointer.stats("trip-by-train"), await checkpointer.stats("trip-copy")];
  console.log("The original is deleted; a fork holds one base of it, a copy all of its history");
  console.log(`  fork: ${fork?.checkpoints} checkpoints, copy: ${copy?.checkpoints} checkpoints`);
} finally {
  await rm(folder, { recursive: true });
}
