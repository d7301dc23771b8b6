/**
 * Parts of JSON that are kept apart from the rest. Two trees are compared, the whole
 * one and one in which parts were replaced. The differences can be put back.
 */

export type Path = readonly (string | number)[];

export interface JsonPart {
  readonly path: Path;
  /** What the whole tree has there. */
  readonly value: unknown;
  /** For an item that was taken out of the list that the path leads to: its place in the whole list. */
  readonly at?: number;
}

type Tree = Record<string, unknown>;

const isObject = (tree: unknown): tree is Tree => typeof tree === "object" && tree !== null && !Array.isArray(tree);

/** The smallest parts in which `replaced` differs from `whole`. Putting them back restores `whole`, in the same order. */
export function partsThatDiffer(whole: unknown, replaced: unknown, path: Path = []): readonly JsonPart[] {
  if (Array.isArray(whole) && Array.isArray(replaced) && whole.length === replaced.length) {
    return whole.flatMap((each, index) => partsThatDiffer(each, replaced[index], [...path, index]));
  }
  if (isObject(whole) && isObject(replaced)) {
    const names = Object.keys(whole);
    const others = Object.keys(replaced);
    if (names.length === others.length && names.every((name, index) => name === others[index])) {
      return names.flatMap((name) => partsThatDiffer(whole[name], replaced[name], [...path, name]));
    }
  } else if (whole === replaced) return [];
  return [{ path, value: whole }];
}

/** The tree with the parts where they belong. The given tree is changed, unless a part is all of it. */
export function withParts(tree: unknown, parts: readonly JsonPart[]): unknown {
  let next = tree;
  const items = parts.filter(({ at }) => at !== undefined).sort((one, other) => (one.at ?? 0) - (other.at ?? 0));
  for (const { path, value, at } of parts) {
    if (at !== undefined) continue;
    const last = path.at(-1);
    if (last === undefined) {
      next = value;
      continue;
    }
    let place = next as Tree;
    for (const step of path.slice(0, -1)) place = place[step] as Tree;
    // A name such as "__proto__" is an ordinary name here.
    Object.defineProperty(place, last, { value, writable: true, enumerable: true, configurable: true });
  }
  for (const { path, value, at = 0 } of items) {
    const list = valueAt(next, path);
    if (Array.isArray(list)) list.splice(at, 0, value);
  }
  return next;
}

/** The texts that were taken out of a list, one by one. `undefined` where something else was done to it. */
export function takenFromList(
  { path, value: whole }: JsonPart,
  left: unknown,
): readonly Required<JsonPart>[] | undefined {
  if (!Array.isArray(whole) || !Array.isArray(left) || !whole.every((each) => typeof each === "string"))
    return undefined;
  return whole.flatMap((value, at) => (left.includes(value) ? [] : [{ path, value, at }]));
}

/** Whether one of them is inside the other, or both are the same. */
export function meet(one: Path, other: Path): boolean {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index++) if (one[index] !== other[index]) return false;
  return true;
}

/** What the tree has there. */
export function valueAt(tree: unknown, path: Path): unknown {
  let place = tree;
  for (const step of path) place = isNode(place) && Object.hasOwn(place, step) ? place[step] : undefined;
  return place;
}

const isNode = (place: unknown): place is Tree => typeof place === "object" && place !== null;
