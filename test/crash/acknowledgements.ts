import { setTimeout as sleep } from "node:timers/promises";
import type { Fuse } from "./fuse.ts";

/**
 * How a storage answers. `late`: every write takes a while to arrive and a while to be
 * acknowledged, and the run continues meanwhile. The others are about the n-th write of
 * a process, which never gets the answer and is dead soon after: `unacknowledged` was
 * made, `dropped` never arrived, `straggling` arrives when the process is dead and
 * another one is at work.
 */
export type Acknowledgements =
  | { readonly kind: "at once" | "late" }
  | { readonly kind: "unacknowledged" | "dropped" | "straggling"; readonly write: number };

/** So often is a process found at rest that waits for an answer, before it dies: its other work got as far as it could. */
const AT_REST = 4;
const WHILE_MS = 2;

/** Puts these manners around the writes of one process. */
export function answering(acks: Acknowledgements, fuse: Fuse): <T>(write: () => Promise<T>) => Promise<T> {
  let writes = 0;
  return async (write) => {
    writes++;
    if (!("write" in acks)) {
      if (acks.kind === "at once") return fuse.storing(write);
      const answer = await fuse.storing(async () => {
        await turns(3);
        return write();
      });
      await turns(3);
      return answer;
    }
    if (writes !== acks.write) return fuse.storing(write);
    if (acks.kind === "unacknowledged") await fuse.storing(write);
    void atRest(fuse).then(() => fuse.blow(`write ${acks.kind}`));
    if (acks.kind === "straggling") {
      await fuse.blown;
      await sleep(WHILE_MS);
      await write();
    }
    return fuse.never;
  };
}

async function atRest(fuse: Fuse): Promise<void> {
  for (let [moves, found] = [fuse.moves, 0]; found < AT_REST; ) {
    await sleep(1);
    found = fuse.moves === moves && !fuse.isStoring ? found + 1 : 0;
    moves = fuse.moves;
  }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
