import { crc32 } from "node:zlib";
import { Fields, MalformedMessage } from "./fields.ts";
import type { JsonLimits } from "./json-shape.ts";

/**
 * Records with their bodies in one message. Bodies are bytes and stay bytes:
 *
 *   4 bytes   length of the head, big endian
 *   head      JSON; wherever it names a record, "bytes" is the length of its body
 *   bodies    one after another, in the order in which the head names them
 *   4 bytes   CRC-32 of all of the above, big endian
 *
 * A message that was cut off anywhere does not match its last four bytes, even if
 * a proxy made up a fitting Content-Length.
 */
const WORD = 4;

export function encodeFrame(head: object, bodies: readonly Uint8Array[]): Uint8Array {
  const text = JSON.stringify(head);
  const length = Buffer.byteLength(text, "utf8");
  let size = WORD + length + WORD;
  for (const body of bodies) size += body.byteLength;
  const frame = Buffer.allocUnsafeSlow(size);
  frame.writeUInt32BE(length, 0);
  frame.write(text, WORD, "utf8");
  let at = WORD + length;
  for (const body of bodies) {
    frame.set(body, at);
    at += body.byteLength;
  }
  frame.writeUInt32BE(crc32(frame.subarray(0, at)), at);
  return frame;
}

/** Hands out the bodies in the order in which the head names them. */
export interface BodyReader {
  next(bytes: number): Uint8Array;
}

/** `read` must take every body: bytes left over are an error too. */
export function decodeFrame<Content>(
  bytes: Uint8Array,
  what: string,
  read: (head: Fields, bodies: BodyReader) => Content,
  limits?: JsonLimits,
): Content {
  const frame = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = frame.length - WORD;
  if (end < WORD || frame.readUInt32BE(end) !== crc32(frame.subarray(0, end))) {
    throw new MalformedMessage(`${what} was cut off or changed on its way`);
  }
  let at = WORD + frame.readUInt32BE(0);
  if (at > end) throw new MalformedMessage(`${what} names a head that is longer than itself`);
  const head = Fields.parse(frame.toString("utf8", WORD, at), what, limits);
  const next = (length: number): Uint8Array => {
    if (at + length > end) throw new MalformedMessage(`${what} names more bytes than it holds`);
    at += length;
    return frame.subarray(at - length, at);
  };
  const content = read(head, { next });
  if (at !== end) throw new MalformedMessage(`${what} holds bytes that it does not name`);
  return content;
}
