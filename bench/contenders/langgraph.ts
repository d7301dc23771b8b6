import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type Checkpoint, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import type { WorkloadMessage } from "../workload.ts";
import { type Contender, type OpenContender, THREAD } from "./contender.ts";

/** As it is shipped: WAL with better-sqlite3's synchronous=NORMAL, where a power cut takes the last saves along. */
export const langgraphAsShipped: Contender = {
  name: "LangGraph SqliteSaver",
  durability: "os",
  open: (directory) => openSaver(directory, "NORMAL"),
};

export const langgraphSynced: Contender = {
  name: "LangGraph SqliteSaver, synchronous=FULL",
  durability: "fsync",
  open: (directory) => openSaver(directory, "FULL"),
};

async function openSaver(directory: string, synchronous: "NORMAL" | "FULL"): Promise<OpenContender> {
  const saver = SqliteSaver.fromConnString(join(directory, "langgraph.db"));
  saver.db.pragma(`synchronous = ${synchronous}`);
  const thread: RunnableConfig = { configurable: { thread_id: THREAD, checkpoint_ns: "" } };
  const run = new Run(saver, thread);
  return {
    append: (message) => run.step(message),
    load: async () => {
      const tuple = await saver.getTuple(thread);
      return (tuple?.checkpoint.channel_values["messages"] as unknown[] | undefined)?.length ?? 0;
    },
    listHistory: async () => {
      let count = 0;
      for await (const _ of saver.list(thread)) count++;
      return count;
    },
    close: async () => {
      saver.db.close();
    },
  };
}

/**
 * What LangGraph's loop asks of its saver in a step of one node that answers
 * one message: the task's writes, then the next checkpoint with the value of
 * every channel.
 */
class Run {
  readonly #saver: SqliteSaver;
  #config: RunnableConfig;
  #checkpoint: Checkpoint = emptyCheckpoint();
  #messages: readonly BaseMessage[] = [];
  #step = 0;

  constructor(saver: SqliteSaver, thread: RunnableConfig) {
    this.#saver = saver;
    this.#config = thread;
  }

  async step({ role, content }: WorkloadMessage): Promise<void> {
    const id = randomUUID();
    const message = role === "user" ? new HumanMessage({ content, id }) : new AIMessage({ content, id });
    if (this.#step > 0) await this.#saver.putWrites(this.#config, [["messages", message]], randomUUID());
    this.#messages = [...this.#messages, message];
    const version = ++this.#step;
    this.#checkpoint = {
      v: 4,
      id: uuid6(version),
      ts: new Date().toISOString(),
      channel_values: { messages: this.#messages },
      channel_versions: { ...this.#checkpoint.channel_versions, messages: version },
      versions_seen: { ...this.#checkpoint.versions_seen, agent: { messages: version - 1 } },
    };
    const metadata = { source: "loop", step: version, parents: {} } as const;
    this.#config = await this.#saver.put(this.#config, this.#checkpoint, metadata);
  }
}
