import type { StateFields } from "./fields.ts";
import type { Message } from "./message.ts";
import { defineOwn, isOwned, makeNote, marked, noteOn, own } from "./values/doorway.ts";

/**
 * A long conversation that grew becomes an array when `messages` of its fields is first
 * read. Until then an addition costs what it adds, and so does a save, which needs only
 * the end. If each addition copied 100,000 messages, adding one and saving on SQLite
 * would take 1.6 ms of processor time instead of 0.4. The fields look like any others:
 * only this file, deltas and readers of the end or the length (`conversationOf`) see
 * the difference.
 */

/** Shorter conversations are copied: that costs less than anything else that adding does. */
const LONG = 2048;

/** How many items are added before a copy is made, so that no list keeps more than these of later ones alive. */
export const MOST_ADDED = 256;

/** A list and what was added to it, which is shared with the lists that continue this one. */
export class GrownList<T> implements ListEnd<T> {
  readonly length: number;
  #base: readonly T[];
  /** Those behind the first `length` are others'. */
  #added: T[];

  private constructor(base: readonly T[], added: T[]) {
    this.#base = base;
    this.#added = added;
    this.length = base.length + added.length;
  }

  /** All of `list`, then `items`. */
  static of<T>(list: ConversationList<T>, items: readonly T[]): GrownList<T> {
    if (Array.isArray(list)) return own(new GrownList(list, [...items]));
    const grown = list as GrownList<T>;
    const count = grown.length - grown.#base.length;
    if (count + items.length > MOST_ADDED) return own(new GrownList(grown.list(), [...items]));
    const added = grown.#added.length === count ? grown.#added : grown.#added.slice(0, count);
    added.push(...items);
    return own(new GrownList(grown.#base, added));
  }

  /** The array that the list continues, which others may continue too. */
  static baseOf(list: object): unknown {
    return #base in list ? list.#base : list;
  }

  /** The array, the same one every time. */
  list(): readonly T[] {
    if (this.length === this.#base.length) return this.#base;
    // A spread first: `concat` and `slice` look at a frozen list item by item.
    this.#base = own([...this.#base].concat(this.#own()));
    this.#added = [];
    makeNote(this.#base, noteOn(this));
    return this.#base;
  }

  #own(): readonly T[] {
    return this.#added.slice(0, this.length - this.#base.length);
  }

  at(index: number): T | undefined {
    const place = index < 0 ? this.length + index : index;
    if (place >= this.length) return undefined;
    return place < this.#base.length ? this.#base[place] : this.#added[place - this.#base.length];
  }

  findLast(test: (item: T) => boolean): T | undefined {
    return this.#own().findLast(test) ?? this.#base.findLast(test);
  }

  /** The items from `index` on. */
  from(index: number): readonly T[] {
    if (index === 0) return this.list();
    const items: T[] = [];
    for (let place = index; place < this.#base.length; place++) items.push(this.#base[place] as T);
    const own = this.#own();
    return items.length > 0 ? items.concat(own) : own.slice(index - this.#base.length);
  }
}

export type ConversationList<T = Message> = readonly T[] | GrownList<T>;

/** All of `list`, then `items`. */
export function grownBy<T>(list: ConversationList<T>, items: readonly T[]): ConversationList<T> {
  if (Array.isArray(list) && list.length < LONG) return longer(list, items);
  const grown = madeFrom(list, GrownList.of(list, items), list.length);
  // It has its place before it is read: the array that it becomes then has the same one.
  placeOf(grown);
  return grown;
}

const MESSAGES = "messages";

/** Of fields whose conversation grew long. It stays when it was read: equal conversations are the same object. */
const grownOf = new WeakMap<object, GrownList<Message>>();

/**
 * The conversation of these fields, for readers that need only its end or its length.
 */
export const conversationOf = (fields: Pick<StateFields, "messages">): ConversationList =>
  grownOf.get(fields) ?? fields.messages;

/** `fields` with some replaced. Values must be owned; `messages` may be a list that was not read yet. */
export function fieldsWith(fields: StateFields, changes: Readonly<Record<string, unknown>>): StateFields {
  const conversation = (changes["messages"] ?? conversationOf(fields)) as ConversationList;
  if (!(conversation instanceof GrownList)) return own({ ...fields, ...changes });
  const made: Record<string, unknown> = marked({});
  for (const name of Object.keys(fields)) {
    if (name === MESSAGES) defineOnRead(made, conversation);
    else defineOwn(made, name, fields[name as keyof StateFields]);
  }
  for (const name of Object.keys(changes)) if (name !== MESSAGES) defineOwn(made, name, changes[name]);
  grownOf.set(made, conversation);
  return made as unknown as StateFields;
}

/** Until it is read, which freezes them. No user sees fields before. */
function defineOnRead(fields: object, conversation: GrownList<Message>): void {
  const get = (): readonly Message[] => {
    const value = conversation.list();
    Object.defineProperty(fields, MESSAGES, { value, writable: false });
    Object.freeze(fields);
    return value;
  };
  Object.defineProperty(fields, MESSAGES, { get, enumerable: true, configurable: true });
}

/**
 * How the lists of states came from one another. They are immutable, and the next one
 * nearly always is the one before with an item added, or with an item near its end
 * replaced. Derived facts are therefore extended incrementally. A list of any other
 * descent is scanned from its beginning.
 */

/** Lists, each made from the one before it. A second list made from one of them begins a line of its own. */
interface Line {
  /** The version of the newest list. The first one has 0. */
  newest: number;
  /**
   * For each of the newest versions: how many items it has in common with the one before, counted from the
   * beginning.
   */
  readonly kept: number[];
  readonly facts: Map<object, Known>;
}

interface Place {
  readonly line: Line;
  readonly version: number;
}

/** What a list can do, and one that is not put together yet (`GrownList`). */
export interface ListEnd<T> {
  readonly length: number;
  at(index: number): T | undefined;
  findLast(test: (item: T) => boolean): T | undefined;
}

interface Unread<T> extends ListEnd<T> {
  from(index: number): readonly T[];
}

/** A fact derived from the first `length` items of one version. */
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
  if (known !== undefined || !isOwned(list)) return known;
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
  if (one !== undefined && one.line === other?.line) {
    return Math.min(keptBetween(one.line, one.version, other.version), a.length, b.length);
  }
  if (!(a instanceof GrownList || b instanceof GrownList)) return 0;
  // Two that continue one array: it is all that is known of them.
  const base = GrownList.baseOf(a);
  return base === GrownList.baseOf(b) ? (base as readonly unknown[]).length : 0;
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

  /** `add` may modify the fact that it is given: no other version shares it. */
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
