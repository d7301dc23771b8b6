import { isAttributed } from "../../state/people/subjects.ts";
import { defineOwn, isPlainObject } from "../../state/values/doorway.ts";
import type { Place } from "../../state/values/path.ts";
import { hasMessageShape } from "./graph-placeholders.ts";
import { ownMembers, type Packed, type PackOptions, packValue } from "./packing.ts";

/**
 * A checkpoint's data in parts: its members, and one level down where a member is
 * an object. Two checkpoints that differ in one channel differ in few parts.
 */
export type PartPath = readonly [string] | readonly [string, string];

/** One text for each path: the length of the first name tells where the second begins. */
export const partKey = ([first, second]: PartPath): string =>
  second === undefined ? `${first.length}:${first}` : `${first.length}:${first}.${second}`;

export function partPath(key: string): PartPath {
  const begin = key.indexOf(":") + 1;
  const end = begin + Number(key.slice(0, begin - 1));
  const first = key.slice(begin, end);
  return end === key.length ? [first] : [first, key.slice(end + 1)];
}

/** In the order of the members. */
export type PackedParts = ReadonlyMap<string, Packed>;

/** Whether data with these members is a checkpoint of LangGraph's. */
export const isLangGraphs = (names: readonly string[]): boolean => names.includes("channel_versions");

/** Of LangGraph's checkpoints, what tells it where it stands. All else is content. */
const CONTROL_PARTS: ReadonlySet<string> = new Set([
  "v",
  "id",
  "ts",
  "channel_versions",
  "versions_seen",
  "updated_channels",
  "counters_since_delta_snapshot",
]);

/** Whether a part of one of LangGraph's checkpoints may hold a user's words. */
export const isContentPart = ([member = "", channel]: readonly string[]): boolean =>
  !CONTROL_PARTS.has(member) && (member !== "channel_values" || channel === undefined || isContentChannel(channel));

/** Channels that LangGraph makes itself in order to go from node to node. */
export const isContentChannel = (channel: string): boolean => !/^(?:branch:|join:|__no_writes__$)/.test(channel);

export function packParts(data: Readonly<Record<string, unknown>>, name: string, options: PackOptions): PackedParts {
  const parts = new Map<string, Packed>();
  const root: Place = { parent: undefined, step: name };
  // LangGraph's own bookkeeping holds no user's words.
  const hasControl = options.redactor !== undefined && isLangGraphs(Object.keys(data));
  const how = (path: PartPath): PackOptions =>
    hasControl && !isContentPart(path) ? { ...options, redactor: undefined } : options;
  for (const [first, member, at] of ownMembers(data, root)) {
    const inner = isOpen(member) ? [...ownMembers(member, at)] : [];
    if (inner.length === 0) parts.set(partKey([first]), packValue(member, at, how([first])));
    for (const [second, value, place] of inner) {
      parts.set(partKey([first, second]), packValue(value, place, how([first, second])));
    }
  }
  return parts;
}

/** What says as a whole whom it is about stays whole, so that a record never has the one without the other. */
const isOpen = (member: unknown): member is object =>
  isPlainObject(member) &&
  Object.getPrototypeOf(member) === Object.prototype &&
  !isAttributed(member) &&
  !hasMessageShape(member);

/** The data again, out of values by path. */
export function joinParts(parts: Iterable<readonly [key: string, value: unknown]>): Record<string, unknown> {
  const data: Record<string, unknown> = {};
  const opened = new Map<string, Record<string, unknown>>();
  for (const [key, value] of parts) {
    const [first, second] = partPath(key);
    if (second === undefined) {
      setOwn(data, first, value);
      continue;
    }
    let member = opened.get(first);
    if (member === undefined) {
      member = {};
      opened.set(first, member);
      setOwn(data, first, member);
    }
    setOwn(member, second, value);
  }
  return data;
}

/** Setting a property is much quicker than defining it, and the same where no object that is inherited from has it. */
function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key in target) defineOwn(target, key, value);
  else target[key] = value;
}

/** What makes one checkpoint's parts out of another's. */
export interface PartsDelta {
  readonly set: readonly (readonly [key: string, text: string])[];
  readonly removed: readonly string[];
  /** All keys, where their order is not that of the other's with the new ones behind. */
  readonly order?: readonly string[];
}

export function deltaOf(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): PartsDelta {
  const order = [...after.keys()];
  const set: (readonly [key: string, text: string])[] = [];
  for (const each of after) if (before.get(each[0]) !== each[1]) set.push(each);
  const removed: string[] = [];
  let staying = 0;
  let isUsual = true;
  for (const key of before.keys()) {
    if (!after.has(key)) removed.push(key);
    else if (order[staying++] !== key) isUsual = false;
  }
  return isUsual ? { set, removed } : { set, removed, order };
}

export function applied(before: ReadonlyMap<string, string>, { set, removed, order }: PartsDelta): Map<string, string> {
  const after = new Map(before);
  for (const key of removed) after.delete(key);
  for (const [key, text] of set) after.set(key, text);
  return order === undefined ? after : new Map(order.map((key) => [key, after.get(key) ?? ""]));
}
