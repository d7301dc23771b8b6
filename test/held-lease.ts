import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import type { Lease } from "../src/checkpoint/lease/lease.ts";

export interface HeldLease {
  readonly lease: Lease;
  readonly letGo: () => Promise<void>;
}

/** Holds the lease of thread "t" until told to let go, as a process would that was stopped in the middle. */
export async function holdLease(checkpointer: Checkpointer, owner: string, ttlMs: number): Promise<HeldLease> {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  let taken: (lease: Lease) => void = () => undefined;
  const lease = new Promise<Lease>((resolve) => {
    taken = resolve;
  });
  const work = (got: Lease): Promise<void> => {
    taken(got);
    return gate;
  };
  const done = checkpointer.withLease("t", work, { owner, ttlMs });
  return {
    lease: await Promise.race([lease, done.then(() => lease)]),
    letGo: () => {
      open();
      return done;
    },
  };
}
