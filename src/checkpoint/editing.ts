import type { Message } from "../state/message.ts";
import type { CallPlace } from "./call.ts";
import { newMessagesOf, rebuildPair } from "./chain.ts";
import { type CheckpointContext, newId } from "./context.ts";
import { planBaseHolding, planBody, wordsOf } from "./plan-record.ts";
import { openHeader, sealMark, sealRecord } from "./record.ts";
import type { AppendRequest, LogChain, LogEntry, LogRecord, ThreadLog } from "./thread-log.ts";
import { mayBeWritten, sayingWhetherWritten } from "./written.ts";

/**
 * Taking checkpoints out of the middle or off the end of a log. A checkpoint
 * whose successor builds on it cannot just go: the successor is first written
 * anew so that it builds on what remains. Both happen in one append, so that a
 * reader sees the history before or after, never between.
 */

type Edits = Pick<AppendRequest, "replace" | "drop" | "dropBelow">;

interface Tail {
  readonly generation: string;
  readonly entry: LogEntry;
}

/** Deletes a whole thread. A failure says whether it may be gone all the same. */
export async function removeThread(
  context: CheckpointContext,
  place: CallPlace & { readonly threadId: string },
): Promise<"removed" | "absent" | "moved"> {
  let mayBe = false;
  const remove = (log: ThreadLog): ReturnType<ThreadLog["remove"]> =>
    log.remove(place.threadId).catch((error: unknown) => {
      mayBe ||= mayBeWritten(log, error);
      throw error;
    });
  try {
    return await context.call(place, remove);
  } catch (error) {
    throw sayingWhetherWritten(error, mayBe, "It may have been carried out; deleting again is safe");
  }
}

/** Deletes one checkpoint. The one before it becomes the head if it was the newest. */
export async function deleteCheckpoint(
  context: CheckpointContext,
  threadId: string,
  checkpointId: string,
): Promise<boolean> {
  const place = { operation: "delete", threadId, checkpointId };
  for (;;) {
    const tail = await context.call(place, (log) => log.tail(threadId));
    const entry = await context.call(place, (log) => log.entry(threadId, checkpointId));
    if (tail === undefined || entry === undefined) return false;
    const { newer, older } = await neighbours(context, threadId, entry);
    if (newer === undefined && older === undefined) {
      const ifTail = { generation: tail.generation, seq: tail.entry.seq };
      const removed = await context.call(place, (log) => log.remove(threadId, ifTail));
      if (removed !== "moved") return removed === "removed";
      continue;
    }
    const edits = await planRemovalOf(context, threadId, entry, newer, older);
    const head = newer === undefined ? older : undefined;
    if (await appendEdit(context, threadId, tail, head, edits)) return true;
  }
}

/** What an append must do beside appending so that the name `checkpointId` becomes free for it. */
export async function planRemoval(context: CheckpointContext, threadId: string, checkpointId: string): Promise<Edits> {
  const place = { operation: "save", threadId, checkpointId };
  const entry = await context.call(place, (log) => log.entry(threadId, checkpointId));
  if (entry === undefined) return {};
  const { newer, older } = await neighbours(context, threadId, entry);
  return planRemovalOf(context, threadId, entry, newer, older);
}

async function planRemovalOf(
  context: CheckpointContext,
  threadId: string,
  entry: LogEntry,
  newer: LogEntry | undefined,
  older: LogEntry | undefined,
): Promise<Edits> {
  const drop = [entry.seq];
  if (newer === undefined) return { drop };
  const replacement = await rebuiltOn(context, threadId, newer, older, entry);
  return replacement === undefined ? { drop } : { drop, replace: [replacement] };
}

/**
 * `entry` with the same state, but building on `older` or on nothing, and with
 * the messages of `removed` counted as its own where it still holds them: they
 * would not be found by a search otherwise.
 */
export async function rebuiltOn(
  context: CheckpointContext,
  threadId: string,
  entry: LogEntry,
  older: LogEntry | undefined,
  removed?: LogEntry,
): Promise<LogRecord | undefined> {
  const chain = await readChain(context, threadId, entry);
  if (chain === undefined) return undefined;
  const { earlier, later } = rebuildPair(chain, older?.seq ?? 0, entry.seq);
  const origin = earlier && { fields: earlier.fields, chain: earlier.header.chain };
  const planned =
    origin === undefined
      ? planBaseHolding(later.fields, older && (await newMessagesOfBoth(context, threadId, removed, later.record)))
      : planBody(later.fields, origin, context.log.capabilities.maxChainRecords);
  const isBase = planned.kind === "base";
  const { format: _, bodyBytes: _bytes, freshMessages: _fresh, ...header } = later.header;
  return sealRecord({
    ...later.record,
    base: isBase ? entry.seq : later.record.base,
    body: planned.body,
    words: wordsOf(planned.newMessages),
    fields: {
      ...header,
      kind: planned.kind,
      buildsOn: isBase ? 0 : (older?.seq ?? 0),
      chain: planned.chain,
      ...(planned.freshMessages !== undefined && { freshMessages: planned.freshMessages }),
    },
  });
}

async function newMessagesOfBoth(
  context: CheckpointContext,
  threadId: string,
  removed: LogEntry | undefined,
  kept: LogRecord,
): Promise<readonly Message[]> {
  const record = removed && (await readChain(context, threadId, removed))?.records.at(-1);
  return [...(record === undefined ? [] : newMessagesOf(record)), ...newMessagesOf(kept)];
}

function readChain(context: CheckpointContext, threadId: string, entry: LogEntry): Promise<LogChain | undefined> {
  const checkpointId = entry.checkpointId ?? "";
  const place = { operation: "delete", threadId, checkpointId };
  return context.call(place, (log) => log.readCheckpoint(threadId, checkpointId));
}

async function neighbours(
  context: CheckpointContext,
  threadId: string,
  entry: LogEntry,
): Promise<{ readonly newer: LogEntry | undefined; readonly older: LogEntry | undefined }> {
  let newer: LogEntry | undefined;
  for await (const other of entries(context, threadId)) {
    if (other.seq < entry.seq) return { newer, older: other };
    if (other.seq > entry.seq) newer = other;
  }
  return { newer, older: undefined };
}

/** Every checkpoint's entry, newest first. */
export async function* entries(
  context: CheckpointContext,
  threadId: string,
): AsyncGenerator<LogEntry, void, undefined> {
  const limit = 500;
  let before: number | undefined;
  for (;;) {
    const options = before === undefined ? { limit } : { limit, before };
    const found = await context.call({ operation: "list", threadId }, (log) => log.list(threadId, options));
    yield* found;
    before = found.at(-1)?.seq;
    if (found.length < limit || before === undefined) return;
  }
}

/** Writes an edit behind the tail. `head` is the new newest checkpoint where that changes. False when the thread moved meanwhile. */
export async function appendEdit(
  context: CheckpointContext,
  threadId: string,
  tail: Tail,
  head: LogEntry | undefined,
  edits: Edits,
): Promise<boolean> {
  const writeId = newId();
  const tailHeader = openHeader(tail.entry);
  const seq = tail.entry.seq + 1;
  const outdated = tailHeader.kind === "edit" ? [tail.entry.seq] : [];
  const base = head?.base ?? Math.max(tail.entry.base, edits.dropBelow ?? 0);
  const parts = { seq, writeId, base, head: head?.seq ?? tail.entry.head };
  const record = sealMark("edit", parts, context.now(), tailHeader.thread);
  const request: AppendRequest = {
    generation: tail.generation,
    expected: tail.entry.seq,
    record,
    ...edits,
    drop: [...(edits.drop ?? []), ...outdated],
  };
  const outcome = await context.call({ operation: "delete", threadId }, (log) => log.append(threadId, request));
  return outcome.appended || outcome.occupant?.writeId === writeId;
}
