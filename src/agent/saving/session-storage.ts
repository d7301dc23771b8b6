import type { Place } from "../run/only-writer.ts";
import type { SessionStorage } from "./thread-hold.ts";

/** The thread of a run as its session sees it: each save carries the lease. */
export function sessionStorage({ checkpointer, threadId, riding, lease }: Place): SessionStorage {
  return {
    save: async (state, ends) => {
      const held = riding?.terms(ends) ?? lease;
      const options = { metadata: state.metadata, ...(held !== undefined && { lease: held }) };
      const checkpointId = await checkpointer.save(state, threadId, options);
      riding?.saved(state);
      return checkpointId;
    },
    ...(riding !== undefined && {
      hold: {
        get isHeld() {
          return riding.isHeld;
        },
        renewEveryMs: Math.min(riding.ttlMs / 3, LONGEST_TIMER_MS),
        mark: (state, ends) => riding.mark(state, ends),
      },
    }),
  };
}

/** A timer that is asked for more fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
