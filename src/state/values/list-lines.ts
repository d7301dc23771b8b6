import { own } from "./doorway.ts";
import { GrownList, type HeldList, type ListEnd } from "./grown-list.ts";
import { isMarked, makeNote, noteOn } from "./mark.ts";

/**
 * How the lists of states came from one another. They are immutable, and the
 * next one nearly always is the one before with something added, or with an item
 * near its end replaced. Whoever knows something of a list then looks only at
 * what is new. A list of any other descent is looked through from its beginning.
 */

/** Lists, each made from the one before it. A second list made from one of them begins a line of its own. */
interface Line {
  /** Of the newest list. The first one has 0. */
  newest: number;
  /** Of the newest versions: how many items each has in common with the one before, counted from the beginning. */
  readonly kept: number[];
  readonly facts: Map<object, Known>;
}

interface Place {
  readonly line: Line;
  readonly version: number;
  /** The items of this list, in an array that nobody else has and that may grow. Only the newest list of a line has one. */
  draft: unknown[] | undefined;
}

/** What is known of the first `length` items of one version. */
interface Known {
  readonly version: number;
  readonly length: number;
  readonly fact: unknown;
}

/** More changes than any step makes, so that a line stays small however long it is. */
const VERSIONS = 256;

/** It is a note on the list itself: a WeakMap of all lists cost every save, and every collection of garbage. */
const knownPlace = (list: object): Place | undefined => noteOn(list) as Place | undefined;

/** A list of unknown descent is the first of its line. Only a list that cannot change has a place in one. */
function placeOf(list: object): Place | undefined {
  const known = knownPlace(list);
  if (known !== undefined || !isMarked(list)) return known;
  const place: Place = { line: { newest: 0, kept: [], facts: new Map() }, version: 0, draft: undefined };
  makeNote(list, place);
  return place;
}

/** Notes that `list` was made from `before`, whose first `kept` items it begins with. Returns `list`. */
export function madeFrom<List extends object>(before: object, list: List, kept: number): List {
  // Nothing in common is nothing to go on from; and the empty list, which all new states share, must not hold a line.
  const place = kept === 0 ? undefined : placeOf(before);
  if (place === undefined || place.version !== place.line.newest) return list;
  const { line } = place;
  line.newest++;
  line.kept.push(kept);
  if (line.kept.length >= 2 * VERSIONS) line.kept.splice(0, VERSIONS);
  makeNote(list, { line, version: line.newest, draft: undefined } satisfies Place);
  return list;
}

/** From this length on, a copy costs more than all else that adding does. */
const LONG = 2048;

export const isLong = (list: ListEnd<unknown>): boolean => list.length >= LONG;

/**
 * A new list: all of `list`, then `items`. Spread, because `concat` and `slice` look at a frozen list item by item. Two
 * copies, each in one piece, are quicker than one that has to grow; a long list makes do with one, by its draft.
 */
export function longer<T>(list: readonly T[], items: readonly T[]): readonly T[] {
  if (!isLong(list)) return madeFrom(list, own([...list].concat([...items])), list.length);
  const draft = takeDraft(list) ?? [...list];
  for (const item of items) draft.push(item);
  const made = madeFrom(list, own(draft.slice()), list.length);
  const place = placeOf(made);
  if (place !== undefined) place.draft = draft;
  return made;
}

/** The same for a conversation, which is read less often than it grows: a long one is put together when it is read. */
export function grownBy<T>(list: HeldList<T>, items: readonly T[]): HeldList<T> {
  if (!(list instanceof GrownList || isLong(list))) return longer(list, items);
  const grown = madeFrom(list, GrownList.of(list, items), list.length);
  // It has its place before it is read: the plain list that it becomes then has the same one.
  placeOf(grown);
  return grown;
}

/** Whoever takes it may change it: the list has none from then on. */
function takeDraft<T>(list: readonly T[]): T[] | undefined {
  const place = knownPlace(list);
  const draft = place?.draft as T[] | undefined;
  if (place !== undefined) place.draft = undefined;
  return draft;
}

/** How many items two lists are known to begin with in common. There may be more. */
export function knownInCommon(a: HeldList<unknown>, b: HeldList<unknown>): number {
  const base = GrownList.baseOf(a);
  return Math.max(inLine(a, b), base === GrownList.baseOf(b) ? base.length : 0);
}

function inLine(a: HeldList<unknown>, b: HeldList<unknown>): number {
  const one = knownPlace(a);
  const other = knownPlace(b);
  if (one === undefined || other === undefined || one.line !== other.line) return 0;
  return Math.min(keptBetween(one.line, one.version, other.version), a.length, b.length);
}

function keptBetween({ newest, kept }: Line, one: number, other: number): number {
  const [older, newer] = one < other ? [one, other] : [other, one];
  const first = newest - kept.length;
  if (older < first) return 0;
  let least = Number.POSITIVE_INFINITY;
  for (let version = older; version < newer; version++) least = Math.min(least, kept[version - first] ?? 0);
  return least;
}

/**
 * Something that follows from the items of a list one after the other, and is
 * not found again for those that were looked at in an earlier version of it.
 * `mayChange` last items are left out, because they are likely to be replaced.
 */
export class ListFact<Item, Fact> {
  readonly #start: () => Fact;
  readonly #add: (fact: Fact, item: Item, index: number) => Fact;
  readonly #mayChange: number;

  /** `add` may change the fact that it is given, which nobody else has then. */
  constructor(start: () => Fact, add: (fact: Fact, item: Item, index: number) => Fact, mayChange = 0) {
    this.#start = start;
    this.#add = add;
    this.#mayChange = mayChange;
  }

  /** The fact, and of how many items it tells. It holds until the next call. */
  of(list: HeldList<Item>): { readonly fact: Fact; readonly length: number } {
    const end = Math.max(0, list.length - this.#mayChange);
    const place = placeOf(list);
    const known = place?.line.facts.get(this);
    const isUsable =
      known !== undefined &&
      place !== undefined &&
      known.length <= end &&
      known.length <= keptBetween(place.line, place.version, known.version);
    let fact = isUsable ? (known.fact as Fact) : this.#start();
    const begin = isUsable ? known.length : 0;
    const [items, first] = list instanceof GrownList ? [list.from(begin), begin] : [list, 0];
    for (let index = begin; index < end; index++) fact = this.#add(fact, items[index - first] as Item, index);
    if (place !== undefined && (isUsable || known === undefined || known.version <= place.version)) {
      place.line.facts.set(this, { version: place.version, length: end, fact });
    }
    return { fact, length: end };
  }
}
