import { isExpected, recordsIn } from "../../checkpoint/log/driver-rules.ts";
import type { AppendOutcome, AppendRequest, LogEntry, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";
import { type Edits, entryOf, type Leftover, type Thread } from "./documents.ts";
import { finish, isFinished } from "./finishing.ts";
import type { Footing, Footings } from "./footings.ts";
import { commitHead, deleteRecord, putRecord } from "./items.ts";
import { newLife, type ThreadName } from "./layout.ts";
import { findThread, type Located, OVERTAKEN, ThreadReader, untilSteady } from "./reading.ts";
import type { Requests, Revision } from "./requests.ts";

const ABSENT: AppendOutcome = { appended: false, tail: undefined, generation: undefined, occupant: undefined };

type Attempt = Promise<AppendOutcome | typeof OVERTAKEN>;

/** One append. */
export class Appending {
  readonly #requests: Requests;
  readonly #footings: Footings;
  readonly #name: ThreadName;
  readonly #request: AppendRequest;
  #takesOut = false;

  constructor(requests: Requests, footings: Footings, name: ThreadName, request: AppendRequest) {
    this.#requests = requests;
    this.#footings = footings;
    this.#name = name;
    this.#request = request;
  }

  /** Whether it removes checkpoints without adding one. */
  get isDeletion(): boolean {
    return this.#takesOut;
  }

  run(): Promise<AppendOutcome> {
    return untilSteady(() => (this.#request.expected.seq === 0 ? this.#begin() : this.#extend()));
  }

  /** Usually no document exists: it is created without reading first, and read only if that is refused. */
  async #begin(): Attempt {
    const fresh = this.#first([]);
    const created = await this.#requests.write(commitHead(fresh, undefined));
    if (created !== undefined) return this.#committed(fresh, created);
    const found = await findThread(this.#requests, this.#name, "entries");
    if (found === undefined) return OVERTAKEN;
    if (found.thread !== undefined) return this.#refusal(found);
    const first = this.#first(found.leftovers);
    const revision = await this.#requests.write(commitHead(first, found.revision));
    return revision === undefined ? OVERTAKEN : this.#committed(first, revision);
  }

  #first(leftovers: readonly Leftover[]): Thread {
    const { record } = this.#request;
    const { generation } = this.#request.expected;
    const { tail, before } = arriving(this.#request);
    const head = [...before, tail].find(({ seq }) => seq === tail.head);
    return {
      ...this.#name,
      generation,
      life: newLife(),
      floor: record.seq,
      tail,
      headEntry: head && entryOf(head),
      edits: before.length === 0 ? undefined : { from: record.seq, replace: before, drop: [] },
      leftovers,
    };
  }

  async #extend(): Attempt {
    const footing = await this.#footing();
    if (footing === undefined) return ABSENT;
    const { thread, revision } = footing;
    if (!this.#fits(thread)) return this.#refusal(footing);
    this.#takesOut = takesOut(this.#request, thread);
    const headEntry = await this.#headEntry(footing);
    if (headEntry === OVERTAKEN || !(await this.#canReplace(footing))) return OVERTAKEN;
    if (!footing.finished) await finish(this.#requests, thread);
    const next = this.#next(thread, headEntry);
    const { seq } = thread.tail;
    const isEdited = seq < next.floor || [...(next.edits?.drop ?? []), ...seqsOf(next.edits)].includes(seq);
    const pushedOut = isEdited ? [] : [putRecord(thread, thread.tail, seq)];
    const answers = await this.#requests.bulk([...pushedOut, commitHead(next, revision)]);
    const [pushing, commit] = answers.length === 2 ? answers : [undefined, answers[0]];
    if (commit?.failure !== undefined) throw commit.failure;
    if (commit === undefined || commit.status === 409) {
      if (pushing?.status === 201) await this.#takeBack(thread);
      return OVERTAKEN;
    }
    if (pushing?.failure === undefined) return this.#committed(next, commit.revision);
    // Only the head was written, and the previous record is nowhere else: restore the previous head.
    await this.#requests.write(commitHead(thread, commit.revision));
    throw pushing.failure;
  }

  async #footing(): Promise<Footing | undefined> {
    const known = this.#footings.take(this.#name.threadId);
    if (known !== undefined && this.#fits(known.thread)) return known;
    const found = await findThread(this.#requests, this.#name, "whole");
    return found?.thread && { ...found, finished: isFinished(found.thread) };
  }

  #fits({ generation, tail }: Thread): boolean {
    return isExpected({ generation, entry: tail }, this.#request.expected);
  }

  #next(thread: Thread, headEntry: LogEntry | undefined): Thread {
    const { replace = [], drop = [], dropBelow = 0 } = this.#request;
    const { tail, before } = arriving(this.#request);
    const floor = Math.max(thread.floor, dropBelow);
    const dropped = drop.filter((seq) => seq >= floor);
    const replaced = [...replace.filter(({ seq }) => seq >= floor && !dropped.includes(seq)), ...before];
    const isPlain = floor === thread.floor && dropped.length === 0 && replaced.length === 0;
    const edits = isPlain ? undefined : { from: thread.floor, replace: replaced, drop: dropped };
    return { ...thread, floor, tail, headEntry, edits, leftovers: [] };
  }

  /** The entry of the head checkpoint after this append. */
  async #headEntry(footing: Footing): Promise<LogEntry | undefined | typeof OVERTAKEN> {
    const { replace = [] } = this.#request;
    const { tail, headEntry } = footing.thread;
    const arrived = recordsIn(this.#request);
    const head = arrived.at(-1)?.head ?? 0;
    if (head === 0) return undefined;
    const known = [...arrived, ...replace, tail, headEntry].find((entry) => entry?.seq === head);
    if (known !== undefined) return entryOf(known);
    const read = await new ThreadReader(this.#requests, footing).entries(head, head);
    return read === OVERTAKEN ? OVERTAKEN : read.map(entryOf)[0];
  }

  /** False if the thread changed meanwhile. A replacement must not bring back a removed record. */
  async #canReplace(footing: Footing): Promise<boolean> {
    const seqs = (this.#request.replace ?? []).map(({ seq }) => seq);
    if (seqs.length === 0) return true;
    const there = await new ThreadReader(this.#requests, footing).entriesAt(seqs);
    if (there === OVERTAKEN) return false;
    const missing = seqs.find((seq) => !there.some((entry) => entry.seq === seq));
    if (missing === undefined) return true;
    const reason = `replace[].seq of an append is ${missing}, and the thread has no record there`;
    throw new StateError("INVALID_ARGUMENT", reason);
  }

  async #committed(thread: Thread, revision: Revision): Promise<AppendOutcome> {
    let finished = isFinished(thread);
    if (!finished) {
      // The append is made, even if this fails; the next append then retries it.
      finished = await finish(this.#requests, thread).then(
        () => true,
        () => false,
      );
    }
    this.#footings.put({ thread, revision, finished });
    return { appended: true };
  }

  /** The thread was removed while its newest record was moved into its own document: that document must be deleted. */
  async #takeBack({ life, tail }: Thread): Promise<void> {
    const found = await findThread(this.#requests, this.#name, "entries");
    if (found?.thread?.life === life) return;
    await this.#requests.bulkAll([deleteRecord(this.#name.key, life, tail.seq)]);
  }

  async #refusal(found: Located): Attempt {
    const { generation, seq } = this.#request.expected;
    const { thread } = found;
    const isSame = thread.generation === generation;
    const read = isSame ? await new ThreadReader(this.#requests, found).entries(seq + 1, seq + 1) : [];
    if (read === OVERTAKEN) return OVERTAKEN;
    const [occupant] = read.map(entryOf);
    return { appended: false, tail: entryOf(thread.tail), generation: thread.generation, occupant };
  }
}

/** The records of an append: the new tail, and those before it. */
function arriving(request: AppendRequest): { readonly tail: LogRecord; readonly before: readonly LogRecord[] } {
  const records = recordsIn(request);
  return { tail: records.at(-1) ?? request.record, before: records.slice(0, -1) };
}

/** A lease removes the previous lease, which is at the tail and not a checkpoint: that is not a deletion. */
const takesOut = (request: AppendRequest, { floor, tail }: Thread): boolean => {
  const { replace = [], drop = [], dropBelow = 0 } = request;
  if (recordsIn(request).some(({ checkpointId }) => checkpointId !== undefined)) return false;
  const isTail = (seq: number): boolean => seq === tail.seq && tail.checkpointId === undefined;
  return dropBelow > floor || replace.length > 0 || !drop.every(isTail);
};

const seqsOf = (edits: Edits | undefined): readonly number[] => edits?.replace.map(({ seq }) => seq) ?? [];
