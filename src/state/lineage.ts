import type { StateFields } from "./state-fields.ts";

/**
 * Which checkpoint a state came from. Every state has a cell; a derived state's
 * cell points at its parent's, until one of them is saved or was loaded. So a
 * state made before its parent was saved still finds that save, and two states
 * made from one checkpoint stay rivals: the second to be saved gets `CONFLICT`.
 */

/** A checkpoint as one checkpointer wrote or read it. `position` is that checkpointer's own business. */
export interface Origin<Position = unknown> {
  readonly fields: StateFields;
  readonly position: Position;
}

interface Cell {
  parent: Cell | undefined;
  /** By checkpointer and thread: a state may live in several stores at once. */
  origins: Map<string, Origin>;
}

/** A state saved into very many threads keeps only the latest of these in mind. */
const MAX_ORIGINS = 16;
const cells = new WeakMap<object, Cell>();

export function deriveLineage(child: object, parent: object): void {
  cells.set(child, { parent: cellOf(parent), origins: new Map() });
}

export function findOrigin(state: object, key: string): Origin | undefined {
  for (let cell = cells.get(state); cell !== undefined; cell = cell.parent) {
    const origin = cell.origins.get(key);
    if (origin !== undefined) return origin;
  }
  return undefined;
}

/** Remembers where `state` now lies. Cuts the way back, so that a long run does not keep its whole past alive. */
export function rememberOrigin(state: object, key: string, origin: Origin): void {
  const cell = cellOf(state);
  if (cell.origins.size === 0 && isAlone(cell.parent, key)) {
    cell.origins.set(key, origin);
    cell.parent = undefined;
    return;
  }
  const origins = new Map<string, Origin>();
  for (let above: Cell | undefined = cell; above !== undefined; above = above.parent) {
    for (const [otherKey, other] of above.origins) if (!origins.has(otherKey)) origins.set(otherKey, other);
  }
  origins.delete(key);
  const kept = [...origins].slice(0, MAX_ORIGINS - 1);
  cell.origins = new Map([[key, origin], ...kept]);
  cell.parent = undefined;
}

/** Whether nothing above is known but where the thread of `key` was: nearly always so, and every save comes by here. */
function isAlone(above: Cell | undefined, key: string): boolean {
  for (let cell = above; cell !== undefined; cell = cell.parent) {
    if (cell.origins.size > 1 || (cell.origins.size === 1 && !cell.origins.has(key))) return false;
  }
  return true;
}

function cellOf(state: object): Cell {
  let cell = cells.get(state);
  if (cell === undefined) {
    cell = { parent: undefined, origins: new Map() };
    cells.set(state, cell);
  }
  return cell;
}
