import { assertAppend, isSamePlace, recordsIn } from "../../checkpoint/log/append-rules.ts";
import type { AppendOutcome, AppendRequest } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";
import { Recent } from "../../internal/recent.ts";
import type { Connection } from "./connection.ts";
import { ROWS_PER_THREAD } from "./layout.ts";
import { findToAppend, type ThreadToAppend } from "./read-rows.ts";
import { placeInRow, type ThreadRow } from "./rows.ts";
import type { Statements } from "./statements.ts";
import type { WordsOf } from "./words-index.ts";
import { advance, appendBehind, createThread, edit, indexMetadata, insert, refusal } from "./write-rows.ts";

interface Appended {
  readonly outcome: AppendOutcome;
  /** Whether message content is gone. */
  readonly erases: boolean;
}

/** How many threads' rows are remembered, a few hundred bytes each. */
const ROWS_KEPT = 1024;
/** A thread with more metadata than so many characters is not: it is read again for each append. */
const MOST_METADATA_KEPT = 4096;

/**
 * Appends, each a transaction or a part of one. Nearly all of them are one statement,
 * because the thread is as this process left it: `appendBehind`. The others read the
 * thread's row first.
 */
export class Appending {
  readonly #connection: Connection<Statements>;
  /** As the last appends left them, or would have: the next one compares every column before it relies on them. */
  readonly #rows = new Recent<ThreadToAppend>(ROWS_KEPT);

  constructor(connection: Connection<Statements>) {
    this.#connection = connection;
  }

  async append(threadId: string, request: AppendRequest, wordsOf: WordsOf): Promise<AppendOutcome> {
    assertAppend(request);
    const last = request.more?.at(-1) ?? request.record;
    if (last.seq >= ROWS_PER_THREAD) throw tooManyRecords(threadId);
    const work = (statements: Statements): Appended => this.#append(statements, threadId, request, wordsOf);
    const atOnce = isOneRow(request)
      ? (statements: Statements): Appended | undefined => this.#appendAtOnce(statements, threadId, request)
      : undefined;
    const { outcome, erases } = await this.#connection.together(work, atOnce);
    if (erases) await this.#connection.erased();
    return outcome;
  }

  #append(statements: Statements, threadId: string, request: AppendRequest, wordsOf: WordsOf): Appended {
    const { expected } = request;
    const { generation } = expected;
    const records = recordsIn(request);
    const { seq: tail, writeId: tail_write_id, head } = records.at(-1) ?? request.record;
    const found = findToAppend(statements, threadId);
    const fits = found === undefined ? expected.seq === 0 : isSamePlace(placeInRow(found), expected);
    const next = !fits
      ? undefined
      : found === undefined
        ? createThread(statements, threadId, { generation, tail, tail_write_id, head })
        : advance(statements, found, { tail, tail_write_id, head });
    if (next === undefined) return { outcome: refusal(statements, found, request), erases: false };
    const erases = edit(statements, next, request, wordsOf);
    for (const record of records) insert(statements, next.thread_no, record);
    this.#remember(next, indexMetadata(statements, found, next, request));
    return { outcome: { appended: true }, erases };
  }

  /** `undefined`, and nothing is done, where the thread is not as the last append of this process left it. */
  #appendAtOnce(statements: Statements, threadId: string, { expected, record }: AppendRequest): Appended | undefined {
    const known = this.#rows.get(threadId);
    if (known === undefined || !isSamePlace(placeInRow(known), expected)) return undefined;
    const next = appendBehind(statements, known, record);
    if (next === undefined) return undefined;
    this.#rows.set(threadId, next);
    return { outcome: { appended: true }, erases: false };
  }

  #remember(row: ThreadRow, metadata: string | null | undefined): void {
    if (metadata === undefined || (metadata?.length ?? 0) > MOST_METADATA_KEPT) this.#rows.delete(row.thread_id);
    else this.#rows.set(row.thread_id, { ...row, metadata });
  }
}

/** An append that touches no row but that of its record and that of its thread. */
const isOneRow = ({ record, more, replace, drop, dropBelow }: AppendRequest): boolean =>
  record.names === undefined &&
  more === undefined &&
  replace === undefined &&
  drop === undefined &&
  dropBelow === undefined;

const tooManyRecords = (threadId: string): StateError =>
  new StateError("TOO_LARGE", `a thread takes at most ${ROWS_PER_THREAD - 1} records`, { threadId });
