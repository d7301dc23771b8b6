/**
 * Oracle Database 26ai three times over one pool: a checkpointer for an agent, a
 * saver with a versioned history and pending writes, and a store with vectors.
 *
 *   export ORACLE_DSN=mydb_low                   # an alias of the wallet's tnsnames.ora, or host:1521/service
 *   export ORACLE_USER=agents_app
 *   export ORACLE_PASSWORD='<password>'
 *   export ORACLE_WALLET=~/.oci/wallets/mydb     # the directory of the unpacked wallet
 *   export ORACLE_WALLET_PASSWORD='<password>'   # where the wallet has one
 *   npx tsx examples/18-oracle-savers.ts
 *
 * With variables missing it says which, shows the wiring and ends.
 */
import { Agent } from "holdfast";
import { OracleCheckpointSaver, OracleStore, oracleCheckpointer, oracleConnection } from "holdfast/oracle";
import { ruleModel } from "holdfast/testing";

const REQUIRED = ["ORACLE_DSN", "ORACLE_USER", "ORACLE_PASSWORD", "ORACLE_WALLET"];
const DIMENSION = 1024;

const WIRING = `
    import { OracleCheckpointSaver, OracleStore, oracleCheckpointer } from "holdfast/oracle";
    import { oracleConnection } from "holdfast/oracle";

    const connection = oracleConnection({
      dsn: process.env.ORACLE_DSN,                      // tnsnames alias from the wallet
      user: process.env.ORACLE_USER,                    // least-privileged app schema
      password: process.env.ORACLE_PASSWORD,
      walletLocation: process.env.ORACLE_WALLET,
      walletPassword: process.env.ORACLE_WALLET_PASSWORD,
    });
    const checkpointer = oracleCheckpointer({ connection, tableName: "AGENTS" });
    const saver = new OracleCheckpointSaver({ connection, tableName: "locus" });  // locus_checkpoints + locus_writes
    const store = new OracleStore({ connection, tableName: "locus_store", dimension: 1024 });`;

/**
 * Stands in for a provider: it knows about the trip only if the conversation that it is sent tells it.
 */
const offlineModel = ruleModel([
  { when: /planning a trip to (\w+)/, answer: ({ match }) => `${match?.[1]} it is.` },
  { when: /discussing/, answer: ({ recall }) => `You said: "${recall() ?? "nothing yet"}"` },
]);

/**
 * Stands in for an embedding model: counts the words of a text into a fixed number of
 * dimensions.
 */
function embed(text: string): number[] {
  const vector = Array.from({ length: DIMENSION }, () => 0);
  for (const word of text.toLowerCase().match(/\w+/g) ?? []) {
    const place = [...word].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % DIMENSION, 7);
    vector[place] = (vector[place] ?? 0) + 1;
  }
  return vector;
}

async function showCheckpointer(connection: ReturnType<typeof oracleConnection>): Promise<void> {
  console.log("\n--- oracleCheckpointer: an agent's thread ---");
  await using checkpointer = oracleCheckpointer({ connection, tableName: "HOLDFAST_EXAMPLE" });
  const agent = (): Agent => new Agent({ model: process.env["HOLDFAST_MODEL"] ?? offlineModel, checkpointer });
  await agent().run("I'm planning a trip to Tokyo.", { threadId: "user-c42" });
  const { text } = await agent().run("What were we discussing?", { threadId: "user-c42" });
  console.log(`Agent: ${text}`);
  await checkpointer.delete("user-c42");
}

async function showSaver(connection: ReturnType<typeof oracleConnection>): Promise<void> {
  console.log("\n--- OracleCheckpointSaver: versioned history and pending writes ---");
  const saver = new OracleCheckpointSaver({ connection, tableName: "holdfast_example_graph" });
  await saver.put({ threadId: "t1", checkpointId: "v1", checkpointData: { step: 1 }, metadata: { source: "input" } });
  await saver.putWrites({
    threadId: "t1",
    checkpointId: "v1",
    taskId: "node-a",
    writes: [["channel-x", "pending-write"]],
  });
  const latest = await saver.get({ threadId: "t1" }); // the most recent checkpoint
  console.log(`latest: ${latest?.checkpointId}, pending: ${JSON.stringify(latest?.pendingWrites[0]?.value)}`);
  await saver.put({ threadId: "t1", checkpointId: "v2", parentId: "v1", checkpointData: { step: 2 } });
  const history = await saver.listCheckpoints({ threadId: "t1" }); // walk lineage
  for (const { checkpointId, parentId } of history) console.log(`  ${checkpointId} follows ${parentId ?? "nothing"}`);
  await saver.deleteThread("t1");
  await saver.close();
}

async function showStore(connection: ReturnType<typeof oracleConnection>): Promise<void> {
  console.log("\n--- OracleStore: what outlives a conversation, found by meaning ---");
  const store = new OracleStore({ connection, tableName: "holdfast_example_store", dimension: DIMENSION });
  const memories = ["memory", "u42"];
  await store.put(memories, "fact-1", { note: "user likes cats" });
  const note = "user dislikes mornings";
  await store.putWithEmbedding(memories, "fact-2", { note }, { embedding: embed(note) });
  const query = embed("mornings are disliked by this user");
  for (const { key, value } of await store.searchByEmbedding(memories, { query, limit: 5 })) {
    console.log(`  ${key}: ${(value as { note: string }).note}`);
  }
  await store.clearNamespace(memories);
  await store.close();
}

const missing = REQUIRED.filter((name) => !process.env[name]);
if (missing.length > 0) {
  console.log(`Not set, so nothing is connected: ${missing.join(", ")}\nThe wiring:\n${WIRING}`);
} else {
  const { env } = process;
  const connection = oracleConnection({
    dsn: env["ORACLE_DSN"] ?? "",
    user: env["ORACLE_USER"] ?? "",
    password: () => env["ORACLE_PASSWORD"] ?? "",
    walletLocation: env["ORACLE_WALLET"] ?? "",
    walletPassword: env["ORACLE_WALLET_PASSWORD"] ?? "",
  });
  await showCheckpointer(connection);
  await showSaver(connection);
  await showStore(connection);
}
