import { isSamePlace, placeOfTail } from "../../checkpoint/log/driver-rules.ts";
import type { AppendOutcome, AppendRequest } from "../../checkpoint/log/thread-log.ts";
import { inParallel } from "../../internal/concurrency.ts";
import { Recent } from "../../internal/recent.ts";
import { isGone } from "./classify.ts";
import { syncDirectory } from "./durable-names.ts";
import { writeNewFile } from "./durable-write.ts";
import { editsOf, finishOwnEdits } from "./edits.ts";
import { fold } from "./folding.ts";
import { commit, type Expected, type Footing, findFooting, type Refusal, refusal, stillHolds } from "./footing.ts";
import { type LogPlace, recordPath, threadDirectoryName } from "./layout.ts";
import { renderRecord } from "./record-file.ts";
import { openThread } from "./removing.ts";
import type { RootDirectory } from "./root.ts";
import { publishThread } from "./thread-directory.ts";
import { AGAIN, untilUndisturbed } from "./undisturbed.ts";

/** Limits the time that closing takes, however many threads were written. */
const MOST_FOLDED_AT_THE_END = 32;

export class ThreadWriter {
  readonly #root: RootDirectory;
  /** Where this process appended last: its next append to the same thread need not read the log. */
  readonly #footings = new Recent<Footing>(1000);
  readonly #foldEvery: number;
  /** The logs that were appended to, to be folded on close. */
  readonly #written = new Recent<LogPlace>(MOST_FOLDED_AT_THE_END);

  constructor(root: RootDirectory, foldEvery: number) {
    this.#root = root;
    this.#foldEvery = foldEvery;
  }

  append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    return untilUndisturbed(() =>
      request.expected.seq === 0 ? this.#begin(threadId, request) : this.#extend(threadId, request),
    );
  }

  /** The first record is created together with the thread. */
  async #begin(threadId: string, request: AppendRequest): Promise<AppendOutcome | typeof AGAIN> {
    const { record, more = [] } = request;
    const { generation } = request.expected;
    const threadDirectory = threadDirectoryName(threadId);
    const snapshot = await openThread(this.#root, threadDirectory);
    if (snapshot !== undefined) return refusal(snapshot, request);
    const made = await publishThread(this.#root, threadDirectory, async (draft) => {
      const stored = { threadId, generation, log: draft.log, record, more, removed: false, edits: undefined };
      await writeNewFile(recordPath(draft, record.seq), renderRecord(stored));
      return true;
    });
    if (made === undefined) return AGAIN;
    const tail = placeOfTail({ generation, entry: more.at(-1) ?? record });
    const footing = { place: made, tail, file: record.seq, foldedTo: 0, staging: made.staging };
    this.#footings.set(threadDirectory, footing);
    await this.#foldNowAndThen(footing, 0);
    return { appended: true };
  }

  async #extend(threadId: string, request: AppendRequest): Promise<AppendOutcome | typeof AGAIN> {
    const threadDirectory = threadDirectoryName(threadId);
    const footing = await this.#footingFor(threadDirectory, request);
    if (footing === AGAIN || "appended" in footing) return footing;
    const { record, more = [] } = request;
    const edits = editsOf(request);
    if (!(await commit(footing, { threadId, record, more, removed: false, edits }))) return AGAIN;
    try {
      await syncDirectory(footing.place.path);
    } catch (error) {
      // The thread was deleted at this very moment, and the new record with it.
      if (isGone(error)) return AGAIN;
      throw error;
    }
    const { generation } = request.expected;
    const next = { ...footing, tail: placeOfTail({ generation, entry: more.at(-1) ?? record }), file: record.seq };
    if (edits !== undefined) await finishOwnEdits(this.#root, footing.place);
    else this.#footings.set(threadDirectory, next);
    await this.#foldNowAndThen(next, footing.tail.seq);
    return { appended: true };
  }

  /** Folds the most recently written logs, so that each becomes one file or a few. */
  async foldAll(): Promise<void> {
    await inParallel(this.#written.values(), (place) => this.#fold(place));
  }

  /** The append that exceeds the limit of unfolded records folds them. `before` was the tail. */
  async #foldNowAndThen({ place, tail, foldedTo }: Footing, before: number): Promise<void> {
    this.#written.set(place.path, place);
    const [now, then] = [tail.seq, before].map((seq) => Math.floor((seq - foldedTo) / this.#foldEvery));
    if (now === then) return;
    // Its staging directory is about to be removed.
    this.#footings.delete(place.threadDirectory);
    await this.#fold(place);
  }

  /** The records are on the disk already. If they cannot be folded now, the next fold does it. */
  async #fold(place: LogPlace): Promise<void> {
    await fold(this.#root, place).catch(() => undefined);
  }

  async #footingFor(threadDirectory: string, request: Expected): Promise<Footing | Refusal | typeof AGAIN> {
    const known = this.#footings.get(threadDirectory);
    // Used once: if it is no longer valid, reading the log says why.
    this.#footings.delete(threadDirectory);
    // Whether the records to be replaced exist can only be seen in the log.
    const isAlone = (request.replace ?? []).length === 0;
    if (known !== undefined && isAlone && isSamePlace(known.tail, request.expected) && (await stillHolds(known))) {
      return known;
    }
    return findFooting(this.#root, threadDirectory, request);
  }
}
