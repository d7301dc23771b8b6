import { faultInShape, type JsonLimits } from "./json-shape.ts";

/** A message that violates the protocol: cut off, garbled, or not ours. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

/** Reads a JSON object field by field; the error names a missing field or one of the wrong type. */
export class Fields {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #what: string;

  constructor(value: unknown, what: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new MalformedMessage(`${what} must be an object`);
    }
    this.#values = value as Record<string, unknown>;
    this.#what = what;
  }

  /** With `limits` for text that a stranger wrote. */
  static parse(text: string, what: string, limits?: JsonLimits): Fields {
    const fault = limits && faultInShape(text, limits);
    if (fault !== undefined) throw new MalformedMessage(`${what} ${fault}`);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new MalformedMessage(`${what} is no whole JSON text`);
    }
    return new Fields(value, what);
  }

  text(name: string): string {
    const value = this.#own(name);
    if (typeof value !== "string") throw this.#fault(name, "a text");
    return value;
  }

  optionalText(name: string): string | undefined {
    return this.#own(name) === undefined ? undefined : this.text(name);
  }

  flag(name: string): boolean {
    const value = this.#own(name);
    if (typeof value !== "boolean") throw this.#fault(name, "true or false");
    return value;
  }

  /** A whole number, 0 or greater. */
  count(name: string): number {
    const value = this.#own(name);
    if (!isCount(value)) throw this.#fault(name, "a whole number from 0 on");
    return value;
  }

  optionalCount(name: string): number | undefined {
    return this.#own(name) === undefined ? undefined : this.count(name);
  }

  number(name: string): number {
    const value = this.#own(name);
    if (typeof value !== "number" || !Number.isFinite(value)) throw this.#fault(name, "a number");
    return value;
  }

  oneOf<Word extends string>(name: string, words: readonly Word[]): Word {
    const value = this.#own(name);
    const found = words.find((word) => word === value);
    if (found === undefined) throw this.#fault(name, `one of ${words.join(", ")}`);
    return found;
  }

  object(name: string): Fields {
    return new Fields(this.#own(name), `${this.#what}.${name}`);
  }

  optionalObject(name: string): Fields | undefined {
    return this.#own(name) === undefined ? undefined : this.object(name);
  }

  objects(name: string): readonly Fields[] {
    return this.#list(name).map((item, index) => new Fields(item, `${this.#what}.${name}[${index}]`));
  }

  texts(name: string): readonly string[] {
    const items = this.#list(name);
    if (!items.every((item) => typeof item === "string")) throw this.#fault(name, "a list of texts");
    return items;
  }

  counts(name: string): readonly number[] {
    const items = this.#list(name);
    if (!items.every(isCount)) throw this.#fault(name, "a list of whole numbers");
    return items;
  }

  /** Refuses an unknown field, because a misspelt one would be ignored silently. */
  only(...names: readonly string[]): this {
    const stray = Object.keys(this.#values).some((name) => !names.includes(name));
    if (stray) throw new MalformedMessage(`${this.#what} has a field that is not known; it takes ${names.join(", ")}`);
    return this;
  }

  /** Of whatever shape: the caller checks it. */
  anything(name: string): unknown {
    return this.#own(name);
  }

  /** Lists of texts. */
  tuples(name: string): readonly (readonly string[])[] {
    const items = this.#list(name);
    const isTuple = (item: unknown): item is readonly string[] =>
      Array.isArray(item) && item.every((each) => typeof each === "string");
    if (!items.every(isTuple)) throw this.#fault(name, "a list of lists of texts");
    return items;
  }

  isNull(name: string): boolean {
    return this.#own(name) === null;
  }

  is(name: string, word: string): boolean {
    return this.#own(name) === word;
  }

  has(name: string): boolean {
    return this.#own(name) !== undefined;
  }

  #list(name: string): readonly unknown[] {
    const value = this.#own(name);
    if (!Array.isArray(value)) throw this.#fault(name, "a list");
    return value;
  }

  /** Looks at own fields only: an answer must never come from a prototype. */
  #own(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
  }

  #fault(name: string, wanted: string): MalformedMessage {
    return new MalformedMessage(`${this.#what}.${name} must be ${wanted}`);
  }
}

/** A whole number, 0 or greater. */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
