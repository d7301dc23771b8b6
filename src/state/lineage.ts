import type { StateFields } from "./state-fields.ts";

/**
 * Which checkpoint a state came from. Every state has a cell; a derived state's
 * cell points at its parent's, until one of them is saved or was loaded. So a
 * state made before its parent was saved still finds that save, and two states
 * made from one checkpoint stay rivals: the second to be saved gets `CONFLICT`.
 */

/** A checkpoint as a checkpointer wrote or read it. `position` is the checkpointer's own business. */
export interface Origin<Position = unknown> {
  /** The fields of the state that stands there. */
  readonly fields: StateFields;
  /** The thread's generation: made at random, so that it tells threads of one id in different stores apart. */
  readonly generation: string;
  /** Who knows of it: several checkpointers may work on one store. The latest first. */
  readonly knownTo: readonly string[];
  readonly position: Position;
}

interface Cell {
  parent: Cell | undefined;
  /** By thread; more than one where a state lies in threads of one id in several stores. The latest first. */
  readonly origins: Map<string, readonly Origin[]>;
}

/** Stores and checkpointers that are kept in mind for one thread id. Threads are not limited: each is somebody's place to go on from. */
const MAX_STORES = 64;
/** A parent that knows at most so many threads is taken over rather than kept alive. */
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

/** Remembers where `state` now lies. Cuts the way back where it can, so that a long run does not keep its whole past alive. */
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
 * Takes over what is known above, nearest first. A parent that knows very many
 * threads (a state that thousands of threads began with) is left where it is, or
 * each of its children would carry a copy; it is taken over once the child knows
 * half as many, so that the way up stays short.
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
