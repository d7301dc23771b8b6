import { own } from "./doorway.ts";
import { makeNote, noteOn } from "./mark.ts";

/**
 * A long list to which something was added. It is put together when somebody
 * reads it first: until then an addition costs what it adds, and nothing is
 * copied. Immutable for everybody who has one: two lists that continue the same
 * list never see each other's items.
 */

/** Items in their order behind those of `before`, all of which belong to every list that holds this chunk. */
interface Chunk<T> {
  readonly before: Chunk<T> | undefined;
  /** Grows at its end while it is the last chunk of a list; each list knows how many of its items it has. */
  readonly items: T[];
  /** Others stand behind it: it grows no more. */
  isClosed: boolean;
}

/** A list in one piece, which other lists begin with. */
interface Base<T> {
  readonly list: readonly T[];
  /** It was put together itself: those who read after each addition are about to do so again. */
  readonly wasRead: boolean;
  /** The same items in an array that nobody else has, for whoever continues the list first and is read. */
  draft: T[] | undefined;
}

/** How many items more than its own a list may keep alive: those that others added to its last chunk. */
export const CHUNK = 256;

/** What a list and a list that is not put together yet can do without a copy. */
export interface ListEnd<T> {
  readonly length: number;
  at(index: number): T | undefined;
  findLast(test: (item: T) => boolean): T | undefined;
}

export type HeldList<T> = readonly T[] | GrownList<T>;

export class GrownList<T> implements ListEnd<T> {
  readonly length: number;
  /** What this list begins with; the whole once it was read. */
  #base: Base<T>;
  #last: Chunk<T> | undefined;
  /** The items of the last chunk that are in this list. */
  readonly #count: number;

  private constructor(base: Base<T>, last: Chunk<T> | undefined, count: number, length: number) {
    this.#base = base;
    this.#last = last;
    this.#count = count;
    this.length = length;
  }

  /** All of `list`, then `items`. */
  static of<T>(list: HeldList<T>, items: readonly T[]): GrownList<T> {
    const grown = list instanceof GrownList ? list : new GrownList(unread(list), undefined, 0, list.length);
    const last = grown.#chunkWith(items);
    return own(new GrownList(grown.#base, last, last.items.length, grown.length + items.length));
  }

  #chunkWith(items: readonly T[]): Chunk<T> {
    const last = this.#last;
    if (last === undefined) return { before: undefined, items: [...items], isClosed: false };
    if (last.items.length > this.#count) {
      // Another list went on from here: its items stay its own.
      return { before: last.before, items: [...last.items.slice(0, this.#count), ...items], isClosed: false };
    }
    if (last.isClosed || this.#count + items.length > CHUNK) {
      last.isClosed = true;
      return { before: last, items: [...items], isClosed: false };
    }
    for (const item of items) last.items.push(item);
    return last;
  }

  /** The list in one piece, which nothing is added to any more. */
  static baseOf<T>(list: HeldList<T>): readonly T[] {
    return list instanceof GrownList ? list.#base.list : list;
  }

  /** The plain list, the same one every time. */
  list(): readonly T[] {
    if (this.#last === undefined) return this.#base.list;
    const added = this.#itemsFrom(this.#base.list.length);
    const draft = takeDraft(this.#base);
    for (const item of added) draft?.push(item);
    const list = own(draft?.slice() ?? joined(this.#base.list, added));
    makeNote(list, noteOn(this));
    this.#base = { list, wasRead: true, draft };
    this.#last = undefined;
    return list;
  }

  at(index: number): T | undefined {
    const place = index < 0 ? this.length + index : index;
    if (place < this.#base.list.length) return this.#base.list[place];
    // Behind the end, the last chunk may hold what others added.
    if (place >= this.length) return undefined;
    for (const { items, begin } of this.#chunks()) if (begin <= place) return items[place - begin];
    return undefined;
  }

  findLast(test: (item: T) => boolean): T | undefined {
    for (const { items, count } of this.#chunks()) {
      const found = lastOf(items, count, test);
      if (found !== undefined) return found;
    }
    return lastOf(this.#base.list, this.#base.list.length, test);
  }

  /** The items from `index` on. */
  from(index: number): readonly T[] {
    if (index === 0) return this.list();
    const items: T[] = [];
    const { list } = this.#base;
    for (let place = index; place < list.length; place++) items.push(list[place] as T);
    for (const item of this.#itemsFrom(Math.max(index, list.length))) items.push(item);
    return items;
  }

  /** They are nearly always in the last chunk. */
  #itemsFrom(index: number): T[] {
    const start = this.length - this.#count;
    if (this.#last !== undefined && index >= start) return this.#last.items.slice(index - start, this.#count);
    const parts: (readonly T[])[] = [];
    for (const { items, begin, count } of this.#chunks()) {
      if (begin + count <= index) break;
      parts.push(items.slice(Math.max(0, index - begin), count));
    }
    const all: T[] = [];
    for (const part of parts.reverse()) for (const item of part) all.push(item);
    return all;
  }

  /** From the last one to the first, and where each begins in the list. */
  *#chunks(): Generator<{ readonly items: readonly T[]; readonly begin: number; readonly count: number }> {
    let begin = this.length;
    let count = this.#count;
    for (let chunk = this.#last; chunk !== undefined; chunk = chunk.before) {
      if (chunk !== this.#last) count = chunk.items.length;
      begin -= count;
      yield { items: chunk.items, begin, count };
    }
  }
}

const unread = <T>(list: readonly T[]): Base<T> => ({ list, wasRead: false, draft: undefined });

/** `undefined` if it would not pay. Whoever takes it may change it: the base has none from then on. */
function takeDraft<T>(base: Base<T>): T[] | undefined {
  const draft = base.wasRead ? (base.draft ?? [...base.list]) : undefined;
  base.draft = undefined;
  return draft;
}

/**
 * Two copies, each in one piece, are quicker than one that has to grow. And a
 * spread, because `concat` and `slice` look at a frozen list item by item.
 */
const joined = <T>(list: readonly T[], added: readonly T[]): T[] => [...list].concat(added);

function lastOf<T>(items: readonly T[], count: number, test: (item: T) => boolean): T | undefined {
  for (let index = count - 1; index >= 0; index--) {
    const item = items[index] as T;
    if (test(item)) return item;
  }
  return undefined;
}

export const isHeldList = (value: unknown): value is HeldList<unknown> =>
  Array.isArray(value) || value instanceof GrownList;

export const wholeList = <T>(list: HeldList<T>): readonly T[] => (list instanceof GrownList ? list.list() : list);
