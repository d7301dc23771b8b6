import type { StateFields } from "./fields.ts";

/**
 * Records which checkpoint a state came from. Every state has a cell, and a
 * derived state's cell points to its parent's until one of them is saved or
 * loaded. So a state that was made before its parent was saved still finds that
 * save, and two states made from one checkpoint stay rivals: the second to be
 * saved gets `CONFLICT`.
 */

/** A checkpoint as a checkpointer wrote or read it. `position` is private to the checkpointer. */
export interface Origin<Position = unknown> {
  /** The fields of the state at that checkpoint. */
  readonly fields: StateFields;
  /** The thread's generation. It is random, so it also tells apart threads with the same id in different stores. */
  readonly generation: string;
  /** The checkpointers that know this place: several may work on one store. The latest comes first. */
  readonly knownTo: readonly string[];
  readonly position: Position;
}

interface Cell {
  parent: Cell | undefined;
  /**
   * By thread id. There is more than one place if the state is in threads of one
   * id in several stores. The latest comes first. Made when there is one.
   */
  origins: Map<string, readonly Origin[]> | undefined;
}

/**
 * How many stores and checkpointers are remembered per thread id. The number of threads
 * is unlimited: a caller may continue from any of them.
 */
const MAX_STORES = 64;
/** A parent that knows at most this many threads is copied rather than kept alive. */
const FEW_THREADS = 32;

let cellOf: (state: Descendant) => Cell;

/** Whatever has a lineage. Its cell is a private field: a WeakMap of all states cost every save more than its checksum. */
export abstract class Descendant {
  readonly #cell: Cell;

  constructor(parent?: Descendant) {
    this.#cell = { parent: parent === undefined ? undefined : parent.#cell, origins: undefined };
  }

  static {
    cellOf = (state) => state.#cell;
  }
}

const NO_ORIGINS: readonly Origin[] = [];

/** Every place of `state` in threads of this id. */
export function findOrigins(state: Descendant, threadId: string): readonly Origin[] {
  for (let cell: Cell | undefined = cellOf(state); cell !== undefined; cell = cell.parent) {
    const origins = cell.origins?.get(threadId);
    if (origins !== undefined) return origins;
  }
  return NO_ORIGINS;
}

/** Its place in that thread of the store that this checkpointer works on. */
export function findOrigin(state: Descendant, threadId: string, checkpointer: string): Origin | undefined {
  for (const origin of findOrigins(state, threadId)) if (origin.knownTo.includes(checkpointer)) return origin;
  return undefined;
}

/**
 * Records where `state` now is. Cuts the link to the parent if possible, so that a
 * long run does not keep its whole past in memory.
 */
export function rememberOrigin(
  state: Descendant,
  threadId: string,
  checkpointer: string,
  { fields, generation, position }: Omit<Origin, "knownTo">,
): void {
  const cell = cellOf(state);
  const known = findOrigins(state, threadId);
  const same = known.find((other) => other.generation === generation);
  const others = known.length === (same === undefined ? 0 : 1) ? NO_ORIGINS : othersThan(same, known, checkpointer);
  const before = same?.knownTo ?? [];
  const isLatest = before[0] === checkpointer;
  const knownTo = isLatest ? before : [checkpointer, ...without(before, checkpointer)].slice(0, MAX_STORES);
  const origin = { fields, generation, knownTo, position };
  cell.origins ??= new Map();
  cell.origins.set(threadId, others.length === 0 ? [origin] : [origin, ...others].slice(0, MAX_STORES));
  shorten(cell, cell.origins);
}

/** The places in other stores, as far as other checkpointers know them. */
const othersThan = (same: Origin | undefined, known: readonly Origin[], checkpointer: string): readonly Origin[] =>
  known
    .filter((other) => other !== same)
    .map((other) => ({ ...other, knownTo: without(other.knownTo, checkpointer) }))
    .filter(({ knownTo }) => knownTo.length > 0);

const without = (names: readonly string[], name: string): readonly string[] => names.filter((other) => other !== name);

/**
 * Copies what the ancestors know, nearest first. A parent that knows very many
 * threads (a state that thousands of threads began with) is only linked, because
 * each of its children would carry a copy. It is copied once the child knows half
 * as many, so that the path upwards stays short.
 */
function shorten(cell: Cell, own: Map<string, readonly Origin[]>): void {
  for (let above = cell.parent; above !== undefined; above = cell.parent) {
    if (above.origins !== undefined) {
      if (above.origins.size > 2 * Math.max(FEW_THREADS / 2, own.size)) return;
      for (const [threadId, origins] of above.origins) if (!own.has(threadId)) own.set(threadId, origins);
    }
    cell.parent = above.parent;
  }
}
