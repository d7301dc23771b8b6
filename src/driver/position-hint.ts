/**
 * An id that is made here for a checkpoint ends with the position it was made
 * for, such as `4f0c…a1-2s`. A driver looks there first, and so needs no index of
 * such ids. It is a hint and proves nothing: a caller's own id may end the same
 * way, and a record may lie elsewhere. Whoever uses it compares the whole id with
 * the one that is found there, and keeps every id that does not lead to its own
 * record in an index.
 */
export const withHint = (id: string, seq: number): string => `${id}-${seq.toString(36)}`;

/** Whether the id leads to this position. */
export const isHintedAt = (id: string, seq: number): boolean => id.endsWith(`-${seq.toString(36)}`);

/** Written as `withHint` writes it, and of a length that a number can hold. */
const HINT = /-([1-9a-z][0-9a-z]{0,9})$/;

/** The position that an id leads to, if any: a whole number from 1, which may be beyond any thread's end. */
export function hintedSeq(id: string): number | undefined {
  const digits = HINT.exec(id)?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 36);
}
