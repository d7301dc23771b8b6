/**
 * Two writers of one thread: one wins, the other is told, nothing is lost.
 *
 *   npx tsx examples/06-two-writers.ts
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentState, type Checkpointer, StateError, textOf, uncheckedHead, userMessage } from "holdfast";
import { sqliteCheckpointer } from "holdfast/sqlite";

/** Loads, changes, saves; and starts again from the top when another writer was faster. */
async function addNote(checkpointer: Checkpointer, text: string): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const state = (await checkpointer.load("notes")) ?? AgentState.create();
    try {
      await checkpointer.save(state.withMessage(userMessage(text)), "notes");
      return attempt;
    } catch (error) {
      if (!StateError.is(error, "CONFLICT")) throw error;
    }
  }
}

async function conflictOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (StateError.is(error, "CONFLICT")) return error.message;
    throw error;
  }
  throw new Error("this should have been a conflict");
}

const folder = await mkdtemp(join(tmpdir(), "holdfast-two-writers-"));
const path = join(folder, "agents.db");
try {
  // Two checkpointers on one file: the same as two processes, two containers.
  await using one = sqliteCheckpointer({ path });
  await using other = sqliteCheckpointer({ path });

  const head = await one.save(AgentState.create().withMessage(userMessage("the beginning")), "notes");
  const seenByOne = (await one.load("notes")) ?? AgentState.create();
  const seenByOther = (await other.load("notes")) ?? AgentState.create();
  await one.save(seenByOne.withMessage(userMessage("from one")), "notes");
  console.log("Both loaded the same checkpoint, one has saved. The other saves:");
  console.log(`  ${await conflictOf(other.save(seenByOther.withMessage(userMessage("from other")), "notes"))}`);

  console.log("Twenty notes by two writers at once, each redone until it fits:");
  const notes = Array.from({ length: 20 }, (_, index) => addNote(index % 2 === 0 ? one : other, `note ${index}`));
  const attempts = await Promise.all(notes);
  const texts = (await one.load("notes"))?.messages.map(textOf) ?? [];
  console.log(`  ${new Set(texts).size} different messages of 22, after ${attempts.reduce((a, b) => a + b)} attempts`);

  console.log("A state from elsewhere says which head it replaces, or that it does not care:");
  const replacement = AgentState.create().withMessage(userMessage("rewritten elsewhere"));
  console.log(
    `  expectedHead of long ago: ${await conflictOf(one.save(replacement, "notes", { expectedHead: head }))}`,
  );
  await one.save(replacement, "notes", { expectedHead: uncheckedHead });
  console.log(`  uncheckedHead: saved; the thread now has ${(await one.load("notes"))?.messages.length} message`);

  console.log("With a lease the second writer is refused before it begins:");
  await one.withLease(
    "notes",
    async (lease) => {
      const refusal = await conflictOf(other.withLease("notes", async () => undefined));
      console.log(`  ${refusal.replace(/until .*/, "for now")}`);
      const state = (await one.load("notes")) ?? AgentState.create();
      await one.save(state.withMessage(userMessage("under the lease")), "notes", { lease });
    },
    { owner: "worker-1" },
  );
  console.log(`  given back; the other writes again after ${await addNote(other, "after the lease")} attempt`);
} finally {
  await rm(folder, { recursive: true });
}
