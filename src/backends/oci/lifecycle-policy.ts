import { DEFAULT_PREFIX } from "../../checkpoint/bucket-log/bucket-checkpointer.ts";
import { checkedPrefix, Layout } from "../../checkpoint/bucket-log/layout.ts";
import { StateError } from "../../errors.ts";

/** What `putObjectLifecyclePolicy` takes as `putObjectLifecyclePolicyDetails`. */
export interface OciLifecyclePolicy {
  readonly items: readonly {
    readonly name: string;
    readonly action: "DELETE";
    readonly timeAmount: number;
    readonly timeUnit: "DAYS";
    readonly isEnabled: true;
    readonly target: "objects";
    readonly objectNameFilter: { readonly inclusionPrefixes: readonly string[] };
  }[];
}

/**
 * A rule that expires threads that were not saved for this many days. It matches only
 * the threads' documents, which every save rewrites: a rule over all objects would
 * delete old pages of threads that are in use. The other objects of expired threads are
 * deleted by the next `removeLeftovers`.
 */
export function ociLifecyclePolicy(options: {
  readonly deleteAfterIdleDays: number;
  readonly prefix?: string;
}): OciLifecyclePolicy {
  const { deleteAfterIdleDays, prefix = DEFAULT_PREFIX } = options;
  if (!(Number.isInteger(deleteAfterIdleDays) && deleteAfterIdleDays >= 1)) {
    throw new StateError("INVALID_ARGUMENT", "deleteAfterIdleDays must be a whole number from 1 on");
  }
  return {
    items: [
      {
        name: "holdfast-idle-threads",
        action: "DELETE",
        timeAmount: deleteAfterIdleDays,
        timeUnit: "DAYS",
        isEnabled: true,
        target: "objects",
        objectNameFilter: { inclusionPrefixes: [new Layout(checkedPrefix(prefix)).documents] },
      },
    ],
  };
}
