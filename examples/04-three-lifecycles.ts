/**
 * Three kinds of state with three lifecycles: working state lives in the process,
 * checkpoints outlive it, and data about a person goes when the person asks.
 *
 *   npx tsx examples/04-three-lifecycles.ts
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentSession, UserStore } from "holdfast";

const folder = await mkdtemp(join(tmpdir(), "holdfast-lifecycles-"));
// Without a backend both take a SQLite file in the working directory: .agent_state.db and .user_store.db.
const backend = `sqlite:${join(folder, "agent_state.db")}`;
const store = new UserStore({ backend: `sqlite:${join(folder, "user_store.db")}` });
try {
  console.log("=== Three kinds of state ===\n");
  await store.set("user_xyz", "email", "alice@example.com");
  await store.set("user_xyz", "name", "Alice");
  console.log(`User data stored: email=${await store.get("user_xyz", "email")}`);

  const session = new AgentSession({ sessionId: "sess_demo_001", userId: "user_xyz", backend });
  session.setWorking("current_subtask", "generate_report");
  session.setWorking("tool_call_in_flight", { name: "fetch_data", status: "pending" });
  session.setWorking("draft_output", "## Report\n...");
  console.log(`Working state: ${session.workingKeys().join(", ")}`);

  const includeKeys = ["current_subtask", "draft_output"];
  const id = await session.checkpoint("subtask_complete", { includeKeys });
  console.log(`Checkpoint created: ${id}`);
  await session.close();
  console.log("Session closed. Working state discarded.");

  const deleted = await store.deleteUser("user_xyz");
  console.log(`User 'user_xyz' deleted (${deleted} rows). Email now: ${await store.get("user_xyz", "email")}`);

  const restored = await AgentSession.restore("sess_demo_001", { backend });
  console.log(`Restored working state: ${restored.workingKeys().length} keys, as it should be`);
  const checkpoint = await restored.getCheckpoint("subtask_complete");
  console.log(`Restored checkpoint 'subtask_complete': ${JSON.stringify(checkpoint)}, which the deletion left alone`);
  await restored.close();
} finally {
  await store.close();
  await rm(folder, { recursive: true });
}
