import { StateError } from "../../errors.ts";
import { listText, splitLists } from "./pool.ts";

/** A stored text as a tree that can be changed and written again, without what it refers to. */
export type Tree = null | boolean | number | string | ListReference | RawJson | readonly Tree[] | TreeObject;
export interface TreeObject {
  readonly [name: string]: Tree;
}

/** A list of the pool. */
export class ListReference {
  readonly node: number;

  constructor(node: number) {
    this.node = node;
  }
}

/** JSON of a foreign serialiser's, in which a "$" means nothing. */
export class RawJson {
  readonly value: Json;

  constructor(value: Json) {
    this.value = value;
  }
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Tags around members with names of the user's, and tags around ordinary values. */
const OF_MEMBERS: ReadonlySet<unknown> = new Set(["object", "bare"]);
const OF_VALUES: ReadonlySet<unknown> = new Set(["map", "set", "delta"]);

export function treeOf(text: string): Tree {
  const chunks = splitLists(text);
  const json = chunks.map((chunk, index) => (index % 2 === 0 ? chunk : `{"$":"l","v":${chunk}}`)).join("");
  try {
    return grown(JSON.parse(json) as Json);
  } catch (cause) {
    throw new StateError("CORRUPT", "a stored value is not JSON", { cause });
  }
}

/** A value as the codec wrote it, with a tag in place of each list of the pool. */
export function grown(json: Json): Tree {
  if (typeof json !== "object" || json === null) return json;
  if (isJsonList(json)) return json.map(grown);
  if (!Object.hasOwn(json, "$")) return members(json);
  const { $: tag, v = null } = json as { readonly $: string; readonly v?: Json };
  if (tag === "l") return new ListReference(Number(v));
  if (OF_MEMBERS.has(tag)) return { $: tag, v: members(v as { readonly [name: string]: Json }) };
  if (OF_VALUES.has(tag)) return { $: tag, v: grown(v) };
  return Object.hasOwn(json, "v") ? { $: tag, v: new RawJson(v) } : { $: tag };
}

const members = (json: { readonly [name: string]: Json }): TreeObject =>
  Object.fromEntries(Object.entries(json).map(([name, each]) => [name, grown(each)]));

export const isJsonList = (json: unknown): json is readonly Json[] => Array.isArray(json);

export function textOf(tree: Tree): string {
  if (tree instanceof ListReference) return listText(tree.node);
  if (tree instanceof RawJson) return JSON.stringify(tree.value);
  if (typeof tree !== "object" || tree === null) return JSON.stringify(tree);
  if (isTreeList(tree)) return `[${tree.map(textOf).join(",")}]`;
  const written = Object.entries(tree).map(([name, each]) => `${JSON.stringify(name)}:${textOf(each)}`);
  return `{${written.join(",")}}`;
}

export const isTreeList = (tree: Tree): tree is readonly Tree[] => Array.isArray(tree);

/** An object with members, tagged or not. */
export const isTreeObject = (tree: Tree): tree is TreeObject =>
  typeof tree === "object" &&
  tree !== null &&
  !isTreeList(tree) &&
  !(tree instanceof ListReference) &&
  !(tree instanceof RawJson);

/** The tree as plain JSON, with its lists written out: for people to read, not to be stored. */
export function writtenOut(tree: Tree, listOf: (node: number) => readonly Tree[]): Json {
  if (tree instanceof ListReference) return listOf(tree.node).map((each) => writtenOut(each, listOf));
  if (tree instanceof RawJson) return tree.value;
  if (typeof tree !== "object" || tree === null) return tree;
  if (isTreeList(tree)) return tree.map((each) => writtenOut(each, listOf));
  return Object.fromEntries(Object.entries(tree).map(([name, each]) => [name, writtenOut(each, listOf)]));
}
