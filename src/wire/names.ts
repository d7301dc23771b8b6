import type { KnownPlace } from "../checkpoint/log/thread-log.ts";

/**
 * Ids in URLs and headers. A thread id never stands in a path as it is: `..`,
 * `%2e%2e` and `a/b` would become other paths on the way. base64url has exactly
 * one spelling for every id, and no character that a proxy, a URL parser or a
 * router treats specially.
 */

const SEGMENT = /^[A-Za-z0-9_-]+$/;

export const encodeSegment = (id: string): string => Buffer.from(id, "utf8").toString("base64url");

/** `undefined` for anything that `encodeSegment` cannot have made. */
export function decodeSegment(segment: string): string | undefined {
  if (!SEGMENT.test(segment)) return undefined;
  const id = Buffer.from(segment, "base64url").toString("utf8");
  return encodeSegment(id) === segment ? id : undefined;
}

/** The entity tag of a thread whose newest record this is: `"<generation>:<position>:<write id>"`. */
export const entityTag = ({ generation, seq, writeId }: KnownPlace): string =>
  `"${encodeURIComponent(generation)}:${seq}:${encodeURIComponent(writeId)}"`;

const ENTITY_TAG = /^"([^":\s]+):(\d{1,15}):([^":\s]+)"$/;

export function placeFromTag(tag: string): KnownPlace | undefined {
  const [, generation = "", seq, writeId = ""] = ENTITY_TAG.exec(tag) ?? [];
  const decoded = { generation: unescaped(generation), writeId: unescaped(writeId) };
  if (seq === undefined || decoded.generation === undefined || decoded.writeId === undefined) return undefined;
  return { generation: decoded.generation, seq: Number(seq), writeId: decoded.writeId };
}

/** The write id as the value of `Idempotency-Key`, a quoted string as the draft requires. */
export const idempotencyKey = (writeId: string): string => `"${encodeURIComponent(writeId)}"`;

export function writeIdFromKey(key: string): string | undefined {
  const [, text] = /^"([^"\s]+)"$/.exec(key) ?? [];
  return text === undefined ? undefined : unescaped(text);
}

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
