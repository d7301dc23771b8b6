import { StateError } from "../../errors.ts";
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
  if (members !== undefined) return JSON.stringify(members);
  throw new StateError("INVALID_ARGUMENT", "metadata must be a plain object", { path: "metadata" });
}

export function decodeMetadata(text: string, name: string): Readonly<Record<string, unknown>> {
  return decodeText(`{"$":"object","v":${text}}`, name) as Readonly<Record<string, unknown>>;
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
