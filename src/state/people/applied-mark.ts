/**
 * What a backend remembers of a ledger of erasures: how far it was carried out here, and which entries that was by. A
 * backend that is older than the ledger lacks erasures; a ledger that is older than a backend has lost some.
 */
export interface AppliedMark {
  readonly ledger: string;
  /** The number of the last erasure that was applied, and the digest of the chain of erasures that ends with it. */
  readonly appliedTo: number;
  readonly erasures: string | null;
  /** The same of receipts: how many there were when this was written. */
  readonly receiptsTo: number;
  readonly receipts: string | null;
}

/**
 * The mark with what is newer in another; `undefined` where nothing is. Erasures of several processes end in any
 * order, and a mark that went back would have finished ones carried out again, on what those people gave since.
 */
export function laterMark(known: AppliedMark | undefined, given: AppliedMark): AppliedMark | undefined {
  if (known?.ledger !== given.ledger) return given;
  const hasErasures = given.appliedTo > known.appliedTo;
  const hasReceipts = given.receiptsTo > known.receiptsTo;
  if (!hasErasures && !hasReceipts) return undefined;
  const { appliedTo, erasures } = hasErasures ? given : known;
  const { receiptsTo, receipts } = hasReceipts ? given : known;
  return { ledger: given.ledger, appliedTo, erasures, receiptsTo, receipts };
}

export function appliedMarkIn(value: Readonly<Record<string, unknown>>): AppliedMark | undefined {
  const { ledger, appliedTo, erasures = null, receiptsTo = 0, receipts = null } = value;
  if (typeof ledger !== "string" || typeof appliedTo !== "number" || typeof receiptsTo !== "number") return undefined;
  if (erasures !== null && typeof erasures !== "string") return undefined;
  if (receipts !== null && typeof receipts !== "string") return undefined;
  return { ledger, appliedTo, erasures, receiptsTo, receipts };
}
