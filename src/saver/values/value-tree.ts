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
import { listText, taggedText } from "./pool.ts";

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
