import { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import type { AppendOutcome, AppendRequest } from "../src/checkpoint/log/thread-log.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { textOf, userMessage } from "../src/state/message.ts";
import { BreakingLog } from "./altered-log.ts";

/** Others are at work between the attempt that gets no answer and its repetition. */
export class InterruptedLog extends BreakingLog {
  meanwhile: (() => Promise<void>) | undefined;

  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    try {
      return await super.append(threadId, request);
    } catch (error) {
      await this.meanwhile?.();
      throw error;
    }
  }

  async othersAdd(count: number): Promise<void> {
    const other = new Checkpointer(this);
    for (let number = 0; number < count; number++) {
      const state = (await other.load("t")) ?? AgentState.create();
      await other.save(state.withMessage(userMessage(`other ${number}`)), "t");
    }
  }

  async vacuum(): Promise<void> {
    await new Checkpointer(this).vacuum({ keepLast: 2 });
  }

  async timesSaid(wanted: string): Promise<number> {
    const state = await new Checkpointer(this).load("t");
    return (state?.messages ?? []).filter((message) => textOf(message) === wanted).length;
  }
}
