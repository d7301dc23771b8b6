import { MOST_BYTES_READ, newestWithin } from "../../checkpoint/log/driver-rules.ts";
import type { LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import { type Leftover, type Thread, toLeftovers, toRecord, toThread, WITHOUT_BODIES } from "./documents.ts";
import { assertStillOurs } from "./index-mark.ts";
import { recordId, type ThreadName } from "./layout.ts";
import type { Document, Requests, Revision } from "./requests.ts";

/** A thread, as one version of its document describes it. */
export interface Located {
  readonly thread: Thread;
  readonly revision: Revision;
}

/** The content of a thread's document, and the version that was read. */
export type Found =
  | Located
  | { readonly thread: undefined; readonly revision: Revision; readonly leftovers: readonly Leftover[] };

/** The thread changed while it was read. */
export const OVERTAKEN: unique symbol = Symbol("overtaken");

/** Retries until nothing changed in between. Each retry means that another writer got through, and the number is bounded. */
export async function untilSteady<Result>(attempt: () => Promise<Result | typeof OVERTAKEN>): Promise<Result> {
  for (let round = 0; round < ROUNDS; round++) {
    const result = await attempt();
    if (result !== OVERTAKEN) return result;
    await sleep(round);
  }
  throw new StateError("UNAVAILABLE", "the thread is changed by others again and again; try later");
}

const ROUNDS = 200;

export async function findThread(
  requests: Requests,
  { namespace, threadId, key }: ThreadName,
  what: "whole" | "entries",
): Promise<Found | undefined> {
  const document = await requests.get(key, what === "whole" ? [] : WITHOUT_BODIES);
  if (document === undefined) {
    await assertStillOurs(requests);
    return undefined;
  }
  const { source, revision } = document;
  if (source["kind"] === "gone") return { thread: undefined, revision, leftovers: toLeftovers(source) };
  if (source["thread"] === threadId && source["namespace"] === namespace) return { thread: toThread(source), revision };
  throw new StateError("CORRUPT", "the document of the thread is another thread's");
}

/** Records of a thread at some positions, as of its tail. */
export class ThreadReader {
  readonly #requests: Requests;
  readonly #thread: Thread;
  readonly #revision: Revision;

  constructor(requests: Requests, { thread, revision }: Located) {
    this.#requests = requests;
    this.#thread = thread;
    this.#revision = revision;
  }

  /** Every record from `from` to `to`, in ascending order. */
  async range(from: number, to: number): Promise<readonly LogRecord[] | typeof OVERTAKEN> {
    return this.#at(this.#positions(from, to), []);
  }

  /** The newest records up to `to`, limited by count and as in `readRecords`, in ascending order. */
  async newest(to: number, limit: number): Promise<readonly LogRecord[] | typeof OVERTAKEN> {
    const { floor, tail } = this.#thread;
    let found: readonly LogRecord[] = [];
    for (let last = Math.min(to, tail.seq); last >= floor && found.length < limit; ) {
      const count = Math.min(limit - found.length, roomAfter(found));
      if (count === 0) break;
      const first = Math.max(last - count + 1, floor);
      const read = await this.range(first, last);
      if (read === OVERTAKEN) return OVERTAKEN;
      found = [...read, ...found];
      last = first - 1;
    }
    return newestWithin(found, limit);
  }

  /** The same, without bodies. */
  async entries(from: number, to: number): Promise<readonly LogEntry[] | typeof OVERTAKEN> {
    return this.#at(this.#positions(from, to), WITHOUT_BODIES);
  }

  /** The entries that exist at these positions, without bodies. */
  async entriesAt(seqs: readonly number[]): Promise<readonly LogEntry[] | typeof OVERTAKEN> {
    return this.#at(this.#present(seqs), WITHOUT_BODIES);
  }

  #positions(from: number, to: number): readonly number[] {
    const { floor, tail } = this.#thread;
    const first = Math.max(from, floor);
    const count = Math.max(Math.min(to, tail.seq) - first + 1, 0);
    return this.#present(Array.from({ length: count }, (_, index) => first + index));
  }

  #present(seqs: readonly number[]): readonly number[] {
    const { floor, tail, edits } = this.#thread;
    const dropped = new Set(edits?.drop);
    return seqs.filter((seq) => seq >= floor && seq <= tail.seq && !dropped.has(seq));
  }

  async #at(seqs: readonly number[], without: readonly string[]): Promise<readonly LogRecord[] | typeof OVERTAKEN> {
    const { key, life, tail, edits } = this.#thread;
    const known = new Map([...(edits?.replace ?? []), tail].map((record) => [record.seq, record]));
    const asked = seqs.filter((seq) => !known.has(seq));
    const ids = asked.map((seq) => recordId(key, life, seq));
    const documents = ids.length === 0 ? [] : await this.#requests.getMany(key, ids, without);
    if (documents.some((document) => document !== undefined && document.version > tail.seq)) return OVERTAKEN;
    if (documents.includes(undefined) && (await this.#hasMoved())) return OVERTAKEN;
    const read = new Map(asked.map((seq, index) => [seq, documents[index]]));
    return seqs.flatMap((seq) => known.get(seq) ?? recordIn(read.get(seq)));
  }

  /** A missing record was deleted meanwhile, or is lost; the caller that assembles the records reports a lost one. */
  async #hasMoved(): Promise<boolean> {
    const now = await findThread(this.#requests, this.#thread, "entries");
    return now?.revision.seqNo !== this.#revision.seqNo || now.revision.term !== this.#revision.term;
  }
}

/** How many more records fit, if they are as large as the largest so far: one to begin with, because its size is unknown. */
function roomAfter(found: readonly LogRecord[]): number {
  if (found.length === 0) return 1;
  const sizes = found.map(({ body }) => body.byteLength);
  const left = MOST_BYTES_READ - sizes.reduce((sum, size) => sum + size, 0);
  return Math.max(Math.min(Math.floor(left / Math.max(...sizes, 1)), RECORDS_AT_ONCE), 0);
}

const RECORDS_AT_ONCE = 500;

const recordIn = (document: Document | undefined): readonly LogRecord[] =>
  document === undefined || document.source["kind"] === "stub" ? [] : [toRecord(document.source)];
