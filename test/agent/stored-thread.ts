import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import { textOf } from "../../src/state/message.ts";
import type { ToolExecution } from "../../src/state/state-fields.ts";

/** A store in memory that several "processes" open, each with a checkpointer of its own. */
export class MemoryStore {
  readonly log: MemoryLog;

  constructor(log: MemoryLog = new MemoryLog()) {
    this.log = log;
  }

  /** What a process has that just began. */
  open(): Checkpointer {
    return new Checkpointer(this.log, { retry: { attempts: 1 } });
  }

  /** What is stored now, as another process would find it. */
  async state(threadId = "t"): Promise<AgentState> {
    const state = await this.open().load(threadId);
    if (state === undefined) throw new Error(`nothing is stored in ${threadId}`);
    return state;
  }

  /** The stored conversation, one line for each message. */
  async lines(threadId = "t"): Promise<readonly string[]> {
    return linesOf(await this.state(threadId));
  }

  async statuses(threadId = "t"): Promise<readonly ToolExecution["status"][]> {
    return (await this.state(threadId)).toolExecutions.map(({ status }) => status);
  }

  async checkpointIds(threadId = "t"): Promise<readonly string[]> {
    const found = await this.open().listCheckpoints(threadId, { limit: 1000 });
    return found.map(({ checkpointId }) => checkpointId);
  }
}

/** "user: hello", "assistant: (calls search)", "tool: 42": short enough to compare whole conversations. */
export const linesOf = ({ messages }: Pick<AgentState, "messages">): readonly string[] =>
  messages.map((message) => {
    const calls = message.role === "assistant" ? (message.toolCalls ?? []).map(({ name }) => name) : [];
    const asked = calls.length === 0 ? "" : `(calls ${calls.join(", ")})`;
    const cutOff = message.role === "assistant" && message.incomplete === true ? " (cut off)" : "";
    return `${message.role}: ${[textOf(message), asked].filter((text) => text !== "").join(" ")}${cutOff}`;
  });
