/**
 * One program on every backend: a conversation that continues on another day, and
 * features that are used where `capabilities` says that they are available.
 *
 *   npx tsx examples/01-checkpointers.ts
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, type BaseCheckpointer, type DictStorage, StorageBackendAdapter } from "holdfast";
import { FileCheckpointer } from "holdfast/file";
import { MemoryCheckpointer } from "holdfast/memory";
import { sqliteCheckpointer } from "holdfast/sqlite";
import { ruleModel } from "holdfast/testing";

const model = ruleModel([
  { when: /planning/, answer: "Lovely. When do you travel?" },
  { when: /What were we discussing/, answer: ({ recall }) => `You said: ${recall("planning a trip")}` },
]);

/** A storage of your own that keeps JSON under keys. Without `compareAndSave` it cannot keep two writers apart. */
function dictionary(): DictStorage {
  const documents = new Map<string, string>();
  return {
    save: async (key, data) => documents.set(key, JSON.stringify(data)),
    load: async (key) => JSON.parse(documents.get(key) ?? "null") as object | null,
    delete: async (key) => documents.delete(key),
    list: async (prefix) => [...documents.keys()].filter((key) => key.startsWith(prefix)),
  };
}

async function converse(checkpointer: BaseCheckpointer): Promise<void> {
  const threadId = "user-c42";
  // Day 1.
  await new Agent({ model, checkpointer }).run("I'm planning a trip to Tokyo.", { threadId });
  // Day 2: another Agent, the same thread id.
  const { text } = await new Agent({ model, checkpointer }).run("What were we discussing?", { threadId });
  console.log(`  ${text}`);
}

async function useWhatIsThere(checkpointer: BaseCheckpointer): Promise<void> {
  const can = checkpointer.capabilities;
  console.log(`  durability: ${can.durability}; two writers kept apart: ${can.conditionalSave}; ttl: ${can.ttl}`);
  if (can.search) {
    const hits = await checkpointer.search("tokyo");
    console.log(`  search by ${can.searchMethod}: "tokyo" was said ${hits.length} times, best in ${hits[0]?.threadId}`);
  }
  if (can.branching) console.log(`  copied: ${await checkpointer.copyThread("user-c42", "experiment")}`);
  if (can.listThreads) console.log(`  threads: ${(await checkpointer.listThreads()).join(", ")}`);
  if (can.vacuum) {
    const old = await checkpointer.vacuum({ olderThanDays: 30 });
    const all = await checkpointer.vacuum({ keepLast: 1 });
    console.log(`  vacuum: ${old.checkpoints} were older than 30 days, ${all.checkpoints} others were not the newest`);
  }
}

const folder = await mkdtemp(join(tmpdir(), "holdfast-checkpointers-"));
try {
  const backends: Record<string, BaseCheckpointer> = {
    "MemoryCheckpointer (tests, a REPL)": new MemoryCheckpointer(),
    "FileCheckpointer (one machine, readable files)": new FileCheckpointer({ directory: join(folder, "threads") }),
    "sqliteCheckpointer (one machine, many threads)": sqliteCheckpointer({ path: join(folder, "agents.db") }),
    "StorageBackendAdapter (a storage of your own)": new StorageBackendAdapter(dictionary()),
  };
  for (const [name, checkpointer] of Object.entries(backends)) {
    console.log(name);
    await converse(checkpointer);
    await useWhatIsThere(checkpointer);
    await checkpointer.close();
  }

  console.log("A storage where a checkpointer belongs is refused at once, and the message says what to write");
  try {
    new Agent({ model, checkpointer: dictionary() as unknown as BaseCheckpointer });
  } catch (error) {
    console.log(`  ${error}`);
  }
} finally {
  await rm(folder, { recursive: true });
}
