import {
  type BaseCheckpointer,
  type CheckpointRef,
  type CheckpointSummary,
  type ListThreadsOptions,
  type SaveOptions,
  type ThreadSearchHit,
  type ThreadSummary,
  uncheckedHead,
  type VacuumOptions,
  type VacuumReport,
} from "../../checkpoint/base-checkpointer.ts";
import { type CheckpointerCapabilities, capabilities } from "../../checkpoint/capabilities.ts";
import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import type { Lease } from "../../checkpoint/lease.ts";
import { type Page, page } from "../../checkpoint/page.ts";
import type { ThreadLog } from "../../checkpoint/thread-log.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";

/** A deliberate fault of the class users hold, and the cases that must notice it. */
export interface CheckpointerFault {
  readonly fault: string;
  readonly checkpointer: (log: ThreadLog, options: CheckpointerOptions) => BaseCheckpointer;
  readonly caughtBy: readonly string[];
}

export const checkpointerFaults: readonly CheckpointerFault[] = [
  {
    fault: "loads the newest, whichever was asked for",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async load(threadId: string, ref: CheckpointRef = {}): Promise<AgentState | undefined> {
          return (await super.load(threadId, ref)) && super.load(threadId);
        }
      })(log, options),
    caughtBy: [
      "the newest checkpoint loads by default, and every other one by its id",
      "the flag history is true and it works, or false and the call says so",
    ],
  },
  {
    fault: "saves over whatever is there",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override save(state: AgentState, threadId: string, given: SaveOptions = {}): Promise<string> {
          return super.save(state, threadId, { ...given, expectedHead: uncheckedHead });
        }
      })(log, options),
    caughtBy: [
      "of two states made from one checkpoint the second is refused, and nothing of it is written",
      "a new state is refused on a thread that exists",
      "deleted stays deleted: a late writer is refused and the thread stays absent",
      "writers that load, change and save in one process lose nothing",
      "the flag conditionalSave is true and it works, or false and the call says so",
    ],
  },
  {
    fault: "takes a failed load for an absent thread",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override load(threadId: string, ref: CheckpointRef = {}): Promise<AgentState | undefined> {
          return super.load(threadId, ref).catch(() => undefined);
        }
      })(log, options),
    caughtBy: [
      "while the storage fails every call fails with a StateError, and none answers that nothing is there",
      "after close every call is CLOSED",
    ],
  },
  {
    fault: "keeps states as plain JSON",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override save(state: AgentState, threadId: string, given: SaveOptions = {}): Promise<string> {
          const replacer = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
          const plain = AgentState.fromFields(JSON.parse(JSON.stringify(state.fields, replacer)));
          return super.save(plain, threadId, { ...given, expectedHead: uncheckedHead });
        }
      })(log, options),
    caughtBy: [
      "a state with something in every field, and every kind of value, loads as it was",
      "every value of the corpus survives as a change to a thread that is there",
    ],
  },
  {
    fault: "advertises a search that it lacks",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override search(): Promise<Page<ThreadSearchHit>> {
          return Promise.reject(new StateError("UNSUPPORTED", "not implemented"));
        }
      })(log, options),
    caughtBy: ["the flag search is true and it works, or false and the call says so"],
  },
  {
    fault: "can vacuum and says that it cannot",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override get capabilities(): CheckpointerCapabilities {
          return capabilities({ ...super.capabilities, vacuum: false });
        }
      })(log, options),
    caughtBy: ["the flag vacuum is true and it works, or false and the call says so"],
  },
  {
    fault: "takes a time to live and ignores it, and says that it cannot",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override get capabilities(): CheckpointerCapabilities {
          return capabilities({ ...super.capabilities, ttl: false });
        }
        override save(
          state: AgentState,
          threadId: string,
          { ttlSeconds: _, ...given }: SaveOptions = {},
        ): Promise<string> {
          return super.save(state, threadId, given);
        }
      })(log, options),
    caughtBy: ["the flag ttl is true and it works, or false and the call says so"],
  },
  {
    fault: "deletes the whole thread when asked for one checkpoint",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async delete(threadId: string, ref: CheckpointRef = {}): Promise<boolean> {
          return (await this.exists(threadId, ref)) && super.delete(threadId);
        }
      })(log, options),
    caughtBy: [
      "deleting one from the middle leaves the others as they were",
      "deleting the newest makes the one before it the newest",
    ],
  },
  {
    fault: "says that it deleted what was not there",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async delete(threadId: string, ref: CheckpointRef = {}): Promise<boolean> {
          await super.delete(threadId, ref);
          return true;
        }
      })(log, options),
    caughtBy: ["deleting what is not there says so"],
  },
  {
    fault: "keeps the deleted newest loadable",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        readonly #latest = new Map<string, AgentState>();
        override async save(state: AgentState, threadId: string, given: SaveOptions = {}): Promise<string> {
          const id = await super.save(state, threadId, given);
          this.#latest.set(threadId, state);
          return id;
        }
        override async load(threadId: string, ref: CheckpointRef = {}): Promise<AgentState | undefined> {
          return ref.checkpointId === undefined ? this.#latest.get(threadId) : super.load(threadId, ref);
        }
      })(log, options),
    caughtBy: [
      "deleting the newest makes the one before it the newest",
      "a deleted thread is gone from every answer",
      "a thread whose checkpoints are deleted one by one, newest first, is gone with the last",
    ],
  },
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
        override async search(query: string): Promise<Page<ThreadSearchHit>> {
          const hits: ThreadSearchHit[] = [];
          for (const word of query.split(" ")) hits.push(...(await super.search(word)));
          return page([...new Map(hits.map((hit) => [`${hit.threadId} ${hit.seq}`, hit])).values()], undefined);
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
    fault: "lets everybody write under a lease",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override withLease<T>(threadId: string, work: (lease: Lease) => Promise<T>): Promise<T> {
          const signal = new AbortController().signal;
          return work({ threadId, owner: "holder", epoch: 1, ttlMs: 1, signal, clockOffsetMs: 0 });
        }
        override save(state: AgentState, threadId: string, { lease: _, ...given }: SaveOptions = {}): Promise<string> {
          return super.save(state, threadId, given);
        }
      })(log, options),
    caughtBy: [
      "the holder of a lease saves, others are refused and nothing of theirs is written",
      "a lease that is held cannot be taken",
      "a lease that ran out can be taken, and its old holder is fenced off",
    ],
  },
  {
    fault: "replaces what is unsafe in an id",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override save(state: AgentState, threadId: string, given: SaveOptions = {}): Promise<string> {
          return super.save(state, safe(threadId), { ...given, expectedHead: uncheckedHead });
        }
        override load(threadId: string, ref: CheckpointRef = {}): Promise<AgentState | undefined> {
          return super.load(safe(threadId), ref);
        }
      })(log, options),
    caughtBy: ["every hostile id is a thread of its own, in every reading method"],
  },
  {
    fault: "writes the whole state at every save",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async save(state: AgentState, threadId: string, given: SaveOptions = {}): Promise<string> {
          return super.save(AgentState.fromFields(state.fields), threadId, { expectedHead: uncheckedHead, ...given });
        }
      })(log, options),
    caughtBy: ["what a save writes does not grow with the thread"],
  },
  {
    fault: "can be used after it was closed",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async close(): Promise<void> {}
      })(log, options),
    caughtBy: ["after close every call is CLOSED", "disposing closes"],
  },
];

const safe = (id: string): string => (typeof id === "string" ? id.replace(/[^\w-]/g, "_") : id);
