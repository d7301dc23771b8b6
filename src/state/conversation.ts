import type { StateFields } from "./fields.ts";
import type { Message } from "./message.ts";
import { defineOwn, own } from "./values/doorway.ts";
import { type ListEnd, longer, madeFrom, placeOf } from "./values/list-lines.ts";
import { makeNote, marked, noteOn } from "./values/mark.ts";

/**
 * A long conversation that grew becomes an array when `messages` of its fields is
 * first read. Until then an addition costs what it adds, and so does a save, which
 * needs only the end. If each addition copied 100,000 messages, adding one and
 * saving on SQLite would take 1.6 ms of processor time instead of 0.4. The fields
 * look like any others: only this file, deltas and those who want no more than the
 * end or the length (`conversationOf`) know.
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

  /** How many items two lists begin with in common because they continue the same array. There may be more. */
  static inCommon(a: ConversationList<unknown>, b: ConversationList<unknown>): number {
    const base = GrownList.#baseOf(a);
    return base === GrownList.#baseOf(b) ? base.length : 0;
  }

  static #baseOf(list: ConversationList<unknown>): readonly unknown[] {
    return Array.isArray(list) ? list : (list as GrownList<unknown>).#base;
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

/** The conversation of these fields, for those who need only its end or its length. */
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
