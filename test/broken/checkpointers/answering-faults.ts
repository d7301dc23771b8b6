import {
  type CheckpointSummary,
  type DeleteOptions,
  type ForkOptions,
  type ListThreadsOptions,
  type SaveOptions,
  type SearchPage,
  type ThreadSearchHit,
  type ThreadSummary,
  uncheckedHead,
  type VacuumOptions,
  type VacuumPlanEntry,
  type VacuumReport,
} from "../../../src/checkpoint/base-checkpointer.ts";
import { Checkpointer } from "../../../src/checkpoint/checkpointer.ts";
import type { WatchOptions } from "../../../src/checkpoint/find/watching.ts";
import type { StatePlace } from "../../../src/checkpoint/history/compared-places.ts";
import type { Lease } from "../../../src/checkpoint/lease/lease.ts";
import { type Page, page } from "../../../src/driver/page.ts";
import type { AgentState } from "../../../src/state/agent-state.ts";
import type { StateDiff } from "../../../src/state/diff.ts";
import type { CheckpointerFault } from "./fault.ts";

const OPEN_CALLS = "a call that is open is run by its own thread alone: a fork and a copy settle it, with another key";

export const answeringFaults: readonly CheckpointerFault[] = [
  {
    fault: "ends a history after its first page",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async *history(threadId: string): AsyncGenerator<CheckpointSummary, void, undefined> {
          yield* await this.listCheckpoints(threadId, { limit: 100 });
        }
      })(log, options),
    caughtBy: ["a history of more than one page is walked to its end"],
  },
  {
    fault: "copies by saving again, newest first",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async copyThread(source: string, target: string): Promise<boolean> {
          if (await this.exists(target)) return super.copyThread(source, target);
          for await (const { checkpointId } of this.history(source)) {
            const state = await this.load(source, { checkpointId });
            if (state !== undefined) await this.save(state, target, { checkpointId, expectedHead: uncheckedHead });
          }
          return this.exists(source);
        }
      })(log, options),
    caughtBy: [
      "a copy has the same checkpoints in the same order, and the same newest one",
      "the newest of a copy is its source's newest after that was deleted",
    ],
  },
  {
    fault: "lists every thread, whatever it waits for",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override listWithMetadata({ standing: _, ...rest }: ListThreadsOptions = {}): Promise<Page<ThreadSummary>> {
          return super.listWithMetadata(rest);
        }
      })(log, options),
    caughtBy: ["what a thread waits for is in its summary, and lists are narrowed by it"],
  },
  {
    fault: "takes open calls along into forks",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override fork(source: string, target: string, given?: ForkOptions): Promise<string> {
          return super.fork(source, target, { ...given, openCalls: "keep" });
        }
      })(log, options),
    caughtBy: [OPEN_CALLS],
  },
  {
    fault: "takes open calls along into copies",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override copyThread(source: string, target: string): Promise<boolean> {
          return super.copyThread(source, target, { openCalls: "keep" });
        }
      })(log, options),
    caughtBy: [OPEN_CALLS],
  },
  {
    fault: "forks at the newest, whatever was asked for",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override fork(source: string, target: string): Promise<string> {
          return super.fork(source, target);
        }
      })(log, options),
    caughtBy: ["a fork can start at an old checkpoint"],
  },
  {
    fault: "takes a pattern for a regular expression",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async listThreads({ pattern = "*", limit = 100 }: ListThreadsOptions = {}): Promise<Page<string>> {
          const all = await super.listThreads({ limit: 10_000 });
          const source = pattern
            .replaceAll("*", ".*")
            .replaceAll("?", ".")
            .replaceAll("(", "\\(")
            .replaceAll("{", "\\{");
          return page(all.filter((id) => new RegExp(`^${source}$`, "s").test(id)).slice(0, limit), undefined);
        }
      })(log, options),
    caughtBy: ["a pattern knows *, ? and the backslash, and takes everything else literally"],
  },
  {
    fault: "compares metadata as text",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async queryByMetadata(key: string, value: unknown): Promise<Page<ThreadSummary>> {
          const all = await this.listWithMetadata({ limit: 10_000 });
          return page(
            all.filter(({ metadata = {} }) => String(metadata[key]) === String(value)),
            undefined,
          );
        }
      })(log, options),
    caughtBy: ["a value is found by its type as well as its text"],
  },
  {
    fault: "finds any of the words",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async search(query: string): Promise<SearchPage> {
          const hits: ThreadSearchHit[] = [];
          for (const word of query.split(" ")) hits.push(...(await super.search(word)));
          const different = [...new Map(hits.map((hit) => [`${hit.threadId} ${hit.seq}`, hit])).values()];
          return Object.assign(different, { cursor: undefined, warnings: [], order: "best" as const });
        }
      })(log, options),
    caughtBy: ["a search finds messages that hold all of its words, whole or begun"],
  },
  {
    fault: "removes in a dry run",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async vacuum(given: VacuumOptions = {}): Promise<VacuumReport> {
          const { dryRun = false, ...rest } = given;
          return { ...(await super.vacuum(rest)), dryRun };
        }
      })(log, options),
    caughtBy: ["a dry run counts and removes nothing"],
  },
  {
    fault: "lets all writers write under a lease",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override withLease<T>(threadId: string, work: (lease: Lease) => Promise<T>): Promise<T> {
          const signal = new AbortController().signal;
          return work({ threadId, owner: "holder", token: "same", ttlMs: 1, signal });
        }
        override save(state: AgentState, threadId: string, { lease: _, ...given }: SaveOptions = {}): Promise<string> {
          return super.save(state, threadId, given);
        }
      })(log, options),
    caughtBy: [
      "the holder of a lease saves, and the saves of others are refused without writing anything",
      "a lease that is held cannot be taken",
      "a lease rides on saves: taken with one, renewed by the next, given back with the last",
      "a lease that ran out can be taken, and its old holder is fenced off",
    ],
  },
  {
    fault: "forgets its watches when it is closed",
    checkpointer: (log, options) => {
      const neverClosed = new Checkpointer(log, options);
      return new (class extends Checkpointer {
        override watch(threadId: string, given: WatchOptions = {}): AsyncIterable<CheckpointSummary> {
          return neverClosed.watch(threadId, given);
        }
      })(log, options);
    },
    caughtBy: ["a watch that waits ends when the checkpointer is closed"],
  },
  {
    fault: "can be used after it was closed",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async close(): Promise<void> {}
      })(log, options),
    caughtBy: ["after close every call is CLOSED", "disposing closes"],
  },
  {
    fault: "deletes whichever head there is",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override delete(threadId: string, given?: string | DeleteOptions): Promise<boolean> {
          return typeof given === "object" ? super.delete(threadId, given.checkpointId) : super.delete(threadId, given);
        }
      })(log, options),
    caughtBy: ["a deletion that expects a head leaves a thread alone that has moved on"],
  },
  {
    fault: "plans a vacuum by carrying it out",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async *vacuumPlan(given?: VacuumOptions): AsyncGenerator<VacuumPlanEntry, void, undefined> {
          yield* super.vacuumPlan(given);
          await this.vacuum(given);
        }
      })(log, options),
    caughtBy: ["a plan says, thread by thread, what the vacuum then takes, and changes nothing"],
  },
  {
    fault: "compares checkpoints of the first thread only",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async diff(
          first: string | StatePlace,
          second: string | StatePlace,
          third?: string,
        ): Promise<StateDiff> {
          if (typeof first === "object" && typeof second === "object")
            return super.diff(first, { ...second, ...first });
          return super.diff(first as string, second as string, third as string);
        }
      })(log, options),
    caughtBy: ["the states of two threads are compared like those of one"],
  },
];
