import type { StateFields } from "./state-fields.ts";

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
   * id in several stores. The latest comes first.
   */
  readonly origins: Map<string, readonly Origin[]>;
}

/**
 * How many stores and checkpointers are remembered per thread id. The number of
 * threads is unlimited: somebody may continue from any of them.
 */
const MAX_STORES = 64;
/** A parent that knows at most this many threads is copied rather than kept alive. */
const FEW_THREADS = 32;
const cells = new WeakMap<object, Cell>();

export function deriveLineage(child: object, parent: object): void {
  cells.set(child, { parent: cellOf(parent), origins: new Map() });
}

/** Every place of `state` in threads of this id. */
export function findOrigins(state: object, threadId: string): readonly Origin[] {
  for (let cell = cells.get(state); cell !== undefined; cell = cell.parent) {
    const origins = cell.origins.get(threadId);
    if (origins !== undefined) return origins;
  }
  return [];
}

/** Its place in that thread of the store that this checkpointer works on. */
export const findOrigin = (state: object, threadId: string, checkpointer: string): Origin | undefined =>
  findOrigins(state, threadId).find(({ knownTo }) => knownTo.includes(checkpointer));

/**
 * Records where `state` now is. Cuts the link to the parent if possible, so that a
 * long run does not keep its whole past in memory.
 */
export function rememberOrigin(
  state: object,
  threadId: string,
  checkpointer: string,
  origin: Omit<Origin, "knownTo">,
): void {
  const cell = cellOf(state);
  const known = findOrigins(state, threadId);
  const same = known.find(({ generation }) => generation === origin.generation);
  const others = known
    .filter((other) => other !== same)
    .map((other) => ({ ...other, knownTo: without(other.knownTo, checkpointer) }))
    .filter(({ knownTo }) => knownTo.length > 0);
  const knownTo = [checkpointer, ...without(same?.knownTo ?? [], checkpointer)].slice(0, MAX_STORES);
  cell.origins.set(threadId, [{ ...origin, knownTo }, ...others].slice(0, MAX_STORES));
  shorten(cell);
}

const without = (names: readonly string[], name: string): readonly string[] => names.filter((other) => other !== name);

/**
 * Copies what the ancestors know, nearest first. A parent that knows very many
 * threads (a state that thousands of threads began with) is only linked, because
 * each of its children would carry a copy. It is copied once the child knows half
 * as many, so that the path upwards stays short.
 */
function shorten(cell: Cell): void {
  for (let above = cell.parent; above !== undefined; above = cell.parent) {
    if (above.origins.size > 2 * Math.max(FEW_THREADS / 2, cell.origins.size)) return;
    for (const [threadId, origins] of above.origins) {
      if (!cell.origins.has(threadId)) cell.origins.set(threadId, origins);
    }
    cell.parent = above.parent;
  }
}

function cellOf(state: object): Cell {
  let cell = cells.get(state);
  if (cell === undefined) {
    cell = { parent: undefined, origins: new Map() };
    cells.set(state, cell);
  }
  return cell;
}
