/**
 * A mark on objects that passed the doorway. It is a private field, which nobody
 * outside this file can see, copy or forge, and which neither JSON, a spread nor
 * a listing of keys shows. A `WeakSet` would do the same, but filling one for
 * every part of a long conversation cost more than parsing it.
 */

/** The depth and size of an owned value once every shared part is written out. */
export interface Measure {
  readonly depth: number;
  readonly size: number;
}

/** A constructor that returns what it was given, so that a subclass adds its fields to that. */
class Given {
  constructor(value: object) {
    // biome-ignore lint/correctness/noConstructorReturn: returning another object is the point
    return value;
  }
}

class Mark extends Given {
  #measure: Measure | undefined = undefined;
  #note: unknown = undefined;

  static isOn(value: object): value is Mark {
    return #measure in value;
  }

  static measureOf(value: object): Measure | undefined {
    return #measure in value ? value.#measure : undefined;
  }

  static keep(value: object, measure: Measure): void {
    if (#measure in value) value.#measure = measure;
  }

  static noteOn(value: object): unknown {
    return #measure in value ? value.#note : undefined;
  }

  static note(value: object, note: unknown): void {
    if (#measure in value) value.#note = note;
  }
}

/** Marks an object that is not frozen yet: JavaScript is about to refuse new private fields on frozen ones. */
export function marked<T extends object>(value: T): T {
  if (!Mark.isOn(value)) new Mark(value);
  return value;
}

export const isMarked = (value: object): boolean => Mark.isOn(value);

export const knownMeasure = (value: object): Measure | undefined => Mark.measureOf(value);

/** Remembers the measure of a marked object. */
export const keepMeasure = (value: object, measure: Measure): void => Mark.keep(value, measure);

/** What the one module that looks after this kind of object (lists, fields) noted on a marked one. */
export const noteOn = (value: object): unknown => Mark.noteOn(value);

export const makeNote = (value: object, note: unknown): void => Mark.note(value, note);
