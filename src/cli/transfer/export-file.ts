import { createHash, type Hash } from "node:crypto";
import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { openRecord } from "../../checkpoint/record/record.ts";
import { assertThreadId, MAX_THREAD_ID_BYTES } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { visibleJson } from "../output/visible.ts";
import { outlined, type SourceThread } from "./source-thread.ts";

/**
 * The file of `export`: a JSON object a line. First what it is; then for each
 * thread its head, its records oldest first, and its end with a hash over all of
 * those lines; last the end of the file with the totals. So a file that was cut
 * off anywhere, or changed by a bit, is known as such.
 */
export const FIRST_LINE: string = JSON.stringify({ type: "holdfast-export", version: 1 });

interface StoredRecord extends Omit<LogRecord, "body" | "words" | "checkpointId" | "metadata"> {
  readonly type: "record";
  readonly checkpointId?: string;
  readonly metadata?: string;
  /** As text where it is; else as base64. */
  readonly body?: string;
  readonly base64?: string;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function storedRecord({ words: _, body, checkpointId, metadata, ...entry }: LogRecord): StoredRecord {
  const optional = { ...(checkpointId !== undefined && { checkpointId }), ...(metadata !== undefined && { metadata }) };
  return { type: "record", ...entry, ...optional, ...bodyFields(body) };
}

function bodyFields(body: Uint8Array): { readonly body: string } | { readonly base64: string } {
  try {
    return { body: decoder.decode(body) };
  } catch {
    return { base64: Buffer.from(body).toString("base64") };
  }
}

/** The lines of one thread, each record proven. */
export async function* linesOf(source: SourceThread): AsyncGenerator<string> {
  const { threadId, edits, ttlMs, outline } = source;
  const hash = createHash("sha256");
  const counted = (value: object): string => {
    const line = visibleJson(value);
    hash.update(`${line}\n`);
    return line;
  };
  yield counted({ type: "thread", threadId, edits, ...(ttlMs !== undefined && { ttlMs }) });
  for await (const record of source.read(0)) {
    openRecord(record);
    yield counted(storedRecord(record));
  }
  yield visibleJson({ type: "thread-end", threadId, records: outline.length, sha256: hash.digest("hex") });
}

export const lastLine = (threads: number, records: number): string => JSON.stringify({ type: "end", threads, records });

/** The threads of a file, one at a time; refuses a file that is not whole when it comes to the place. */
export async function* threadsIn(lines: AsyncIterable<string>): AsyncGenerator<SourceThread> {
  let [number, threads, records] = [0, 0, 0];
  let open: OpenThread | undefined;
  let isOver = false;
  for await (const text of lines) {
    number++;
    const line = parsed(text, number);
    if (isOver) throw broken(number, "something follows the end");
    if (number === 1) {
      if (text !== FIRST_LINE) throw notOurs(line);
    } else if (line.type === "thread" && open === undefined) open = opened(line, text, number);
    else if (line.type === "record" && open !== undefined) add(open, line, text, number);
    else if (line.type === "thread-end" && open !== undefined) {
      assertWhole(open, line, number);
      threads++;
      records += open.records.length;
      yield sourceOf(open);
      open = undefined;
    } else if (line.type === "end" && open === undefined) {
      if (line["threads"] !== threads || line["records"] !== records) throw broken(number, "threads are missing");
      isOver = true;
    } else throw broken(number, "this line does not belong here");
  }
  if (!isOver) throw broken(number + 1, "the file ends before its end");
}

type Line = { readonly type: unknown } & Readonly<Record<string, unknown>>;

interface OpenThread {
  readonly threadId: string;
  readonly edits: number;
  readonly ttlMs: number | undefined;
  readonly hash: Hash;
  readonly records: LogRecord[];
}

function parsed(text: string, number: number): Line {
  try {
    const line = JSON.parse(text) as Line | null;
    if (typeof line === "object" && line !== null) return line;
  } catch {
    // Told below, by its number.
  }
  throw broken(number, "it is no JSON object");
}

function opened(line: Line, text: string, number: number): OpenThread {
  const { threadId, edits, ttlMs } = line;
  assertThreadId(threadId, MAX_THREAD_ID_BYTES);
  const isKnownTtl = ttlMs === undefined || typeof ttlMs === "number";
  if (typeof edits !== "number" || !isKnownTtl) throw broken(number, "the thread's head is damaged");
  const hash = createHash("sha256").update(`${text}\n`);
  return { threadId: threadId as string, edits, ttlMs, hash, records: [] };
}

function add(open: OpenThread, line: Line, text: string, number: number): void {
  open.hash.update(`${text}\n`);
  const { type: _, body, base64, ...entry } = line;
  const bytes =
    typeof body === "string"
      ? Buffer.from(body)
      : typeof base64 === "string"
        ? Buffer.from(base64, "base64")
        : undefined;
  if (bytes === undefined || typeof entry["header"] !== "string") throw broken(number, "the record is damaged");
  const record = {
    checkpointId: undefined,
    metadata: undefined,
    words: undefined,
    ...entry,
    body: bytes,
  } as unknown as LogRecord;
  // Compares it with its own checksum, which covers all of its fields.
  openRecord(record);
  if (record.seq <= (open.records.at(-1)?.seq ?? 0)) throw broken(number, "the record is out of order");
  open.records.push(record);
}

function assertWhole({ threadId, hash, records }: OpenThread, line: Line, number: number): void {
  const isSame =
    line["threadId"] === threadId && line["records"] === records.length && line["sha256"] === hash.digest("hex");
  if (!isSame) throw broken(number, `thread ${JSON.stringify(threadId)} is not what was exported`);
}

const sourceOf = ({ threadId, edits, ttlMs, records }: OpenThread): SourceThread => ({
  threadId,
  edits,
  outline: records.map(outlined),
  ...(ttlMs !== undefined && { ttlMs }),
  read: async function* (from) {
    yield* records.slice(from);
  },
});

const broken = (number: number, what: string): StateError =>
  new StateError("CORRUPT", `line ${number} of the file: ${what}`, { location: `line ${number}` });

const notOurs = ({ type, version }: Line): StateError =>
  type === "holdfast-export" && typeof version === "number" && version > 1
    ? new StateError(
        "INCOMPATIBLE",
        `the file has version ${version}; this build knows 1. Upgrade holdfast to import it`,
      )
    : broken(1, "this is no file of holdfast export");
