import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { conversation, growThread } from "../../src/testing/checkpointer-cases/conversations.ts";
import type { Filled } from "./every-method.ts";

/**
 * One of everything that a reader may be tempted to tidy up: a thread long enough
 * to be folded or merged, one with a checkpoint taken out, a fork, a thread that
 * was deleted, a lease that was let go, and an index that is behind.
 */
export async function fillStore(writer: Checkpointer): Promise<Filled> {
  const { ids } = await growThread(writer, "long", 70);
  await writer.save(AgentState.create().withMessage(userMessage("a newt")), "indexed");
  if (writer.capabilities.search) await writer.search("newt");
  const edited = await growThread(writer, "edited", 4);
  await writer.delete("edited", edited.ids[1] ?? "");
  await writer.fork("long", "forked", ids[2] ?? "");
  await writer.save(conversation(2), "marked", { metadata: { colour: "red" } });
  await writer.save(conversation(1), "gone");
  await writer.delete("gone");
  if (writer.capabilities.lease) {
    await writer.withLease("leased", async (lease) => writer.save(conversation(1), "leased", { lease }));
  }
  await writer.save(AgentState.create().withMessage(userMessage("a zebra")), "behind the index");
  return { ids };
}
