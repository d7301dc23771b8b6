import { setTimeout as sleep } from "node:timers/promises";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import type { AppendOutcome, AppendRequest, LogChain, ThreadTail } from "../../src/checkpoint/log/thread-log.ts";

/** A storage that takes its time. */
export class SlowLog extends MemoryLog {
  readonly #ms: number;
  appends = 0;
  /** Appends that were acknowledged. */
  acknowledged = 0;

  constructor(ms: number) {
    super();
    this.#ms = ms;
  }

  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    this.appends++;
    await sleep(this.#ms);
    const outcome = await super.append(threadId, request);
    this.acknowledged++;
    return outcome;
  }

  override async readTail(threadId: string): Promise<LogChain | undefined> {
    await sleep(this.#ms);
    return super.readTail(threadId);
  }

  override async tail(threadId: string): Promise<ThreadTail | undefined> {
    await sleep(this.#ms);
    return super.tail(threadId);
  }
}
