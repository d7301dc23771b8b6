import type { AgentState } from "../../state/agent-state.ts";
import type { Place } from "../run/only-writer.ts";
import type { SessionStorage, ThreadHold } from "./thread-session.ts";

/** The thread of a run as its session sees it: each save carries the lease. */
export function sessionStorage({ checkpointer, threadId, riding, lease }: Place): SessionStorage {
  const time = new LeaseTime();
  const save = (state: AgentState, ends: boolean, consumes: readonly string[] = []): Promise<string> =>
    time.confirmedBy(async () => {
      const held = riding?.terms(ends) ?? lease;
      const options = {
        metadata: state.metadata,
        ...(held !== undefined && { lease: held }),
        ...(consumes.length > 0 && { consumes }),
      };
      const checkpointId = await checkpointer.save(state, threadId, options);
      riding?.saved(state);
      return checkpointId;
    });
  if (riding !== undefined) {
    const hold: ThreadHold = {
      get isHeld() {
        return riding.isHeld;
      },
      get mayHaveRunOut() {
        return time.mayBeOver(riding.ttlMs);
      },
      renewEveryMs: Math.min(riding.ttlMs / 3, LONGEST_TIMER_MS),
      mark: (state, ends) => time.confirmedBy(() => riding.mark(state, ends)),
    };
    return { save, hold };
  }
  if (lease === undefined) return { save };
  // Taken, renewed and released around the run, by the checkpointer itself. Only a save finds out whether it still counts.
  const hold: ThreadHold = {
    isHeld: true,
    get mayHaveRunOut() {
      return time.mayBeOver(lease.ttlMs);
    },
    renewEveryMs: LONGEST_TIMER_MS,
    mark: async (state, ends) => {
      if (!ends) await save(state, false);
    },
  };
  return { save, hold };
}

/** A timer that is asked for more fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

/** The rest is for what the clocks of two machines differ by. */
const TRUSTED_PART = 2 / 3;

/**
 * For how long a lease certainly counts: from when the last write that the storage
 * accepted was begun. A monotonic clock stands still while a virtual machine is
 * suspended and a wall clock may be set back, so the longer of the two times counts.
 */
class LeaseTime {
  #confirmed: Moment | undefined;

  async confirmedBy<T>(write: () => Promise<T>): Promise<T> {
    const began = moment();
    const written = await write();
    this.#confirmed = began;
    return written;
  }

  mayBeOver(ttlMs: number): boolean {
    if (this.#confirmed === undefined) return true;
    const { wall, monotonic } = moment();
    const passed = Math.max(wall - this.#confirmed.wall, monotonic - this.#confirmed.monotonic);
    return passed >= ttlMs * TRUSTED_PART;
  }
}

const moment = (): Moment => ({ wall: Date.now(), monotonic: performance.now() });
