import { nodeCrypto } from "../../internal/node-builtins.ts";
import { writeText } from "../../internal/write-text.ts";
import type { StateFields } from "../../state/fields.ts";
import { encodeOwned } from "../../state/values/codec.ts";
import type { LogEntry } from "../log/thread-log.ts";

/** 96 bits in base64url: against damage and mistakes, not against somebody who can compute it too. */
export const SUM_LENGTH = 16;

/** Text and body are put together here, because one call for a hash costs far less than an object that collects. */
const SCRATCH_BYTES = 64 * 1024;
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
/** No character of UTF-16 becomes more bytes than this. */
const BYTES_PER_UNIT = 3;

/**
 * The checksum of a record: of its body and of all that its entry says. Of `header`
 * it covers the text up to `end`. What is behind that is the seal, in ASCII: it is
 * written, too, and overwritten by the body, because to cut it off would cost a text.
 */
export function checksumOf(entry: LogText, header: string, end: number, body: Uint8Array): string {
  const others = entry.names === undefined ? "" : JSON.stringify(entry.names);
  const units = entry.writeId.length + (entry.checkpointId?.length ?? 0) + (entry.metadata?.length ?? 0);
  if ((units + others.length + header.length) * BYTES_PER_UNIT + body.length + NUMBERS_BYTES > SCRATCH_BYTES) {
    const text = `${textBefore(entry, others, end)}${header.slice(0, end)}`;
    return nodeCrypto().createHash("sha256").update(text).update(body).digest("base64url").slice(0, SUM_LENGTH);
  }
  const begin = writeBefore(entry, others, end);
  const length = begin + scratch.write(header, begin) - (header.length - end);
  scratch.set(body, length);
  return nodeCrypto()
    .hash("sha256", scratch.subarray(0, length + body.length), "base64url")
    .slice(0, SUM_LENGTH);
}

type LogText = Omit<LogEntry, "header">;

/** Room for the eight numbers of an entry. */
const NUMBERS_BYTES = 256;

/**
 * Numbers and lengths, then the texts themselves, of which the header is the last:
 * no two entries have the same. Joined and not escaped, because every record of
 * every load and save passes here.
 */
function textBefore(
  { seq, base, head, writeId, checkpointId, metadata }: LogText,
  others: string,
  end: number,
): string {
  const lengths = `${writeId.length} ${lengthOf(checkpointId)} ${lengthOf(metadata)} ${others.length} ${end}`;
  return `${seq} ${base} ${head} ${lengths} ${writeId}${checkpointId ?? ""}${metadata ?? ""}${others}`;
}

/** An empty text is not the same as a missing one. */
const MISSING = "-";
const lengthOf = (text: string | undefined): string => (text === undefined ? MISSING : String(text.length));

/** The same, written where it is hashed: joined texts would be half a kilobyte of garbage for each record of a load. */
function writeBefore(entry: LogText, others: string, end: number): number {
  const { writeId, checkpointId, metadata } = entry;
  let at = writeNumber(entry.seq, 0);
  at = writeNumber(entry.base, at);
  at = writeNumber(entry.head, at);
  at = writeNumber(writeId.length, at);
  at = writeNumber(checkpointId?.length, at);
  at = writeNumber(metadata?.length, at);
  at = writeNumber(others.length, at);
  at = writeNumber(end, at);
  at = writeText(scratch, writeId, at);
  if (checkpointId !== undefined) at = writeText(scratch, checkpointId, at);
  if (metadata !== undefined) at += scratch.write(metadata, at);
  return others === "" ? at : at + scratch.write(others, at);
}

const [ZERO, SPACE] = [0x30, 0x20];

/** A number and the space behind it. Returns where the next one begins. */
function writeNumber(value: number | undefined, at: number): number {
  let end = at + 1;
  if (value !== undefined && value >= 0 && value === (value | 0)) {
    for (let rest = value; rest > 9; rest = (rest / 10) | 0) end++;
    for (let rest = value, place = end - 1; place >= at; rest = (rest / 10) | 0, place--)
      scratch[place] = ZERO + (rest % 10);
  } else end = at + scratch.write(value === undefined ? MISSING : String(value), at);
  scratch[end] = SPACE;
  return end + 1;
}

/** Of a whole state: it tells two writes of one name apart. */
export const digestOf = (fields: StateFields): string =>
  nodeCrypto().createHash("sha256").update(encodeOwned(fields, "state")).digest("base64url").slice(0, SUM_LENGTH);
