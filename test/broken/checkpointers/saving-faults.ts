import {
  type CheckpointRef,
  type SaveOptions,
  type SearchPage,
  uncheckedHead,
} from "../../../src/checkpoint/base-checkpointer.ts";
import { type CheckpointerCapabilities, capabilities } from "../../../src/checkpoint/capabilities.ts";
import { Checkpointer } from "../../../src/checkpoint/checkpointer.ts";
import { StateError } from "../../../src/errors.ts";
import { AgentState } from "../../../src/state/agent-state.ts";
import type { CheckpointerFault } from "./fault.ts";

export const savingFaults: readonly CheckpointerFault[] = [
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
        override search(): Promise<SearchPage> {
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
    caughtBy: [
      "what a save writes does not grow with the thread",
      "a name that moves with every save costs what is new",
    ],
  },
];

const safe = (id: string): string => (typeof id === "string" ? id.replace(/[^\w-]/g, "_") : id);
