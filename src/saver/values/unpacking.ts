import { StateError } from "../../errors.ts";
import { MAX_DEPTH } from "../../state/values/doorway.ts";
import { DAMAGED, isLeafTag, leafOf, TAG } from "../../state/values/tags.ts";
import { type Pool, taggedText, wholeList } from "./pool.ts";

/** Reads values under tags that another package defined. */
export interface ForeignReader {
  /** Whether this reader knows the tag. */
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
  readonly #shared: Shared | undefined;

  constructor(pool: Pool, { foreign, share = false }: UnpackOptions = {}) {
    this.#pool = pool;
    this.#foreign = foreign;
    this.#shared = share ? { elements: new Map(), lists: new Map() } : undefined;
  }

  /** The values of texts, all read in one go. */
  async values(texts: readonly string[]): Promise<unknown[]> {
    const reading = new Reading(this.#pool, this.#foreign, this.#shared);
    const values = reading.readAll(texts);
    if (!reading.isWhole) await reading.whole;
    return values.map(current);
  }

  async value(text: string): Promise<unknown> {
    const [value] = await this.values([text]);
    return value;
  }
}

/** What readings share, by its number in the pool, and the reading that makes it: others wait until that reading is complete. */
interface Shared {
  readonly elements: Map<number, { readonly value: unknown; readonly madeBy: Reading }>;
  /** A list is the first `length` of `items`, which is never handed out: a prefix of a list is copied from it. */
  readonly lists: Map<number, { readonly items: unknown[]; readonly length: number; readonly madeBy: Reading }>;
}

/** A value that is still being made. */
class LateValue {
  value: unknown;
}

const current = (value: unknown): unknown => (value instanceof LateValue ? value.value : value);

class Reading {
  readonly #pool: Pool;
  readonly #foreign: ForeignReader | undefined;
  readonly #shared: Shared | undefined;
  readonly #waiting = new Set<Promise<void>>();
  /** What is left to do when everything that was waited for is there: innermost first. */
  readonly #finish: (() => void)[] = [];
  #isWhole = false;
  #whole: Promise<void> | undefined;

  constructor(pool: Pool, foreign: ForeignReader | undefined, shared: Shared | undefined) {
    this.#pool = pool;
    this.#foreign = foreign;
    this.#shared = shared;
  }

  /** Whether nothing in what was read is late any more. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Resolves when that is so. A reading reads all of its texts before any other can ask. */
  get whole(): Promise<void> {
    this.#whole ??= Promise.all(this.#waiting).then(() => this.#settle());
    return this.#whole;
  }

  readAll(texts: readonly string[]): unknown[] {
    try {
      const values = texts.map((text) => this.read(text));
      if (this.#waiting.size === 0) this.#settle();
      return values;
    } catch (error) {
      // Elements that it made so far may be shared already, and never become whole.
      this.#whole = Promise.reject(error);
      // The caller gets this failure; later ones in parts that are no longer awaited
      // are ignored.
      for (const ignored of [this.#whole, ...this.#waiting]) ignored.catch(() => undefined);
      throw error;
    }
  }

  #settle(): void {
    for (const finish of this.#finish) finish();
    this.#isWhole = true;
  }

  read(text: string): unknown {
    const late = this.#readForeign(text);
    if (late !== undefined) return late;
    const node = wholeList(text);
    if (node !== undefined) return this.#listAt(node);
    const json = taggedText(text);
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
    if (reviving !== undefined) this.#waiting.add(reviving);
    return late;
  }

  /** The tree is the caller's already: what is plain in it stays where it is. */
  #value(tree: unknown, depth: number): unknown {
    if (typeof tree !== "object" || tree === null) return tree;
    if (depth > MAX_TREE_DEPTH) throw new StateError("CORRUPT", "a stored value is nested too deeply to be ours");
    if (Array.isArray(tree)) {
      for (let index = 0; index < tree.length; index++) tree[index] = this.#value(tree[index], depth + 1);
      return this.#list(tree);
    }
    const record = tree as Record<string, unknown>;
    return Object.hasOwn(record, TAG) ? this.#tagged(record, depth) : this.#members(record, depth);
  }

  #listAt(node: number): unknown[] {
    if (this.#shared === undefined) return this.#list(this.#pool.list(node).map((id) => this.#element(id)));
    const { items, length, madeBy } = this.#shared.lists.get(node) ?? this.#shareList(node, this.#shared.lists);
    const copied = items.slice(0, length);
    if (madeBy.isWhole) return copied;
    if (madeBy !== this) this.#waiting.add(madeBy.whole);
    return this.#list(copied);
  }

  /** A list that was not asked for yet, behind as much of it as is known; with it, all of its beginnings are known. */
  #shareList(node: number, lists: Shared["lists"]): { items: unknown[]; length: number; madeBy: Reading } {
    const steps: number[] = [];
    let at = node;
    while (at !== 0 && !lists.has(at)) {
      steps.push(at);
      at = this.#pool.step(at).before;
    }
    const before = lists.get(at);
    if (before !== undefined && before.madeBy !== this && !before.madeBy.isWhole)
      this.#waiting.add(before.madeBy.whole);
    const isLongest = before !== undefined && before.items.length === before.length;
    const items = isLongest ? before.items : (before?.items.slice(0, before.length) ?? []);
    for (const step of steps.reverse()) {
      items.push(this.#element(this.#pool.step(step).element));
      lists.set(step, { items, length: items.length, madeBy: this });
    }
    this.#list(items);
    return { items, length: items.length, madeBy: this };
  }

  #list(items: unknown[]): unknown[] {
    if (items.some((item) => item instanceof LateValue)) {
      this.#finish.push(() => {
        for (let index = 0; index < items.length; index++) items[index] = current(items[index]);
      });
    }
    return items;
  }

  /** Each key is already an own property, so that setting it sets that property, whatever its name. */
  #members(record: Record<string, unknown>, depth: number): Record<string, unknown> {
    for (const key of Object.keys(record)) {
      const item = record[key];
      if (typeof item !== "object" || item === null) continue;
      const value = this.#value(item, depth + 1);
      record[key] = value;
      if (value instanceof LateValue) {
        this.#finish.push(() => {
          record[key] = value.value;
        });
      }
    }
    return record;
  }

  #element(id: number): unknown {
    const known = this.#shared?.elements.get(id);
    if (known !== undefined) {
      const { value, madeBy } = known;
      if (madeBy.isWhole) return current(value);
      if (madeBy !== this) this.#waiting.add(madeBy.whole);
      return value;
    }
    const value = this.read(this.#pool.element(id));
    this.#shared?.elements.set(id, { value, madeBy: this });
    return value;
  }

  #tagged(record: Record<string, unknown>, depth: number): unknown {
    const { $: tag, v } = record;
    if (typeof tag === "string" && this.#foreign?.reads(tag) === true) return this.#foreignValue(tag, v, depth);
    if (isLeafTag(tag)) {
      const leaf = leafOf(tag, v);
      if (leaf === DAMAGED) throw new StateError("CORRUPT", `a stored ${tag} value is damaged`);
      return leaf;
    }
    switch (tag) {
      case "l":
        return this.#listAt(Number(v));
      case "object":
        return this.#members(v as Record<string, unknown>, depth + 1);
      case "bare":
        return Object.setPrototypeOf(this.#members(v as Record<string, unknown>, depth + 1), null);
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
    if (this.#waiting.size === 0 && this.#finish.length === 0) fill();
    else this.#finish.push(fill);
    return target;
  }
}

/** The beginning of a text that is one foreign value. */
const FOREIGN = /^\{"\$":"([a-z]+)","v":/;

/** The tags under which adapters keep values of their own. */
export const FOREIGN_TAGS = {
  /**
   * An instance of a LangChain class, as its serialiser wrote it: JSON in its own format.
   */
  langchain: "lc",
  /** What a serialiser of the user's made of a value. */
  serde: "serde",
  delta: "delta",
  regexp: "regexp",
  error: "error",
} as const;

const TAGS: ReadonlySet<string> = new Set(Object.values(FOREIGN_TAGS));

/** JSON that is not ours: nothing in it is a tag. */
const AS_IT_IS: ReadonlySet<string> = new Set([FOREIGN_TAGS.langchain, FOREIGN_TAGS.serde]);

/** Reads adapters' values as the plain data they are stored as, for readers that only display them. */
export const plainReader: ForeignReader = {
  reads: (tag) => TAGS.has(tag),
  revive: async (_, json) => JSON.parse(json) as unknown,
  wrapper: (tag) => (AS_IT_IS.has(tag) ? undefined : (value) => value),
};
