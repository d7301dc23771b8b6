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

/** Where a thread stands: the basis of an append, and the condition of a removal. */
export interface ThreadPlace {
  readonly generation: string;
  readonly seq: number;
}

/** An entity tag: `"<generation>:<position of the tail>"`. */
export const entityTag = ({ generation, seq }: ThreadPlace): string => `"${encodeURIComponent(generation)}:${seq}"`;

const ENTITY_TAG = /^"([^":\s]+):(\d{1,15})"$/;

export function placeFromTag(tag: string): ThreadPlace | undefined {
  const [, generation, seq] = ENTITY_TAG.exec(tag) ?? [];
  const decoded = generation === undefined ? undefined : unescaped(generation);
  return decoded === undefined ? undefined : { generation: decoded, seq: Number(seq) };
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
