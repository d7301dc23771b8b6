import type { CheckpointRef, ListThreadsOptions } from "../../../src/checkpoint/base-checkpointer.ts";
import { Checkpointer } from "../../../src/checkpoint/checkpointer.ts";
import type { Page } from "../../../src/driver/page.ts";
import { StateError } from "../../../src/errors.ts";
import type { AgentState } from "../../../src/state/agent-state.ts";
import type { CheckpointerFault } from "./fault.ts";

const idIn = (ref: string | CheckpointRef | undefined): CheckpointRef => {
  const { checkpointId } = (ref ?? {}) as CheckpointRef;
  return checkpointId === undefined ? {} : { checkpointId };
};

export const optionFaults: readonly CheckpointerFault[] = [
  {
    fault: "deletes the whole thread when a checkpoint id stands where its options belong",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override delete(threadId: string, ref?: string | CheckpointRef): Promise<boolean> {
          return super.delete(threadId, idIn(ref));
        }
      })(log, options),
    caughtBy: [
      "a checkpoint id in the place of options is that checkpoint or refused, and never the whole thread",
      "the short forms are taken: a checkpoint id, its metadata, a number of checkpoints",
      "anything else in the place of options is INVALID_ARGUMENT, and nothing is done",
    ],
  },
  {
    fault: "ignores options that it does not know",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override load(threadId: string, ref?: string | CheckpointRef): Promise<AgentState | undefined> {
          return super.load(threadId, typeof ref === "string" ? ref : idIn(ref));
        }
      })(log, options),
    caughtBy: [
      "an option that does not exist is INVALID_ARGUMENT, and the message names it and the one that was meant",
    ],
  },
  {
    fault: "begins anew at a cursor that it does not know",
    checkpointer: (log, options) =>
      new (class extends Checkpointer {
        override async listThreads({ cursor, ...rest }: ListThreadsOptions = {}): Promise<Page<string>> {
          try {
            return await super.listThreads({ ...rest, ...(cursor !== undefined && { cursor }) });
          } catch (error) {
            if (!StateError.is(error, "INVALID_ARGUMENT")) throw error;
            return super.listThreads(rest);
          }
        }
      })(log, options),
    caughtBy: ["a cursor that another method made, or that was made up, is INVALID_ARGUMENT"],
  },
];
