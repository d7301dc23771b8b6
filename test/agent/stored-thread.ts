import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { liveLeases } from "../../src/checkpoint/lease/lease-holder.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import type { ToolExecution } from "../../src/state/fields.ts";
import { textOf } from "../../src/state/message.ts";

/** A store in memory that several "processes" open, each with a checkpointer of its own. */
export class MemoryStore {
  readonly log: MemoryLog;
  readonly #dead = new Set<string>();
  #processes = 0;

  constructor(log: MemoryLog = new MemoryLog()) {
    this.log = log;
  }

  /** What a process has that just began. */
  open(): Checkpointer {
    const checkpointer = new Checkpointer(this.log, { retry: { attempts: 1 } });
    this.#processes = asProcessOfItsOwn(checkpointer, this.#dead, this.#processes);
    return checkpointer;
  }

  /** Every process that opened the store so far is dead, as far as the next one can tell. */
  killAll(): void {
    for (let number = 1; number <= this.#processes; number++) this.#dead.add(`process ${number}`);
  }

  /** Waits until this many messages are stored: saves run beside the run. */
  async holds(count: number, threadId = "t"): Promise<void> {
    for (let turn = 0; turn < 200; turn++) {
      if (((await this.open().load(threadId))?.messages.length ?? 0) >= count) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`${count} messages were never stored`);
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

/** Leases that this checkpointer takes are held by a process of their own, which may be dead. Returns its number. */
export function asProcessOfItsOwn(checkpointer: Checkpointer, dead: ReadonlySet<string>, before: number): number {
  const context = contextOf(checkpointer);
  const mark = `process ${before + 1}`;
  if (context !== undefined) {
    const isGone = (other: string, leaseId: string): boolean =>
      dead.has(other) || (other === mark && !liveLeases().has(leaseId));
    context.holder = { name: mark, mark, isGone };
  }
  return before + 1;
}

/** "user: hello", "assistant: (calls search)", "tool: 42": short enough to compare whole conversations. */
export const linesOf = ({ messages }: Pick<AgentState, "messages">): readonly string[] =>
  messages.map((message) => {
    const calls = message.role === "assistant" ? (message.toolCalls ?? []).map(({ name }) => name) : [];
    const asked = calls.length === 0 ? "" : `(calls ${calls.join(", ")})`;
    const cutOff = message.role === "assistant" && message.incomplete === true ? " (cut off)" : "";
    return `${message.role}: ${[textOf(message), asked].filter((text) => text !== "").join(" ")}${cutOff}`;
  });
