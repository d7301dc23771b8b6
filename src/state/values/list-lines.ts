import { own } from "./doorway.ts";
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
}

/** What a list can do, and one that is not put together yet (`conversation.ts`). */
export interface ListEnd<T> {
  readonly length: number;
  at(index: number): T | undefined;
  findLast(test: (item: T) => boolean): T | undefined;
}

interface Unread<T> extends ListEnd<T> {
  from(index: number): readonly T[];
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
export function placeOf(list: object): Place | undefined {
  const known = knownPlace(list);
  if (known !== undefined || !isMarked(list)) return known;
  const place: Place = { line: { newest: 0, kept: [], facts: new Map() }, version: 0 };
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
  makeNote(list, { line, version: line.newest } satisfies Place);
  return list;
}

/** A new list: all of `list`, then `items`. Spread, because `concat` and `slice` look at a frozen list item by item. */
export const longer = <T>(list: readonly T[], items: readonly T[]): readonly T[] =>
  madeFrom(list, own([...list].concat([...items])), list.length);

/** How many items two lists are known to begin with in common. There may be more. */
export function knownInCommon(a: ListEnd<unknown>, b: ListEnd<unknown>): number {
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
  of(list: readonly Item[] | Unread<Item>): { readonly fact: Fact; readonly length: number } {
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
    const [items, first] = Array.isArray(list) ? [list, 0] : [(list as Unread<Item>).from(begin), begin];
    for (let index = begin; index < end; index++) fact = this.#add(fact, items[index - first] as Item, index);
    if (place !== undefined && (isUsable || known === undefined || known.version <= place.version)) {
      place.line.facts.set(this, { version: place.version, length: end, fact });
    }
    return { fact, length: end };
  }
}
