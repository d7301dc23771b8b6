import { StateError } from "../../errors.ts";
import type { Standing } from "../../state/tool-calls.ts";
import { decodeText, encodeText, encodeValue } from "../../state/values/codec.ts";
import { membersOf } from "../../state/values/tags.ts";

/**
 * Metadata as JSON with the caller's own keys, so that a storage can query them:
 * each value is encoded by itself, the object around them is not.
 */
export function encodeMetadata(metadata: unknown): string {
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) {
    throw new StateError("INVALID_ARGUMENT", "metadata must be a plain object", { path: "metadata" });
  }
  const members = membersOf(encodeValue(metadata, "metadata"));
  const taken = members && Object.keys(members).find(isStanding);
  if (taken !== undefined) {
    const what = `the metadata must not have ${JSON.stringify(taken)}: by it a thread is found that is not finished. Use another key`;
    throw new StateError("INVALID_ARGUMENT", what, { path: `metadata.${taken}` });
  }
  if (members !== undefined) return JSON.stringify(members);
  throw new StateError("INVALID_ARGUMENT", "metadata must be a plain object", { path: "metadata" });
}

export function decodeMetadata(text: string, name: string): Readonly<Record<string, unknown>> {
  return decodeText(`{"$":"object","v":${withoutStanding(text)}}`, name) as Readonly<Record<string, unknown>>;
}

/**
 * What is looked for among very many threads is a member of the stored metadata, so that the index of metadata, wherever
 * there is one, answers it. Callers never see these: they are written from the header whenever a record is made.
 */
export type IndexedStanding = "unfinished" | "waiting" | "inDoubt";
export const INDEXED_STANDING: readonly IndexedStanding[] = ["unfinished", "waiting", "inDoubt"];
export const memberOfStanding = (name: IndexedStanding): { readonly key: string; readonly valueJson: string } => ({
  key: `${OWN}${name}`,
  valueJson: "1",
});

const OWN = "holdfast.";
const MEMBERS_OF_STANDING: ReadonlySet<string> = new Set(INDEXED_STANDING.map((name) => memberOfStanding(name).key));
export const isStanding = (key: string): boolean => MEMBERS_OF_STANDING.has(key);
/** They stand first, as they are written below. */
const WRITTEN = /^\{(?:"holdfast\.(?:unfinished|waiting|inDoubt)":1,?)+/;

/** Stored metadata as the caller gave them. */
export const withoutStanding = (text: string): string =>
  text.startsWith(`{"${OWN}`) ? text.replace(WRITTEN, "{") : text;

/** Stored metadata, changed; what they say of the thread's standing stays. */
export function changedMetadata(
  text: string,
  change: (metadata: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
): string {
  const [standing = "{"] = WRITTEN.exec(text) ?? [];
  const changed = encodeMetadata(change(decodeMetadata(text, "metadata")));
  if (standing === "{") return changed;
  const own = standing.replace(/,$/, "");
  return changed === "{}" ? `${own}}` : `${own},${changed.slice(1)}`;
}

/** The metadata of a checkpoint, as they are stored. */
export function withStanding(metadata: string | undefined, standing: Standing | undefined): string | undefined {
  if (standing === undefined && !metadata?.startsWith(`{"${OWN}`)) return metadata;
  const given = metadata === undefined ? "{}" : withoutStanding(metadata);
  const names = INDEXED_STANDING.filter((name) => standing?.[name] !== undefined);
  if (names.length === 0) return metadata === undefined || given === "{}" ? undefined : given;
  const members = names.map((name) => `"${OWN}${name}":1`).join(",");
  return given === "{}" ? `{${members}}` : `{${members},${given.slice(1)}`;
}

/** Whether metadata, as it is stored, has `key` with exactly that JSON value. */
export function storedMember(text: string | undefined, key: string, valueJson: string): boolean {
  if (text === undefined) return false;
  const metadata = parsed(text);
  if (typeof metadata !== "object" || metadata === null || !Object.hasOwn(metadata, key)) return false;
  return JSON.stringify((metadata as Readonly<Record<string, unknown>>)[key]) === valueJson;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StateError(
      "CORRUPT",
      "the metadata of its newest checkpoint is no JSON: it was damaged or changed by hand",
      { cause },
    );
  }
}

/** Whether metadata has exactly this value under this key. */
export const hasMember = (metadata: Readonly<Record<string, unknown>>, key: string, valueJson: string): boolean =>
  Object.hasOwn(metadata, key) && encodeText(metadata[key], "value") === valueJson;
