/**
 * A store: what outlives a conversation. Memories of users that are found by
 * words and by meaning, a counter that two writers share, a value that ends.
 *
 *   npx tsx examples/04-cross-thread-store.ts
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StateError } from "holdfast";
import { sqliteCheckpointer, sqliteConnection, sqliteStore } from "holdfast/sqlite";
import { type EmbedFunction, StoreContext } from "holdfast/store";

/** Stands for an embedding model, so that this runs offline: how many words of each topic a text has. */
const TOPICS = [/cat|kitten|pet|animal/gi, /morning|early|alarm|sleep/gi, /deploy|release|rollback/gi, /\w+/g];
const embedder: EmbedFunction = async (texts) =>
  texts.map((text) => TOPICS.map((topic, at) => (text.match(topic)?.length ?? 0) + (at === 3 ? 0.1 : 0.01)));

const folder = await mkdtemp(join(tmpdir(), "holdfast-store-"));
try {
  // One database for threads and items.
  const connection = sqliteConnection({ path: join(folder, "agents.db") });
  await using checkpointer = sqliteCheckpointer({ connection });
  await using store = sqliteStore({ connection, embedder });
  console.log(`threads: ${checkpointer.capabilities.durability}, items: ${store.capabilities.durability}`);

  const alice = new StoreContext(store, { userId: "alice" });
  const bob = new StoreContext(store, { userId: "bob" });
  await alice.remember("pet", { text: "Has a grey cat called Miso." });
  await alice.remember("mornings", { text: "Dislikes early meetings." });
  await bob.remember("pet", { text: "Allergic to every kind of animal." });

  console.log("By words and by meaning, from Alice's items only:");
  for (const { key, value } of await alice.searchMemories("Which pet does she have?")) {
    console.log(`  ${key}: ${(value as { text: string }).text}`);
  }

  console.log("A filter on the value and on the metadata:");
  await store.put(["orders"], "o1", { total: 120, country: "CH" }, { metadata: { vip: true } });
  await store.put(["orders"], "o2", { total: 80, country: "DE" });
  const found = await store.list(["orders"], { filter: { total: { $gt: 50 }, $metadata: { vip: true } } });
  console.log(`  ${found.map(({ key }) => key).join(", ")}`);

  console.log("Thirty requests at once, counted by two writers:");
  await using other = sqliteStore({ path: join(folder, "agents.db") });
  const count = (at: number) => (at % 2 === 0 ? store : other).update<number>(["limits"], "alice", (n = 0) => n + 1);
  await Promise.all(Array.from({ length: 30 }, (_, at) => count(at)));
  console.log(`  ${await store.get(["limits"], "alice")} of 30`);

  const { version } = await store.put(["settings"], "theme", "dark");
  await other.put(["settings"], "theme", "light");
  const refused = await store.put(["settings"], "theme", "blue", { expectedVersion: version }).catch((error) => error);
  console.log(`The second of two writers: ${StateError.is(refused) ? refused.code : "was not told"}`);

  await store.put(["codes"], "alice", "123456", { ttlSeconds: 0.05 });
  await new Promise((resolve) => setTimeout(resolve, 100));
  console.log(`A code that ended: ${await store.get(["codes"], "alice")}`);

  console.log(`Forgotten: ${await store.clearNamespace(["users", "alice"], { recursive: true })} memories of alice`);
  console.log(`Namespaces left: ${(await store.listNamespaces()).map((each) => each.join("/")).join(", ")}`);
} finally {
  await rm(folder, { recursive: true });
}
