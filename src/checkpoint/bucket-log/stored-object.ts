import { StateError } from "../../errors.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import type { LogEntry, LogRecord } from "../log/thread-log.ts";
import { OBJECT_FORMAT } from "./layout.ts";

/**
 * The form of every object: a line with the version, a checksum and a length;
 * that many bytes of JSON; then the bodies, whose lengths are in the JSON. The
 * checksum covers the JSON. Each record has its own checksum over its body, which
 * is verified when a state is rebuilt.
 */
const FIRST_LINE = /^holdfast-object (\d+) ([\w-]{43}) (\d+)\n/;
const LONGEST_FIRST_LINE = 96;

export function packObject(content: object, bodies: readonly Uint8Array[] = []): Buffer {
  const json = Buffer.from(JSON.stringify(content));
  const firstLine = `holdfast-object ${OBJECT_FORMAT} ${checksum(json)} ${json.byteLength}\n`;
  return Buffer.concat([Buffer.from(firstLine), json, ...bodies]);
}

export interface UnpackedObject {
  readonly content: Record<string, unknown>;
  /** All bodies, one after another. */
  readonly bodies: Buffer;
}

export function unpackObject(name: string, bytes: Buffer): UnpackedObject {
  const [firstLine, version, sum, length] =
    FIRST_LINE.exec(bytes.subarray(0, LONGEST_FIRST_LINE).toString("latin1")) ?? [];
  if (firstLine === undefined) throw damaged(name, "does not begin as an object of holdfast does");
  if (Number(version) > OBJECT_FORMAT) throw tooNew(name, Number(version));
  const end = firstLine.length + Number(length);
  const json = bytes.subarray(firstLine.length, end);
  if (checksum(json) !== sum) throw damaged(name, "does not have the checksum it was written with");
  return { content: JSON.parse(json.toString()) as Record<string, unknown>, bodies: bytes.subarray(end) };
}

const checksum = (bytes: Uint8Array): string => nodeCrypto().createHash("sha256").update(bytes).digest("base64url");

/** Where the body of a record is: inline, or in its own object whose name ends in `suffix`. */
export type StoredBody = { readonly inline: Uint8Array } | ({ readonly inline: undefined } & BodyPlace);

export interface BodyPlace {
  readonly suffix: string;
  readonly bytes: number;
  /** In how many objects it lies. @default 1 */
  readonly pieces?: number;
}

/** Its length in bytes, wherever it is. */
export const bodyBytes = ({ body }: StoredRecord): number =>
  body.inline === undefined ? body.bytes : body.inline.byteLength;

export interface StoredRecord {
  readonly entry: LogEntry;
  readonly body: StoredBody;
}

export const entryOf = ({ seq, writeId, base, head, checkpointId, names, header, metadata }: LogRecord): LogEntry => ({
  seq,
  writeId,
  base,
  head,
  checkpointId,
  ...(names !== undefined && { names: [...names] }),
  header,
  metadata,
});

/** The lengths of the bodies behind the JSON of a page or a document. */
export function inlineLengths({ records, thread }: Readonly<Record<string, unknown>>): readonly number[] {
  const stored = (records ??
    (thread as { readonly recent?: unknown } | undefined)?.recent ??
    []) as readonly RecordJson[];
  return stored.flatMap(({ body }) => (typeof body === "number" ? [body] : []));
}

/** Records for the JSON part. Inline bodies follow it in the same order. */
export const recordsToJson = (records: readonly StoredRecord[]): readonly object[] =>
  records.map(({ entry, body }) => ({
    ...entry,
    body: body.inline === undefined ? { ...body, inline: undefined } : body.inline.byteLength,
  }));

export const inlineBodies = (records: readonly StoredRecord[]): readonly Uint8Array[] =>
  records.map(({ body }) => body.inline).filter((inline) => inline !== undefined);

type RecordJson = Omit<LogEntry, "checkpointId" | "metadata"> & {
  readonly checkpointId?: string;
  readonly metadata?: string;
  readonly body: number | BodyPlace;
};

export function recordsFromJson(name: string, json: unknown, bodies: Buffer): readonly StoredRecord[] {
  let at = 0;
  const records = (json as readonly RecordJson[]).map(({ body, ...given }): StoredRecord => {
    const entry = { ...given, checkpointId: given.checkpointId, metadata: given.metadata };
    if (typeof body !== "number") return { entry, body: { ...body, inline: undefined } };
    const inline = bodies.subarray(at, at + body);
    at += body;
    return { entry, body: { inline } };
  });
  if (at !== bodies.byteLength) throw damaged(name, "is not as long as it was written");
  return records;
}

const WHAT_TO_DO = "Restore it from a copy of the storage, or delete the thread";

export const damaged = (name: string, what: string): StateError =>
  new StateError("CORRUPT", `the object ${JSON.stringify(name)} ${what}. ${WHAT_TO_DO}`, { location: name });

export const tooNew = (name: string, version: number): StateError =>
  new StateError(
    "INCOMPATIBLE",
    `the object ${JSON.stringify(name)} was written in format ${version}; this build reads up to ${OBJECT_FORMAT}. Upgrade holdfast to read it`,
    { location: name },
  );
