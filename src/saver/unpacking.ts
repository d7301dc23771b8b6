import { StateError } from "../errors.ts";
import { defineOwn, MAX_DEPTH } from "../state/immutable.ts";
import { type Pool, splitLists } from "./pool.ts";

/** How values under tags of their own are read, for those who wrote them. */
export interface ForeignReader {
  /** Whether this tag is one of theirs. */
  readonly reads: (tag: string) => boolean;
  /** The value behind `{"$":tag,"v":json}`. */
  revive(tag: string, json: string): Promise<unknown>;
  /** For tags around ordinary values: what the value becomes. `undefined` for the others. */
  wrapper(tag: string): ((value: unknown) => unknown) | undefined;
}

export interface UnpackOptions {
  readonly foreign?: ForeignReader | undefined;
  /** Decodes each element once: the values that come out share them. */
  readonly share?: boolean;
}

const MAX_TREE_DEPTH = MAX_DEPTH * 4;

/** Turns the texts of a pool into values, which are the caller's own and can be changed. */
export class Unpacker {
  readonly #pool: Pool;
  readonly #foreign: ForeignReader | undefined;
  readonly #shared: SharedElements | undefined;

  constructor(pool: Pool, { foreign, share = false }: UnpackOptions = {}) {
    this.#pool = pool;
    this.#foreign = foreign;
    this.#shared = share ? new Map() : undefined;
  }

  async value(text: string): Promise<unknown> {
    const reading = new Reading(this.#pool, this.#foreign, this.#shared);
    const value = reading.read(text);
    await reading.whole;
    return current(value);
  }
}

/** Elements by their numbers, and when they are whole: whoever shares one waits for that. */
type SharedElements = Map<number, { readonly value: unknown; readonly whole: Promise<void> }>;

/** A value that somebody is still making. */
class LateValue {
  value: unknown;
}

const current = (value: unknown): unknown => (value instanceof LateValue ? value.value : value);

class Reading {
  readonly #pool: Pool;
  readonly #foreign: ForeignReader | undefined;
  readonly #shared: SharedElements | undefined;
  readonly #waiting: Promise<void>[] = [];
  /** What is left to do when everything that was waited for is there: innermost first. */
  readonly #finish: (() => void)[] = [];

  /** When nothing in what was read is late any more. */
  readonly whole: Promise<void>;

  constructor(pool: Pool, foreign: ForeignReader | undefined, shared: SharedElements | undefined) {
    this.#pool = pool;
    this.#foreign = foreign;
    this.#shared = shared;
    // A reading is made and read in one go, so that all it waits for is known by then.
    this.whole = Promise.resolve().then(() => this.#settle());
    this.whole.catch(() => undefined);
  }

  async #settle(): Promise<void> {
    if (this.#waiting.length > 0) await Promise.all(this.#waiting);
    for (const finish of this.#finish) finish();
  }

  read(text: string): unknown {
    const late = this.#readForeign(text);
    if (late !== undefined) return late;
    const chunks = splitLists(text);
    const json = chunks.map((chunk, index) => (index % 2 === 0 ? chunk : `{"$":"l","v":${chunk}}`)).join("");
    let tree: unknown;
    try {
      tree = JSON.parse(json);
    } catch (cause) {
      throw new StateError("CORRUPT", "a stored value is not JSON", { cause });
    }
    return this.#value(tree, 0);
  }

  /** An element that is nothing but a foreign value is not parsed twice. */
  #readForeign(text: string): LateValue | undefined {
    const found = this.#foreign === undefined ? null : FOREIGN.exec(text);
    const tag = found?.[1];
    if (!found || tag === undefined || !this.#foreign?.reads(tag) || this.#foreign.wrapper(tag)) return undefined;
    return this.#revive(tag, text.slice(found[0].length, -1));
  }

  #revive(tag: string, json: string): LateValue {
    const late = new LateValue();
    const reviving = this.#foreign?.revive(tag, json).then((revived) => {
      late.value = revived;
    });
    if (reviving !== undefined) this.#waiting.push(reviving);
    return late;
  }

  #value(tree: unknown, depth: number): unknown {
    if (typeof tree !== "object" || tree === null) return tree;
    if (depth > MAX_TREE_DEPTH) throw new StateError("CORRUPT", "a stored value is nested too deeply to be ours");
    if (Array.isArray(tree)) return this.#list(tree.map((item) => this.#value(item, depth + 1)));
    const record = tree as Record<string, unknown>;
    return Object.hasOwn(record, "$") ? this.#tagged(record, depth) : this.#members({}, record, depth);
  }

  #list(items: unknown[]): unknown[] {
    if (items.some((item) => item instanceof LateValue)) {
      this.#finish.push(() => {
        for (const [index, item] of items.entries()) items[index] = current(item);
      });
    }
    return items;
  }

  #members(target: object, record: object, depth: number): object {
    for (const [key, item] of Object.entries(record)) {
      const value = this.#value(item, depth + 1);
      defineOwn(target, key, value);
      if (value instanceof LateValue) this.#finish.push(() => defineOwn(target, key, value.value));
    }
    return target;
  }

  #element(id: number): unknown {
    const known = this.#shared?.get(id);
    if (known !== undefined) {
      if (known.whole !== this.whole) this.#waiting.push(known.whole);
      return known.value;
    }
    const value = this.read(this.#pool.element(id));
    this.#shared?.set(id, { value, whole: this.whole });
    return value;
  }

  #tagged(record: Record<string, unknown>, depth: number): unknown {
    const { $: tag, v } = record;
    if (typeof tag === "string" && this.#foreign?.reads(tag) === true) return this.#foreignValue(tag, v, depth);
    switch (tag) {
      case "l":
        return this.#list(this.#pool.list(Number(v)).map((id) => this.#element(id)));
      case "undefined":
        return undefined;
      case "number":
        return v === "-0" ? -0 : Number(v);
      case "bigint":
        return BigInt(String(v));
      case "date":
        return new Date(v === null ? Number.NaN : String(v));
      case "bytes":
        return new Uint8Array(Buffer.from(String(v), "base64"));
      case "buffer":
        return Buffer.from(String(v), "base64");
      case "object":
        return this.#members({}, v as object, depth + 1);
      case "bare":
        return this.#members(Object.create(null), v as object, depth + 1);
      case "map":
        return this.#collection(v, depth, new Map(), (map, pair) => map.set(...(pair as [unknown, unknown])));
      case "set":
        return this.#collection(v, depth, new Set(), (set, item) => set.add(item));
      default:
        throw new StateError("INCOMPATIBLE", `a stored value is of the unknown kind ${JSON.stringify(tag)}`);
    }
  }

  #foreignValue(tag: string, tree: unknown, depth: number): LateValue {
    const wrap = this.#foreign?.wrapper(tag);
    if (wrap === undefined) return this.#revive(tag, JSON.stringify(tree));
    const late = new LateValue();
    const inner = this.#value(tree, depth + 1);
    this.#finish.push(() => {
      late.value = wrap(current(inner));
    });
    return late;
  }

  /** Filled when nothing in it is late any more: what is in a Map or a Set cannot be put right afterwards. */
  #collection<Target>(
    tree: unknown,
    depth: number,
    target: Target,
    add: (target: Target, item: unknown) => void,
  ): Target {
    const items = this.#value(tree, depth + 1) as unknown[];
    const fill = (): void => {
      for (const item of items) add(target, item);
    };
    if (this.#waiting.length === 0 && this.#finish.length === 0) fill();
    else this.#finish.push(fill);
    return target;
  }
}

/** The beginning of a text that is one foreign value. */
const FOREIGN = /^\{"\$":"([a-z]+)","v":/;
