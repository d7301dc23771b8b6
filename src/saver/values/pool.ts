import { StateError } from "../../errors.ts";
import {
  holdsOf,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  mapParts,
  TAG,
} from "../../state/values/tags.ts";
import { LateText, type Packed, PackedList, Packer } from "./packing.ts";

/**
 * What the records since a base share. An element is kept once, as text. A list
 * is the path to a node of a tree: the list before its last element, and that
 * element. So a list that grew by one costs one node, and every beginning of a
 * list that is known is known.
 *
 * Elements and nodes are numbered in the order in which the records bring them,
 * so that every reader of the same records numbers them alike. Node 0 is the
 * empty list.
 */
export class Pool {
  readonly #texts: string[] = [];
  readonly #weights: number[] = [];
  readonly #elements = new Map<string, number>();
  readonly #before: number[] = [0];
  readonly #last: number[] = [0];
  readonly #sizes: number[] = [0];
  readonly #next = new Map<number, number>();
  /** Where a text that came from a serialiser lies, so that it is not hashed again. */
  #late = new WeakMap<LateText, number>();

  get mark(): PoolMark {
    return { elements: this.#texts.length, nodes: this.#before.length };
  }

  /** Forgets what came after the mark: the record that would have brought it was not written. */
  rollBack({ elements, nodes }: PoolMark): void {
    for (const text of this.#texts.splice(elements)) this.#elements.delete(text);
    this.#weights.length = elements;
    for (let node = this.#before.length - 1; node >= nodes; node--) {
      this.#next.delete(stepKey(this.#before[node] ?? 0, this.#last[node] ?? 0));
    }
    this.#before.length = nodes;
    this.#last.length = nodes;
    this.#sizes.length = nodes;
    this.#late = new WeakMap();
  }

  /** What came after the mark, as a record brings it. */
  since({ elements, nodes }: PoolMark): PoolAdditions {
    const lists: number[][] = [];
    let open: number[] = [];
    for (let node = nodes; node < this.#before.length; node++) {
      const before = this.#before[node] ?? 0;
      const element = this.#last[node] ?? 0;
      if (open.length === 0 || before !== node - 1) {
        open = [before, element, 1];
        lists.push(open);
        continue;
      }
      const [first = 0, count = 0] = open.slice(-2);
      if (element === first + count) open[open.length - 1] = count + 1;
      else open.push(element, 1);
    }
    return { elements: this.#texts.slice(elements), lists };
  }

  /** Takes in what a record brought. */
  add({ elements, lists }: PoolAdditions): void {
    for (const text of elements) this.#addElement(text);
    for (const [start = 0, ...runs] of lists) {
      let node = start;
      for (let at = 0; at + 1 < runs.length; at += 2) {
        const [first = 0, count = 0] = runs.slice(at, at + 2);
        for (let element = first; element < first + count; element++) node = this.#addNode(node, element);
      }
    }
  }

  /** The text of a packed value, with numbers in place of its lists; what is not known yet is added. */
  intern(packed: Packed): string {
    if (typeof packed === "string") return packed;
    if (packed instanceof LateText) return madeText(packed);
    if (packed instanceof PackedList) return listText(this.#internList(packed));
    return packed.chunks.map((chunk) => this.intern(chunk)).join("");
  }

  /** The elements of a list, first to last. */
  list(node: number): readonly number[] {
    if (!Number.isSafeInteger(node) || node < 0 || node >= this.#before.length) throw damaged(`list ${node}`);
    const elements: number[] = [];
    for (let at = node; at !== 0; at = this.#before[at] ?? 0) elements.push(this.#last[at] ?? 0);
    return elements.reverse();
  }

  /** A list as the one before its last element, and that element. */
  step(node: number): { readonly before: number; readonly element: number } {
    const [before, element] = [this.#before[node], this.#last[node]];
    if (before === undefined || element === undefined || node === 0) throw damaged(`list ${node}`);
    return { before, element };
  }

  element(id: number): string {
    const text = this.#texts[id];
    if (text === undefined) throw damaged(`element ${id}`);
    return text;
  }

  /** Text that another pool can take in. */
  unlink(text: string, done: Map<number, Packed> = new Map()): Packed {
    if (!hasLists(text)) return text;
    const packer = new Packer();
    for (const [index, chunk] of splitLists(text).entries()) {
      if (index % 2 === 0) packer.add(chunk);
      else packer.add(new PackedList(this.list(Number(chunk)).map((id) => this.#unlinkElement(id, done))));
    }
    return packer.done();
  }

  #unlinkElement(id: number, done: Map<number, Packed>): Packed {
    const known = done.get(id) ?? this.unlink(this.element(id), done);
    done.set(id, known);
    return known;
  }

  /** About how many bytes this text is with all its lists written out. */
  weightOf(text: string): number {
    let weight = text.length;
    if (!hasLists(text)) return weight;
    for (const [index, chunk] of splitLists(text).entries()) {
      if (index % 2 === 1) weight += this.#sizes[Number(chunk)] ?? 0;
    }
    return weight;
  }

  #internList({ items }: PackedList): number {
    let node = 0;
    for (const item of items) {
      const element = this.#internElement(item);
      node = this.#next.get(stepKey(node, element)) ?? this.#addNode(node, element);
    }
    return node;
  }

  #internElement(item: Packed): number {
    const known = item instanceof LateText ? this.#late.get(item) : undefined;
    if (known !== undefined) return known;
    const text = this.intern(item);
    const element = this.#elements.get(text) ?? this.#addElement(text);
    if (item instanceof LateText) this.#late.set(item, element);
    return element;
  }

  #addElement(text: string): number {
    const element = this.#texts.length;
    this.#texts.push(text);
    this.#weights.push(this.weightOf(text));
    this.#elements.set(text, element);
    return element;
  }

  #addNode(before: number, element: number): number {
    const node = this.#before.length;
    const weight = this.#weights[element];
    const size = this.#sizes[before];
    if (weight === undefined || size === undefined) throw damaged(`list ${node}`);
    this.#before.push(before);
    this.#last.push(element);
    this.#sizes.push(size + weight + 1);
    this.#next.set(stepKey(before, element), node);
    return node;
  }
}

export interface PoolMark {
  readonly elements: number;
  readonly nodes: number;
}

/** `lists`: the node that is continued, then runs of elements as (first, count). */
export interface PoolAdditions {
  readonly elements: readonly string[];
  readonly lists: readonly (readonly number[])[];
}

/**
 * A list inside text: its number between two U+0001. JSON has no control
 * characters outside its strings and escapes those within, so that nothing of
 * the user's can look like it.
 */
const LIST_MARK = "\u0001";

export const listText = (node: number): string => `${LIST_MARK}${node}${LIST_MARK}`;

export const hasLists = (text: string): boolean => text.includes(LIST_MARK);

/** The number of the list that is all there is to this text. */
export function wholeList(text: string): number | undefined {
  if (!text.startsWith(LIST_MARK)) return undefined;
  return text.indexOf(LIST_MARK, 1) === text.length - 1 ? Number(text.slice(1, -1)) : undefined;
}

/** Text and, in every second place, the number of a list. */
export const splitLists = (text: string): readonly string[] => text.split(LIST_MARK);

/** The same as JSON, in which each list is a tag. */
export const taggedText = (text: string): string =>
  hasLists(text)
    ? splitLists(text)
        .map((chunk, index) => (index % 2 === 0 ? chunk : `{"$":"l","v":${chunk}}`))
        .join("")
    : text;

/** A stored text as a tree that can be changed and written again. What it refers to is not in it. */
export function treeOf(text: string): JsonValue {
  try {
    return JSON.parse(taggedText(text)) as JsonValue;
  } catch (cause) {
    throw new StateError("CORRUPT", "a stored value is not JSON", { cause });
  }
}

/** The list of the pool that a tree is nothing but. */
export const listIn = (tree: JsonValue): number | undefined =>
  isJsonObject(tree) && tree[TAG] === "l" ? Number(tree["v"]) : undefined;

export function textOf(tree: JsonValue): string {
  if (isJsonList(tree)) return `[${tree.map(textOf).join(",")}]`;
  if (!isJsonObject(tree)) return JSON.stringify(tree);
  if (!Object.hasOwn(tree, TAG)) return membersText(tree);
  const list = listIn(tree);
  if (list !== undefined) return listText(list);
  const { $: tag = null, v = null } = tree;
  const holds = holdsOf(tag);
  if (holds !== "value" && holds !== "members") return JSON.stringify(tree);
  const text = holds === "members" && isJsonObject(v) ? membersText(v) : textOf(v);
  return `{"${TAG}":${JSON.stringify(tag)},"v":${text}}`;
}

const membersText = (members: JsonObject): string =>
  `{${Object.entries(members)
    .map(([name, each]) => `${JSON.stringify(name)}:${textOf(each)}`)
    .join(",")}}`;

/** The tree with its lists written out: for people to read, not to be stored. */
export function writtenOut(tree: JsonValue, listOf: (node: number) => readonly JsonValue[]): JsonValue {
  const list = listIn(tree);
  if (list !== undefined) return listOf(list).map((each) => writtenOut(each, listOf));
  return mapParts(tree, (each) => writtenOut(each, listOf));
}

/** More than a hundred million of either do not fit into a base. */
const stepKey = (before: number, element: number): number => before * 2 ** 27 + element;

function madeText({ text }: LateText): string {
  if (text !== undefined) return text;
  throw new StateError("INVALID_ARGUMENT", "a value in it could not be serialised; nothing was written");
}

const damaged = (what: string): StateError =>
  new StateError("CORRUPT", `a record refers to ${what}, which no record brought`, { location: what });
