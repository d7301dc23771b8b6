import type { KnownPlace, LogChain, LogEntry, LogPage, ThreadEntry } from "../../../src/checkpoint/log/thread-log.ts";
import type { DriverFault } from "./fault.ts";
import { ReferenceLog } from "./reference-log.ts";

type ListOptions = { readonly before?: number; readonly limit: number };

export const readingFaults: readonly DriverFault[] = [
  {
    fault: "takes every failure for an absent thread",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override readTail(threadId: string): Promise<LogChain | undefined> {
          return super.readTail(threadId).catch(() => undefined);
        }
        override readCheckpoint(threadId: string, checkpointId: string): Promise<LogChain | undefined> {
          return super.readCheckpoint(threadId, checkpointId).catch(() => undefined);
        }
        override list(threadId: string, options: ListOptions): Promise<readonly LogEntry[]> {
          return super.list(threadId, options).catch(() => []);
        }
      })(inner),
    caughtBy: [
      "while the storage fails every call fails, and none answers that nothing is there",
      "after closing every call is refused, and none answers that nothing is there",
    ],
  },
  {
    fault: "reports a removal that failed as done",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override remove(threadId: string, ifTail?: KnownPlace): ReturnType<ReferenceLog["remove"]> {
          return super.remove(threadId, ifTail).catch(() => "absent");
        }
      })(inner),
    caughtBy: ["while the storage fails every call fails, and none answers that nothing is there"],
  },
  {
    fault: "answers after it was closed",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async close(): Promise<void> {}
      })(inner),
    caughtBy: ["after closing every call is refused, and none answers that nothing is there"],
  },
  {
    fault: "remembers an old tail",
    driver: (inner) =>
      new (class extends ReferenceLog {
        readonly #tails = new Map<string, LogEntry>();
        override async readTail(threadId: string): Promise<LogChain | undefined> {
          const chain = await super.readTail(threadId);
          if (chain === undefined) return undefined;
          const tail = this.#tails.get(threadId) ?? chain.tail;
          this.#tails.set(threadId, chain.tail);
          return { ...chain, tail };
        }
      })(inner),
    caughtBy: ["the tail is the newest record at every moment"],
  },
  {
    fault: "reads the newest checkpoint, whichever was asked for",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async readCheckpoint(threadId: string, checkpointId: string): Promise<LogChain | undefined> {
          return (await super.readCheckpoint(threadId, checkpointId)) && this.readTail(threadId);
        }
      })(inner),
    caughtBy: ["a checkpoint is read with every record from its base up to it"],
  },
  {
    fault: "reads one record and not the chain below it",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async readTail(threadId: string): Promise<LogChain | undefined> {
          const chain = await super.readTail(threadId);
          return chain && { ...chain, records: chain.records.slice(-1) };
        }
      })(inner),
    caughtBy: ["appends follow one another", "the tail is read with every record from its base on, in ascending order"],
  },
  {
    fault: "reads a chain newest first",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async readTail(threadId: string): Promise<LogChain | undefined> {
          const chain = await super.readTail(threadId);
          return chain && { ...chain, records: chain.records.toReversed() };
        }
      })(inner),
    caughtBy: ["the tail is read with every record from its base on, in ascending order"],
  },
  {
    fault: "lists the oldest first",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async list(threadId: string, options: ListOptions): Promise<readonly LogEntry[]> {
          return (await super.list(threadId, options)).toReversed();
        }
      })(inner),
    caughtBy: [
      "checkpoints are listed newest first",
      "a list holds as many as were asked for, below the position that was asked for",
    ],
  },
  {
    fault: "lists in the order of names and not of positions",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async list(threadId: string, options: ListOptions): Promise<readonly LogEntry[]> {
          const found = await super.list(threadId, options);
          return found.toSorted((a, b) => ((a.checkpointId ?? "") < (b.checkpointId ?? "") ? 1 : -1));
        }
      })(inner),
    caughtBy: ["checkpoints are listed newest first"],
  },
  {
    fault: "lists records that are no checkpoints",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override async list(
          threadId: string,
          { before = Number.POSITIVE_INFINITY, limit }: ListOptions,
        ): Promise<readonly LogEntry[]> {
          const records = (await this.readTail(threadId))?.records ?? [];
          return records
            .filter(({ seq }) => seq < before)
            .toReversed()
            .slice(0, limit);
        }
      })(inner),
    caughtBy: ["a list leaves out records that are no checkpoints, and does not count them"],
  },
  {
    fault: "lists the position it should stay below",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override list(threadId: string, { before, limit }: ListOptions): Promise<readonly LogEntry[]> {
          return super.list(threadId, { limit, ...(before !== undefined && { before: before + 1 }) });
        }
      })(inner),
    caughtBy: ["a list holds as many as were asked for, below the position that was asked for"],
  },
  {
    fault: "shows the head that was dropped",
    driver: (inner) =>
      new (class extends ReferenceLog {
        readonly #heads = new Map<string, LogEntry>();
        override async append(...args: Parameters<ReferenceLog["append"]>): ReturnType<ReferenceLog["append"]> {
          const [threadId, { record }] = args;
          const outcome = await super.append(...args);
          if (outcome.appended && record.checkpointId !== undefined) this.#heads.set(threadId, record);
          return outcome;
        }
        override async listThreads(options: Parameters<ReferenceLog["listThreads"]>[0]): Promise<LogPage<ThreadEntry>> {
          const page = await super.listThreads(options);
          return {
            ...page,
            items: page.items.map((thread) => ({ ...thread, head: this.#heads.get(thread.threadId) ?? thread.head })),
          };
        }
      })(inner),
    caughtBy: ["the head of a thread is what its tail says, after the newest checkpoint was dropped"],
  },
  {
    fault: "goes on calling a subscriber that stopped",
    driver: (inner) =>
      new (class extends ReferenceLog {
        override subscribe(threadId: string, onChange: () => void): () => void {
          super.subscribe(threadId, onChange);
          return () => undefined;
        }
      })(inner),
    caughtBy: ["a subscriber that stopped is not called any more, and stopping twice is harmless"],
  },
];
