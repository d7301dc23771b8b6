import type { BodyContent } from "../checkpoint/record/plan-record.ts";
import type { StateDelta } from "../state/delta.ts";
import { isPlainObject } from "../state/values/doorway.ts";
import { type Path, valueAt, withParts } from "./json-parts.ts";

/**
 * A body in pieces, each of which is judged by itself: an item of a list, a member
 * of a record, or any other field. A sweep looks at nothing beyond one of them, so
 * it need not go over all of them for each of many people.
 */
export interface Piece {
  /** A body that holds nothing else. */
  readonly body: BodyContent;
  /** Where it lies in the whole body, and in the one that holds nothing else. */
  readonly path: Path;
  readonly ownPath: Path;
  /** The call that it belongs to, if it belongs to one. */
  readonly call: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

export function piecesOf({ base, delta }: BodyContent): readonly Piece[] {
  if (base !== undefined) return fieldsIn(base, ["base"], (fields) => ({ base: fields }));
  const { set = {}, append = {}, lists = {}, records = {} } = delta ?? {};
  const only = (part: StateDelta): BodyContent => ({ delta: part });
  return [
    ...fieldsIn(set, ["delta", "set"], (fields) => only({ set: fields })),
    ...Object.entries(append).flatMap(([name, items]) =>
      itemsIn(items, ["delta", "append", name], (one) => only({ append: { [name]: one } })),
    ),
    ...Object.entries(lists).flatMap(([name, { keep, items }]) =>
      itemsIn(items, ["delta", "lists", name, "items"], (one) => only({ lists: { [name]: { keep, items: one } } })),
    ),
    ...Object.entries(records).flatMap(([name, change]) =>
      membersIn(name, change.set ?? {}, ["delta", "records", name, "set"], (one) =>
        only({ records: { [name]: { set: one } } }),
      ),
    ),
  ];
}

function fieldsIn(fields: Fields, path: Path, bodyOf: (fields: Fields) => BodyContent): readonly Piece[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    const at = [...path, name];
    if (Array.isArray(value)) return itemsIn(value, at, (one) => bodyOf({ [name]: one }));
    if (isPlainObject(value)) return membersIn(name, value, at, (one) => bodyOf({ [name]: one }));
    return [{ body: bodyOf({ [name]: value }), path: at, ownPath: at, call: undefined }];
  });
}

const itemsIn = (
  items: readonly unknown[],
  path: Path,
  bodyOf: (items: readonly unknown[]) => BodyContent,
): readonly Piece[] =>
  items.map((item, index) => ({
    body: bodyOf([item]),
    path: [...path, index],
    ownPath: [...path, 0],
    call: isPlainObject(item) && typeof item["toolCallId"] === "string" ? item["toolCallId"] : undefined,
  }));

function membersIn(
  name: string,
  record: Fields,
  path: Path,
  bodyOf: (record: Fields) => BodyContent,
): readonly Piece[] {
  // The codec writes such a record in another form.
  if (Object.hasOwn(record, "$")) return [{ body: bodyOf(record), path, ownPath: path, call: undefined }];
  return Object.entries(record).map(([member, value]) => {
    const at = [...path, member];
    return {
      body: bodyOf({ [member]: value }),
      path: at,
      ownPath: at,
      call: name === "artifacts" ? member : undefined,
    };
  });
}

/** A part of a piece, at its place in the whole. A part without a path is all of the piece. */
export function placed<Part extends { readonly path: Path | null; readonly value: unknown }>(
  { path, ownPath }: Piece,
  part: Part,
  whole: unknown,
): Part & { readonly path: Path } {
  if (part.path === null) return { ...part, path, value: valueAt(whole, path) };
  return { ...part, path: [...path, ...part.path.slice(ownPath.length)] };
}

/** Puts the rest of a piece back into the whole. */
export function leaveOf({ path, ownPath }: Piece, left: string, whole: unknown): void {
  withParts(whole, [{ path, value: valueAt(JSON.parse(left), ownPath) }]);
}
