import type { AppendOutcome, AppendRequest, LogEntry, LogRecord } from "../../checkpoint/thread-log.ts";
import { ROWS_PER_THREAD } from "./layout.ts";
import { type EntryRow, type RecordRow, rowId, type ThreadRow, toEntry, toRecord } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** The steps of a transaction. None of them begins or ends one. */

export function refusal(
  statements: Statements,
  threadId: string,
  { generation, expected }: AppendRequest,
): AppendOutcome {
  const thread = statements.thread.get(threadId) as ThreadRow | undefined;
  if (thread === undefined) return { appended: false, tail: undefined, generation: undefined, occupant: undefined };
  const at = (seq: number): LogEntry | undefined => {
    const row = statements.at.get(rowId(thread.thread_no, seq)) as EntryRow | undefined;
    return row && toEntry(row);
  };
  const occupant = thread.generation === generation ? at(expected + 1) : undefined;
  return { appended: false, tail: at(thread.tail), generation: thread.generation, occupant };
}

export function edit(
  statements: Statements,
  threadNo: number,
  indexed: number,
  { replace = [], drop = [], dropBelow }: AppendRequest,
): void {
  for (const record of replace) {
    const id = rowId(threadNo, record.seq);
    const { base, head, checkpointId = null, header, metadata = null, body } = record;
    statements.replace.run(base, head, storedWriteId(record), checkpointId, header, metadata, body, id);
    statements.unindex.run(id, id);
    if (record.words !== undefined && record.seq <= indexed) statements.index.run(id, record.words);
  }
  for (const seq of drop) dropRange(statements, threadNo, seq, seq);
  if (dropBelow !== undefined) dropRange(statements, threadNo, 0, dropBelow - 1);
}

export function insert(statements: Statements, threadNo: number, record: LogRecord): void {
  const { seq, base, head, checkpointId = null, header, metadata = null, body } = record;
  statements.insert.run(rowId(threadNo, seq), base, head, storedWriteId(record), checkpointId, header, metadata, body);
}

export function dropRange(statements: Statements, threadNo: number, first: number, last: number): void {
  statements.unindex.run(rowId(threadNo, first), rowId(threadNo, last));
  statements.drop.run(rowId(threadNo, first), rowId(threadNo, last));
}

const RECORDS_PER_INDEXING = 256;

/** Indexes some records of one thread that has any to index. Says whether there may be more. */
export function indexSome(statements: Statements, wordsOf: (record: LogRecord) => string | undefined): boolean {
  const thread = statements.toIndex.get() as ThreadRow | undefined;
  if (thread === undefined) return false;
  const [after, last] = [rowId(thread.thread_no, thread.indexed), rowId(thread.thread_no, thread.tail)];
  const rows = statements.unindexed.all(after, last, RECORDS_PER_INDEXING) as RecordRow[];
  for (const row of rows) {
    const words = wordsOf(toRecord(row));
    if (words !== undefined) statements.index.run(row.id, words);
  }
  const done = rows.length < RECORDS_PER_INDEXING ? thread.tail : (rows.at(-1)?.id ?? last) % ROWS_PER_THREAD;
  statements.indexedTo.run(done, thread.thread_no);
  return true;
}

/** Most checkpoints are named by their write: the name is then kept once. */
const storedWriteId = ({ writeId, checkpointId }: LogRecord): string | null =>
  writeId === checkpointId ? null : writeId;
