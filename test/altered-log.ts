import { MemoryLog } from "../src/backends/memory/log.ts";
import type {
  AppendOutcome,
  AppendRequest,
  LogChain,
  LogEntry,
  LogPage,
  ThreadEntry,
} from "../src/checkpoint/log/thread-log.ts";
import type { ErrorCode } from "../src/errors.ts";

/** What a reader gets instead of a stored entry or record; `undefined`: it is gone. */
export type Alteration = <Entry extends LogEntry>(entry: Entry, threadId: string) => Entry | undefined;

/** A store with records that were damaged, removed, or written by another version. */
export class AlteredLog extends MemoryLog {
  alter: Alteration = (entry) => entry;

  override async readTail(threadId: string): Promise<LogChain | undefined> {
    return this.#chain(threadId, await super.readTail(threadId));
  }

  override async readCheckpoint(threadId: string, checkpointId: string): Promise<LogChain | undefined> {
    return this.#chain(threadId, await super.readCheckpoint(threadId, checkpointId));
  }

  override async entry(threadId: string, checkpointId: string): Promise<LogEntry | undefined> {
    const entry = await super.entry(threadId, checkpointId);
    return entry && this.alter(entry, threadId);
  }

  override async tail(threadId: string): Promise<{ generation: string; entry: LogEntry } | undefined> {
    const tail = await super.tail(threadId);
    const entry = tail && this.alter(tail.entry, threadId);
    return tail && entry && { ...tail, entry };
  }

  override async list(threadId: string, options: { before?: number; limit: number }): Promise<readonly LogEntry[]> {
    return (await super.list(threadId, options)).flatMap((entry) => this.alter(entry, threadId) ?? []);
  }

  override async listThreads(options: {
    prefix: string;
    cursor?: string;
    limit: number;
  }): Promise<LogPage<ThreadEntry>> {
    const page = await super.listThreads(options);
    const items = page.items.flatMap(({ threadId, head }) => {
      const altered = this.alter(head, threadId);
      return altered === undefined ? [] : { threadId, head: altered };
    });
    return { ...page, items };
  }

  #chain(threadId: string, chain: LogChain | undefined): LogChain | undefined {
    if (chain === undefined) return undefined;
    const records = chain.records.flatMap((record) => this.alter(record, threadId) ?? []);
    return { ...chain, records, tail: this.alter(chain.tail, threadId) ?? chain.tail };
  }
}

/** A store whose connection breaks: before the write is made, or after, when the answer is lost. */
export class BreakingLog extends MemoryLog {
  readonly failures: ("before" | "after")[] = [];
  appends = 0;

  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    this.appends++;
    const failure = this.failures.shift();
    if (failure === "before") throw new Error("the connection was refused");
    const outcome = await super.append(threadId, request);
    if (failure === "after") throw new Error("the connection was cut");
    return outcome;
  }

  override classify(): ErrorCode {
    return "UNAVAILABLE";
  }
}
