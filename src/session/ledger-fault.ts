import { StateError } from "../errors.ts";
import type { AppliedMark } from "../state/people/applied-mark.ts";
import type { ErasureLedger, ReadLedger } from "./erasure-ledger.ts";

/** What a backend remembers of this ledger. */
export interface NotedMark {
  readonly name: string;
  readonly mark: AppliedMark;
}

/**
 * What backends remember must be in the ledger. One that was rolled back, or that lost its last entries, would give a
 * number twice, and would not know what has to be erased again in a backup.
 */
export function faultInLedger(noted: readonly NotedMark[], ledger: ReadLedger): string | undefined {
  for (const { name, mark } of noted) {
    const fault =
      faultIn("erasure", mark.appliedTo, mark.erasures, ledger.erasureDigests) ??
      faultIn("receipt", mark.receiptsTo, mark.receipts, ledger.receiptDigests);
    if (fault !== undefined) return `${name} knows ${fault}`;
  }
  return undefined;
}

function faultIn(
  kind: string,
  number: number,
  digest: string | null,
  digests: readonly (string | null)[],
): string | undefined {
  if (number > digests.length) return `${kind} ${number}, and the ledger ends with ${digests.length}`;
  const there = digests[number - 1] ?? null;
  if (number === 0 || digest === null || there === null || there === digest) return undefined;
  return `another ${kind} ${number} than the ledger`;
}

export const wentBack = (fault: string): StateError =>
  new StateError(
    "CORRUPT",
    `the ledger of erasures went back in time, or its last entries were deleted: ${fault}. Nothing was erased and no number was given. Restore the newest copy of the ledger; where there is none, resume({ acceptLostErasures: true }) continues with the next number, and the lost erasures have to be requested again`,
  );

/** The lost entries get their places, so that no number is given twice, and one more, by which every backend's mark is renewed. */
export async function noteLost(
  ledger: ErasureLedger,
  noted: readonly NotedMark[],
  { erasureDigests, receiptDigests }: ReadLedger,
): Promise<void> {
  const marks = noted.map(({ mark }) => mark);
  const most = (numbers: readonly number[]): number => numbers.reduce((a, b) => Math.max(a, b), 0);
  const erasures = most([erasureDigests.length, ...marks.map(({ appliedTo }) => appliedTo)]) + 1;
  const receipts = most([receiptDigests.length, ...marks.map(({ receiptsTo }) => receiptsTo)]) + 1;
  const digestsOf = (pairs: readonly (readonly [number, string | null])[]): ReadonlyMap<number, string> =>
    new Map(pairs.filter((pair): pair is readonly [number, string] => pair[1] !== null));
  await ledger.markLost("erasures", erasures, digestsOf(marks.map((mark) => [mark.appliedTo, mark.erasures])));
  await ledger.markLost("receipts", receipts, digestsOf(marks.map((mark) => [mark.receiptsTo, mark.receipts])));
}
