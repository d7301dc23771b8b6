import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  FileCheckpointer,
  InMemoryStore,
  LLMMemoryManager,
  MemoryCheckpointer,
  OracleCheckpointSaver,
  OracleStore,
  ociBucketCheckpointer,
  opensearchCheckpointer,
  oracleCheckpointer,
  postgresqlCheckpointer,
  redisCheckpointer,
  sqliteCheckpointer,
} from "../src/entry/backends.ts";
import { Agent, AgentSession, type BaseCheckpointer, UserStore } from "../src/index.ts";
import { ruleModel } from "../src/testing/models/rule-model.ts";

/** Programs as they are written without looking anything up: two imports, and options under the names that they have everywhere. */

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-named-options-"));
});
afterAll(() => rm(folder, { recursive: true }));

const model = ruleModel([{ when: /(.*)/, answer: ({ match }) => `You said: ${match?.[1]}` }]);
const wallet = { dsn: "mydb_low", user: "app", password: "secret", walletLocation: "./wallet" };

const CHECKPOINTERS: Readonly<Record<string, () => BaseCheckpointer>> = {
  memory: () => new MemoryCheckpointer(),
  file: () => new FileCheckpointer({ directory: "./threads" }),
  sqlite: () => sqliteCheckpointer({ path: "./threads.db" }),
  postgres: () => postgresqlCheckpointer({ dsn: "postgresql://user:pass@host:5432/app", schema: "threads" }),
  redis: () => redisCheckpointer({ url: "redis://host:6379/0", ttlSeconds: 86_400 }),
  oracle: () => oracleCheckpointer({ ...wallet, walletPassword: "secret", tableName: "checkpoints" }),
  opensearch: () => opensearchCheckpointer({ hosts: ["https://host:9200"], indexName: "threads" }),
  oci: () =>
    ociBucketCheckpointer({
      bucketName: "checkpoints",
      namespace: "tenancy",
      compartmentId: "ocid1.compartment",
      prefix: "prod/",
    }),
};

test.each(Object.entries(CHECKPOINTERS))(
  "%s: a checkpointer and an agent with it are made from options alone, and say what the storage can do",
  async (_, open) => {
    const checkpointer = open();
    const agent = new Agent({ model, checkpointer, systemPrompt: "Be brief.", checkpointEveryNIterations: 5 });
    const { search, metadataQuery, vacuum, branching, ttl, listThreads } = checkpointer.capabilities;
    const { listWithMetadata, persistentCheckpointIds } = checkpointer.capabilities;
    for (const flag of [search, metadataQuery, vacuum, branching, ttl, listThreads, listWithMetadata]) {
      expect(typeof flag).toBe("boolean");
    }
    expect(typeof persistentCheckpointIds).toBe("boolean");
    await agent.close();
    await checkpointer.close?.();
  },
);

test("a thread goes on in a second agent, is searched, copied, listed and cleared away", async () => {
  const checkpointer = new FileCheckpointer({ directory: join(folder, "threads") });
  await new Agent({ model, checkpointer, checkpointEveryNIterations: 1 }).run("I'm Alex.", { threadId: "t1" });
  const { state } = await new Agent({ model, checkpointer }).run("Who am I?", { threadId: "t1" });
  expect(state.messages).toHaveLength(4);
  if (checkpointer.capabilities.branching) await checkpointer.copyThread("t1", "experiment");
  if (checkpointer.capabilities.listThreads) {
    expect([...(await checkpointer.listThreads())].sort()).toEqual(["experiment", "t1"]);
  }
  if (checkpointer.capabilities.search) expect(await checkpointer.search("alex")).not.toHaveLength(0);
  if (checkpointer.capabilities.vacuum) expect(await checkpointer.vacuum({ olderThanDays: 30 })).toBeDefined();
  expect(await checkpointer.listCheckpoints("t1", { limit: 10 })).not.toHaveLength(0);
  await checkpointer.close();
});

test("savers and stores of Oracle are made from the same options; items and memories need nothing but a store", async () => {
  const saver = new OracleCheckpointSaver({ ...wallet, tableName: "graphs" });
  expect([saver.put, saver.putWrites, saver.get, saver.listCheckpoints].every((each) => each !== undefined)).toBe(true);
  await saver.close();
  await new OracleStore({ ...wallet, tableName: "items", dimension: 1024 }).close();
  const store = new InMemoryStore();
  await store.put(["memory", "user"], "role", { content: "Senior engineer" });
  expect(await store.get(["memory", "user"], "role")).toEqual({ content: "Senior engineer" });
  await store.putWithEmbedding(["memory", "u42"], "fact", { note: "likes cats" }, { embedding: [1, 0] });
  expect(await store.searchByEmbedding(["memory", "u42"], { query: [1, 0], limit: 5 })).toHaveLength(1);
  new LLMMemoryManager({ store, model });
  await store.close();
});

test("a session keeps what is checkpointed, a user's data goes with the user", async () => {
  const backend = sqliteCheckpointer({ path: join(folder, "sessions.db") });
  const session = new AgentSession({ sessionId: "s1", userId: "u1", backend });
  session.setWorking("currentSubtask", "draft");
  session.setWorking("scratch", 1);
  await session.checkpoint("subtask done", { includeKeys: ["currentSubtask"] });
  const restored = await AgentSession.restore("s1", { backend });
  expect(await restored.getCheckpoint("subtask done")).toMatchObject({ currentSubtask: "draft" });
  const store = new UserStore({ backend: new InMemoryStore() });
  await store.set("u1", "email", "user@example.com");
  await store.deleteUser("u1");
  expect(await store.get("u1", "email")).toBeUndefined();
  await backend.close();
});
