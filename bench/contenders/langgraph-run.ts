import { randomUUID } from "node:crypto";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type BaseCheckpointSaver, type Checkpoint, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import type { WorkloadMessage } from "../workload.ts";
import type { OpenContender } from "./contender.ts";

/** Any of LangGraph's savers as a contender. */
export function driveSaver(saver: BaseCheckpointSaver, threadId: string, close: () => Promise<void>): OpenContender {
  const thread: RunnableConfig = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
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
    close,
  };
}

/**
 * What LangGraph's loop asks of its saver in a step of one node that answers
 * one message: the task's writes, then the next checkpoint with the value of
 * every channel.
 */
class Run {
  readonly #saver: BaseCheckpointSaver;
  #config: RunnableConfig;
  #checkpoint: Checkpoint = emptyCheckpoint();
  #messages: readonly BaseMessage[] = [];
  #step = 0;

  constructor(saver: BaseCheckpointSaver, thread: RunnableConfig) {
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
    this.#config = await this.#saver.put(this.#config, this.#checkpoint, metadata, { messages: version });
  }
}
