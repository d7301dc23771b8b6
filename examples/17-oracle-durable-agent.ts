/**
 * Two sessions, one thread, in Oracle Database 26ai. The first Agent is told about an
 * incident; the second one, built from nothing, knows about it. No line calls save or
 * load.
 *
 *   export ORACLE_DSN=mydb_low                   # an alias of the wallet's tnsnames.ora, or host:1521/service
 *   export ORACLE_USER=agents_app                # a user with as few rights as it needs
 *   export ORACLE_PASSWORD='<password>'
 *   export ORACLE_WALLET=~/.oci/wallets/mydb     # the directory of the unpacked wallet
 *   export ORACLE_WALLET_PASSWORD='<password>'   # where the wallet has one
 *   npx tsx examples/17-oracle-durable-agent.ts
 *
 * With variables missing it says which, shows the wiring and ends.
 */
import { Agent, type Checkpointer } from "holdfast";
import { oracleCheckpointer } from "holdfast/oracle";
import { ruleModel } from "holdfast/testing";

const REQUIRED = ["ORACLE_DSN", "ORACLE_USER", "ORACLE_PASSWORD", "ORACLE_WALLET"];
const THREAD_ID = "oracle_example_thread";
const TABLE_NAME = "HOLDFAST_EXAMPLE";

const WIRING = `
    import { Agent } from "holdfast";
import { oracleCheckpointer } from "holdfast/oracle";

    const checkpointer = oracleCheckpointer({
      dsn: process.env.ORACLE_DSN,
      user: process.env.ORACLE_USER,
      password: process.env.ORACLE_PASSWORD,
      walletLocation: process.env.ORACLE_WALLET,
      walletPassword: process.env.ORACLE_WALLET_PASSWORD,
      tableName: "AGENTS",
    });
    const agent = new Agent({ model: "openai:gpt-5", checkpointer });
    await agent.run("My name is Alice.", { threadId: "t1" });
    await agent.run("What's my name?", { threadId: "t1" });      // recalls the first turn`;

/**
 * Stands in for a provider. It knows about the incident only if the conversation that it is sent tells it.
 */
const offlineModel = ruleModel([
  {
    when: /p99 on (\S+) spiked at (\d\d:\d\d)/,
    answer: ({ match }) => `Noted: p99 on ${match?.[1]} since ${match?.[2]}. I would roll the deploy back first.`,
  },
  {
    when: /like that/,
    answer: ({ recall }) => `You told me: "${recall() ?? "nothing yet"}" Nothing else like it is in this thread.`,
  },
]);

function buildCheckpointer(): Checkpointer {
  const { env } = process;
  return oracleCheckpointer({
    dsn: env["ORACLE_DSN"] ?? "",
    user: env["ORACLE_USER"] ?? "",
    // A function, so that a password that was rotated is read again, from wherever yours is kept.
    password: () => env["ORACLE_PASSWORD"] ?? "",
    walletLocation: env["ORACLE_WALLET"] ?? "",
    walletPassword: env["ORACLE_WALLET_PASSWORD"] ?? "",
    tableName: TABLE_NAME,
  });
}

/** A fresh Agent on a fresh pool: what it knows, it knows from the database. */
function buildAgent(checkpointer: Checkpointer): Agent {
  return new Agent({
    model: process.env["HOLDFAST_MODEL"] ?? offlineModel,
    systemPrompt:
      "You are an on-call SRE assistant. Be concise: one or two sentences per turn. Remember everything the user has told you earlier in this thread.",
    checkpointer,
    // The default, spelled out: a turn that dies in the middle continues from the last finished step.
    checkpointEveryNIterations: 1,
  });
}

async function session(title: string, prompt: string): Promise<void> {
  console.log(`\n--- ${title} ---`);
  await using checkpointer = buildCheckpointer();
  const result = await buildAgent(checkpointer).run(prompt, { threadId: THREAD_ID });
  console.log(`User : ${prompt}`);
  console.log(`Agent: ${result.text}`);
  console.log(`  the thread has ${result.state.messages.length} messages`);
}

const missing = REQUIRED.filter((name) => !process.env[name]);
if (missing.length > 0) {
  console.log(`Not set, so nothing is connected: ${missing.join(", ")}\nThe wiring:\n${WIRING}`);
} else {
  await session(
    "Session 1: an agent is told about an incident",
    "p99 on checkout-api spiked at 14:02. The deploy at 13:58 looks suspicious.",
  );
  await session(
    "Session 2: a new pool, a new Agent, the same thread id",
    "Has anything like that happened in the last fortnight?",
  );
  await using checkpointer = buildCheckpointer();
  console.log(`\nthreads in ${TABLE_NAME}: ${(await checkpointer.listThreads()).join(", ")}`);
  await checkpointer.delete(THREAD_ID);
}
