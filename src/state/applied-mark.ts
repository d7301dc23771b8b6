/** How far the erasures of a ledger were carried out in a backend. */
export interface AppliedMark {
  readonly ledger: string;
  /** The number of the last erasure that was applied. */
  readonly appliedTo: number;
}

/**
 * Whether a backend says so already. Erasures of several processes end in any order, and a mark that
 * went back would have finished ones carried out again, on what those people gave since.
 */
export const isMarked = (known: AppliedMark | undefined, { ledger, appliedTo }: AppliedMark): boolean =>
  known?.ledger === ledger && known.appliedTo >= appliedTo;
