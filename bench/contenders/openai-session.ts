import { peerPackage } from "../peer-packages.ts";
import type { Contender } from "./contender.ts";

/** What is used of the SDK's session. */
interface MemorySession {
  addItems(items: readonly object[]): Promise<void>;
  getItems(): Promise<readonly object[]>;
}

/**
 * The only session of the OpenAI Agents SDK for JavaScript that keeps items by
 * itself: in memory. (The other one keeps them with OpenAI's own service.)
 */
export function openaiMemorySession(): Contender {
  const sessions = new Map<string, MemorySession>();
  return {
    name: "OpenAI Agents MemorySession",
    durability: "none",
    open: async (directory) => {
      const { MemorySession } = await peerPackage<{ MemorySession: new () => MemorySession }>("@openai/agents-core");
      const session = sessions.get(directory) ?? new MemorySession();
      sessions.set(directory, session);
      return {
        append: ({ role, content }) =>
          session.addItems([
            role === "user"
              ? { type: "message", role, content }
              : { type: "message", role, status: "completed", content: [{ type: "output_text", text: content }] },
          ]),
        load: async () => (await session.getItems()).length,
        close: async () => undefined,
      };
    },
  };
}
