/** The answers about the store as a whole, about writes, and what went wrong. Types alone, for both ends. */

import type { WalkProgress } from "./api.ts";

export interface HealthAnswer {
  readonly backend: string;
  readonly store: string;
  readonly durability: string;
  readonly durabilityMeans: string;
  readonly flags: readonly { readonly name: string; readonly value: boolean; readonly means: string }[];
  readonly maxRecordBytes: number | null;
  readonly searchMethod: string;
  readonly latency: readonly { readonly what: string; readonly ms: number }[];
  /**
   * How far the storage's clock is ahead of this machine's; absent if the storage has no clock of its
   * own.
   */
  readonly clockAheadMs?: number;
  readonly threads: WalkProgress & { readonly damaged: number };
  readonly process: { readonly heapBytes: number; readonly node: string };
}

/** A line of the stream that proofs answer with. */
export type ProofLine =
  | { readonly type: "progress"; readonly threads: number; readonly records: number }
  | {
      readonly type: "finding";
      readonly threadId: string;
      readonly seq?: number;
      readonly code: string;
      readonly message: string;
      readonly lost: number;
    }
  | { readonly type: "end"; readonly threads: number; readonly records: number; readonly findings: number };

/** A line of the stream that the cases of doctor answer with. */
export type CaseLine =
  | { readonly type: "progress"; readonly done: number; readonly of: number }
  | { readonly type: "failed"; readonly area: string; readonly name: string; readonly message: string }
  | {
      readonly type: "end";
      readonly passed: number;
      readonly failed: number;
      readonly notApplicable: number;
      /** Threads of its own that it could not remove. */
      readonly leftBehind: number;
    };

/** A line of the stream of a thread's new checkpoints. */
export type EventLine =
  | { readonly type: "hello" }
  | { readonly type: "saved"; readonly checkpointId: string; readonly messages: number; readonly at: number };

export interface WrittenAnswer {
  readonly threadId: string;
  readonly checkpointId?: string;
}

export interface DeletePlan {
  readonly planId: string;
  readonly threadId: string;
  readonly checkpoints: number;
  readonly messages: number;
  readonly bytes: number;
  /** Threads that were forked from it, among those read: they stay. */
  readonly forks: readonly string[];
}

export interface Problem {
  readonly code: string;
  readonly title: string;
  readonly detail?: string;
}
