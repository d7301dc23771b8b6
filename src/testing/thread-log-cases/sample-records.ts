import assert from "node:assert/strict";
import { beginningOf } from "../../checkpoint/log/driver-rules.ts";
import { isReadable } from "../../checkpoint/log/listed-threads.ts";
import type {
  AppendOutcome,
  AppendRequest,
  KnownPlace,
  LogChain,
  LogEntry,
  LogRecord,
  ThreadEntry,
  ThreadLog,
} from "../../checkpoint/log/thread-log.ts";
import { shown } from "../hostile-ids.ts";

/** A checkpoint record at `seq`; everything in it tells which one it is. */
export const recordAt = (seq: number, fields: Partial<LogRecord> = {}): LogRecord => ({
  seq,
  writeId: `write-${seq}`,
  base: 1,
  head: seq,
  checkpointId: `checkpoint-${seq}`,
  header: `{"record":${seq}}`,
  metadata: undefined,
  body: Buffer.from(`body of ${seq}`),
  words: undefined,
  ...fields,
});

/** A record that is not a checkpoint, such as a deletion or a lease leaves. */
export const markAt = (seq: number, fields: Partial<LogRecord> = {}): LogRecord =>
  recordAt(seq, { checkpointId: undefined, head: seq - 1, ...fields });

/** Where an append goes that is not the next of `recordAt` in the generation "first". */
export interface Behind {
  readonly generation?: string;
  /** The write of the record before it. */
  readonly after?: string;
  /** The position of the record before it. */
  readonly expected?: number;
}

export interface RequestFields extends Behind, Omit<Partial<AppendRequest>, "expected"> {}

export function requestFor(record: LogRecord, fields: RequestFields = {}): AppendRequest {
  const { generation, expected: seq = (fields.record ?? record).seq - 1, after, ...rest } = fields;
  return { expected: placeAt(seq, generation, after), record, ...rest };
}

/** The place of the record that `recordAt` makes; with 0, that of no thread. */
export const placeAt = (seq: number, generation = "first", writeId = `write-${seq}`): KnownPlace =>
  seq === 0 ? beginningOf(generation) : { generation, seq, writeId };

/** Appends, and fails the case when that is refused. */
export async function put(
  log: ThreadLog,
  threadId: string,
  record: LogRecord,
  fields: RequestFields = {},
): Promise<LogRecord> {
  const outcome = await log.append(threadId, requestFor(record, fields));
  assert.equal(outcome.appended, true, `record ${record.seq} of thread ${shown(threadId)} must be accepted`);
  return record;
}

/** A thread of `count` checkpoints. */
export async function grow(
  log: ThreadLog,
  threadId: string,
  count: number,
  generation = "first",
): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  for (let seq = 1; seq <= count; seq++) records.push(await put(log, threadId, recordAt(seq), { generation }));
  return records;
}

export function refused(outcome: AppendOutcome, what: string): AppendOutcome & { readonly appended: false } {
  if (outcome.appended) throw new assert.AssertionError({ message: `${what} must be refused` });
  return outcome;
}

/** The parts of a record that listing shows. A driver may hand out more; that is not looked at. */
const entryOf = ({ seq, writeId, base, head, checkpointId, names, header, metadata }: LogEntry): LogEntry => ({
  seq,
  writeId,
  base,
  head,
  checkpointId,
  ...(names !== undefined && { names }),
  header,
  metadata,
});

export function assertEntry(actual: LogEntry | undefined, expected: LogEntry, what: string): void {
  assert.deepEqual(actual && entryOf(actual), entryOf(expected), what);
}

export function assertEntries(actual: readonly LogEntry[], expected: readonly LogEntry[], what: string): void {
  assert.deepEqual(actual.map(entryOf), expected.map(entryOf), what);
}

export function assertRecords(actual: readonly LogRecord[], expected: readonly LogRecord[], what: string): void {
  assertEntries(actual, expected, what);
  for (const [index, { seq, body }] of expected.entries()) {
    const stored = actual[index]?.body ?? new Uint8Array();
    assert.ok(Buffer.compare(stored, body) === 0, `${what}: the body of record ${seq} must be what was appended`);
  }
}

/** The whole thread as it should be, where every record's base is 1. */
export async function assertThread(
  log: ThreadLog,
  threadId: string,
  expected: readonly LogRecord[],
  what: string,
): Promise<void> {
  const chain = await log.readTail(threadId);
  assertRecords(chain?.records ?? [], expected, what);
  const tail = expected.at(-1);
  if (tail !== undefined) assertEntry(chain?.tail, tail, `${what}: the tail`);
}

export async function assertAbsent(log: ThreadLog, threadId: string, what: string): Promise<void> {
  assert.equal(await log.readTail(threadId), undefined, `${what}: readTail`);
  assert.equal(await log.tail(threadId), undefined, `${what}: tail`);
  assert.equal(await log.readRecords(threadId, { limit: 9 }), undefined, `${what}: readRecords`);
  assert.equal(await log.entry(threadId, "checkpoint-1"), undefined, `${what}: entry`);
  assert.equal(await log.readCheckpoint(threadId, "checkpoint-1"), undefined, `${what}: readCheckpoint`);
  assert.deepEqual(await log.list(threadId, { limit: 10 }), [], `${what}: list`);
  if (!log.capabilities.listThreads) return;
  const listed = await threadsOf(log, "", 100);
  assert.ok(!listed.some((thread) => thread.threadId === threadId), `${what}: listThreads`);
}

export function present(chain: LogChain | undefined, what: string): LogChain {
  if (chain === undefined) throw new assert.AssertionError({ message: `${what} must be there` });
  return chain;
}

/** A walk that is given the same place again never ends. */
export function assertMovedOn(before: string | undefined, next: string | undefined): void {
  assert.ok(next === undefined || next !== before, "a page must not lead to itself");
}

/** Every page of a listing. */
export async function threadsOf(log: ThreadLog, prefix: string, limit: number): Promise<readonly ThreadEntry[]> {
  const threads: ThreadEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await log.listThreads({ prefix, limit, ...(cursor !== undefined && { cursor }) });
    assert.ok(page.items.length <= limit, `a page of ${limit} must not hold ${page.items.length}`);
    assert.ok(page.items.every(isReadable), "a thread that was just written can be read");
    threads.push(...page.items.filter(isReadable));
    assertMovedOn(cursor, page.cursor);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return threads;
}

/** Ids whose beginnings are easily taken for patterns, or for one another. */
export const PREFIXED_IDS: readonly string[] = [
  "a",
  "ab",
  "a_",
  "a_/1",
  "a%",
  "a%b",
  "A_",
  "b",
  "\u00e9t\u00e9",
  "e\u0301",
];
