import { setTimeout as sleep } from "node:timers/promises";
import type {
  FindOptions,
  SearchPage,
  VacuumOptions,
  VacuumReport,
} from "../../../src/checkpoint/base-checkpointer.ts";
import { Checkpointer } from "../../../src/checkpoint/checkpointer.ts";
import type { Lease, LeaseOptions } from "../../../src/checkpoint/lease/lease.ts";
import type { CheckpointerFault } from "./fault.ts";

/** Faults that make one thread's trouble, its lease or its writer another's. */
export const troubleFaults: readonly CheckpointerFault[] = [
  {
    fault: "fails a search over one record that cannot be read",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async search(query: string, given?: FindOptions): Promise<SearchPage> {
          for (const threadId of await this.listThreads()) await this.load(threadId);
          return super.search(query, given);
        }
      })(log, options),
    caughtBy: [
      "one thread's record that cannot be read keeps no search from the others: a damaged header",
      "one thread's record that cannot be read keeps no search from the others: a newer format",
      "one thread's record that cannot be read keeps no search from the others: a damaged body",
    ],
  },
  {
    fault: "stops a vacuum at the first thread that it cannot read",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async vacuum(given?: VacuumOptions): Promise<VacuumReport> {
          for (const threadId of await this.listThreads()) await this.stats(threadId);
          return super.vacuum(given);
        }
      })(log, options),
    caughtBy: [
      "one thread's record that cannot be read keeps no thread from a vacuum: a damaged header",
      "one thread's record that cannot be read keeps no thread from a vacuum: a newer format",
    ],
  },
  {
    fault: "vacuums only when there were no writes for a moment",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async vacuum(given?: VacuumOptions): Promise<VacuumReport> {
          for (let before = -1, now = 0; before !== now; ) {
            before = now;
            await sleep(10);
            now = (await this.listWithMetadata()).reduce((sum, { seq = 0 }) => sum + seq, 0);
          }
          return super.vacuum(given);
        }
      })(log, options),
    caughtBy: ["a vacuum and a deletion end beside a writer that never stops"],
  },
  {
    fault: "forks into a thread without an end",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async fork(source: string, target: string): Promise<string> {
          const checkpointId = await super.fork(source, target);
          const state = await this.load(target);
          if (state === undefined) return checkpointId;
          await this.delete(target);
          return this.save(state, target, { checkpointId, expectedHead: null });
        }
      })(log, options),
    caughtBy: ["a copy and a fork end with their source, and those of a thread without an end have no end"],
  },
  {
    fault: "copies a thread together with a lease on it",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async copyThread(source: string, target: string): Promise<boolean> {
          const isCopied = await super.copyThread(source, target);
          const forever = new Promise<void>(() => undefined);
          if (isCopied) {
            await new Promise<void>((resolve) => {
              void this.withLease(target, () => {
                resolve();
                return forever;
              });
            });
          }
          return isCopied;
        }
      })(log, options),
    caughtBy: ["a copy of a leased thread is free, and the lease is no right to it"],
  },
  {
    fault: "lets go of a lease whose time is too long for it",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override withLease<T>(
          threadId: string,
          work: (lease: Lease) => Promise<T>,
          { ttlMs, ...given }: LeaseOptions = {},
        ): Promise<T> {
          const isTooLong = ttlMs !== undefined && ttlMs > 6.4e9;
          return super.withLease(threadId, work, {
            ...given,
            ...(ttlMs !== undefined && { ttlMs: isTooLong ? 1 : ttlMs }),
          });
        }
      })(log, options),
    caughtBy: ["a lease of a hundred years or for ever is held, and renewed no more often than needed"],
  },
];
