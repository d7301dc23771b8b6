import { newId } from "../../driver/new-id.ts";
import { StateError } from "../../errors.ts";
import type { Message } from "../../state/message.ts";
import type { CheckpointContext } from "../context.ts";
import { placeOfTail, wasAppended } from "../log/append-rules.ts";
import { entries } from "../log/entries.ts";
import type { AppendRequest, KnownPlace, LogChain, LogEntry, LogRecord, ThreadTail } from "../log/thread-log.ts";
import { type HoldingOff, withHoldingOff } from "../people/holding-off.ts";
import { assertNotHeld } from "../people/holds.ts";
import { newMessagesOf, type RebuiltCheckpoint, rebuildPair } from "../record/chain.ts";
import { countingAsNew, fits, type PlannedBody, planBase, planBody, wordsOf } from "../record/plan-record.ts";
import { markRecord, openHeader, withChecksum } from "../record/record.ts";
import { isContent, stepsOf } from "../record/steps.ts";
import { isGraphs } from "../record/thread-facts.ts";
import { LostRaces } from "../thread/lost-races.ts";
import type { Edits } from "./edits.ts";

/**
 * Removes checkpoints from the middle or the end of a log. A checkpoint that its
 * successor builds on cannot simply go: the successor is first rewritten to build
 * on what remains. Both happen in one append, so that a reader sees the history
 * before or after, never in between.
 */

/** A change of existing records. It can be appended behind any tail as long as those records are unchanged. */
export interface EditPlan {
  readonly edits: Edits;
  /** The records that the plan was made from. */
  readonly restsOn: readonly LogEntry[];
  /** Where the newest checkpoint is removed: its entry, and the one that becomes the newest. */
  readonly head?: { readonly before: LogEntry; readonly after: LogEntry };
  /** Content is removed that states in memory may still hold; they must be loaded again before they are saved. */
  readonly erases?: true;
  /** Others' writes are held off from the thread, or no longer. */
  readonly holdsOff?: HoldingOff;
}

/** A plan is remade when another edit changed its records, which is rare. */
export const MOST_PLANS = 20;

/** Deletes one checkpoint. If it was the newest, the one before it becomes the head. */
export async function deleteCheckpoint(
  context: CheckpointContext,
  threadId: string,
  checkpointId: string,
): Promise<boolean> {
  const place = { operation: "delete", threadId, checkpointId };
  for (const plans = new LostRaces(context, "delete", threadId, MOST_PLANS); ; plans.lost()) {
    const tail = await context.call(place, (log) => log.tail(threadId));
    const entry = await context.call(place, (log) => log.entry(threadId, checkpointId));
    if (tail === undefined || entry === undefined) return false;
    await assertNotHeld(context, threadId);
    if (isGraphs(openHeader(tail.entry).thread)) {
      const { deleteGraphCheckpoint } = await import("../graphs/graph-operations.ts");
      return deleteGraphCheckpoint(context, threadId, checkpointId);
    }
    const { newer, older } = await neighbours(context, threadId, entry);
    if (newer === undefined && older === undefined) {
      const removed = await context.call(place, (log) => log.remove(threadId, placeOfTail(tail)));
      if (removed !== "moved") return removed === "removed";
      continue;
    }
    const edits = await planRemovalOf(context, threadId, entry, newer, older);
    const restsOn = [entry, newer, older].filter((each) => each !== undefined);
    const head = newer === undefined && older !== undefined ? { before: entry, after: older } : undefined;
    if (await appendEdit(context, threadId, tail, { edits, restsOn, ...(head && { head }) })) return true;
  }
}

/** What an append must do to remove the checkpoint `entry` but nothing that was built on it. */
export async function planRemovalOf(
  context: CheckpointContext,
  threadId: string,
  entry: LogEntry,
  newer: LogEntry | undefined,
  older: LogEntry | undefined,
): Promise<Edits> {
  const steps = await stepsOf(context, threadId, entry, older);
  const drop = [entry.seq, ...steps.map(({ seq }) => seq)];
  if (newer === undefined) return { drop };
  const replacement = await rebuiltOn(context, threadId, newer, older, [...steps, entry]);
  if (replacement === undefined) return { drop };
  if (!fits(replacement, context.log.capabilities)) throw cannotBeRemoved(context, threadId, entry, replacement);
  return { drop, replace: [replacement] };
}

function cannotBeRemoved(context: CheckpointContext, threadId: string, entry: LogEntry, next: LogRecord): StateError {
  const { maxRecordBytes } = context.log.capabilities;
  return new StateError(
    "TOO_LARGE",
    `checkpoint ${entry.checkpointId} cannot be taken out by itself: the one after it would have to hold ${next.body.byteLength} bytes, and ${context.log.name} takes at most ${maxRecordBytes}. Delete the thread, or leave the checkpoint in it; nothing was written`,
    { threadId, ...(entry.checkpointId !== undefined && { checkpointId: entry.checkpointId }), written: "no" },
  );
}

/**
 * The record after the `removed` ones, on the way to the checkpoint `entry`: with
 * the same state, but building on `older` or on nothing. If it still holds the
 * messages of the removed records, they count as its own, because a search would
 * not find them otherwise. Without `removed`, it is that checkpoint itself.
 */
export async function rebuiltOn(
  context: CheckpointContext,
  threadId: string,
  entry: LogEntry,
  older: LogEntry | undefined,
  removed: readonly LogEntry[] = [],
): Promise<LogRecord | undefined> {
  const chain = await readChain(context, threadId, entry);
  if (chain === undefined) return undefined;
  const { earlier, later } = rebuildPair(chain, older?.seq ?? 0, successorOf(removed.at(-1), chain) ?? entry.seq);
  const planned =
    earlier === undefined
      ? await planAlone(context, threadId, later, older && removed)
      : planBody(later.fields, { fields: earlier.fields, chain: earlier.header.chain }, context.log.capabilities);
  const isBase = planned.kind === "base";
  const { record } = later;
  const { format: _, bodyBytes: _bytes, freshMessages: _fresh, ...header } = later.header;
  return withChecksum({
    ...record,
    base: isBase ? record.seq : record.base,
    head: record.checkpointId === undefined ? (older?.seq ?? 0) : record.head,
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

const successorOf = (removed: LogEntry | undefined, { records }: LogChain): number | undefined =>
  removed && records.find((record) => record.seq > removed.seq && isContent(record))?.seq;

/** A base. `removed` is given if earlier checkpoints stay, whose messages are not its own. */
async function planAlone(
  context: CheckpointContext,
  threadId: string,
  { fields, record }: RebuiltCheckpoint,
  removed: readonly LogEntry[] | undefined,
): Promise<PlannedBody> {
  const planned = planBase(fields, fields.messages);
  if (removed === undefined) return planned;
  const brought = await messagesBroughtBy(context, threadId, removed);
  return countingAsNew(planned, fields, [...brought, ...newMessagesOf(record)]);
}

/** The messages that these records added to the thread. The last record is a checkpoint that builds on the others. */
export async function messagesBroughtBy(
  context: CheckpointContext,
  threadId: string,
  entries: readonly LogEntry[],
): Promise<readonly Message[]> {
  const last = entries.at(-1);
  const chain = last && (await readChain(context, threadId, last));
  const wanted = new Set(entries.map(({ seq }) => seq));
  return (chain?.records ?? []).filter(({ seq }) => wanted.has(seq)).flatMap((record) => newMessagesOf(record));
}

function readChain(context: CheckpointContext, threadId: string, entry: LogEntry): Promise<LogChain | undefined> {
  const checkpointId = entry.checkpointId ?? "";
  const place = { operation: "delete", threadId, checkpointId };
  return context.call(place, (log) => log.readCheckpoint(threadId, checkpointId));
}

export async function neighbours(
  context: CheckpointContext,
  threadId: string,
  { seq }: LogEntry,
): Promise<{ readonly newer: LogEntry | undefined; readonly older: LogEntry | undefined }> {
  let newer: LogEntry | undefined;
  for await (const other of entries(context, threadId)) {
    if (other.seq < seq) return { newer, older: other };
    if (other.seq > seq) newer = other;
  }
  return { newer, older: undefined };
}

/**
 * Appends an edit behind the tail. An edit of old records does not depend on what
 * is added behind them, so a lost race costs another append and not another plan:
 * a writer that never stops delays it but cannot prevent it. Returns false if the
 * plan no longer fits.
 */
export async function appendEdit(
  context: CheckpointContext,
  threadId: string,
  tail: ThreadTail,
  plan: EditPlan,
): Promise<boolean> {
  let current: ThreadTail | undefined = tail;
  if (plan.restsOn.some(({ seq }) => seq > tail.entry.seq)) {
    // The plan involves records that came after the tail was read.
    current = await context.call({ operation: "delete", threadId }, (log) => log.tail(threadId));
    if (current?.generation !== tail.generation) return false;
    if (!(await stillFits(context, threadId, { planned: tail, current }, plan))) return false;
  }
  let grown: ThreadTail | undefined;
  for (const races = new LostRaces(context, "delete", threadId); ; races.lost()) {
    const request = editRequest(context, current, plan);
    const outcome = await context.call({ operation: "delete", threadId }, (log) => log.append(threadId, request));
    if (wasAppended(outcome, request)) return true;
    const { tail: entry, generation } = outcome;
    if (entry === undefined || generation !== current.generation) return false;
    current = { generation, entry };
    if (!(await stillFits(context, threadId, { planned: tail, current, grown }, plan))) return false;
    grown = current;
  }
}

function editRequest(context: CheckpointContext, tail: ThreadTail, plan: EditPlan): AppendRequest {
  const { edits, head, erases, holdsOff } = plan;
  const writeId = newId();
  const { erasing, ...thread } = openHeader(tail.entry).thread ?? {};
  const heldOff = holdsOff === undefined ? erasing : withHoldingOff(erasing, holdsOff);
  const tailHeader = openHeader(tail.entry);
  const seq = tail.entry.seq + 1;
  const outdated = tailHeader.kind === "edit" ? [tail.entry.seq] : [];
  const base = head?.after.base ?? Math.max(tail.entry.base, edits.dropBelow ?? 0);
  const parts = { seq, writeId, base, head: head?.after.seq ?? tail.entry.head };
  return {
    expected: placeOfTail(tail),
    record: markRecord("edit", parts, context.now(), {
      ...thread,
      edits: editsAt(tail) + 1,
      ...(erases && { erasures: (thread.erasures ?? 0) + 1 }),
      ...(heldOff !== undefined && { erasing: heldOff }),
    }),
    ...edits,
    drop: [...(edits.drop ?? []), ...outdated],
  };
}

/** How often the thread was edited. */
export const editsAt = ({ entry }: ThreadTail): number => openHeader(entry).thread?.edits ?? 0;

/** How often a legal hold was placed on the thread. */
export const holdsAt = ({ entry }: ThreadTail): number => openHeader(entry).thread?.holds ?? 0;

interface Tails {
  /** When the plan was made. */
  readonly planned: ThreadTail;
  readonly current: ThreadTail;
  /** When the plan was last found to fit. */
  readonly grown?: ThreadTail | undefined;
}

/**
 * Whether the records of a plan are unchanged, and no hold was placed on them. The
 * records say so, since their headers contain checksums: counts of edits may be
 * the same in a thread that was put back to an older copy and written to since.
 * They are asked once: while the thread only grows from one attempt to the next
 * and nobody edits it, another call would only let yet another save land.
 */
async function stillFits(
  context: CheckpointContext,
  threadId: string,
  { planned, current, grown }: Tails,
  { restsOn, head }: EditPlan,
): Promise<boolean> {
  if (head !== undefined && current.entry.head !== head.before.seq) return false;
  // Whoever made the plan asked for holds before that.
  if (holdsAt(current) !== holdsAt(planned)) return false;
  const onlyGrew = grown !== undefined && current.entry.seq > grown.entry.seq;
  if (onlyGrew && editsAt(current) === editsAt(grown)) return true;
  // A record without a name cannot be asked for, but the tail that it was read with can.
  if (restsOn.some(({ checkpointId }) => checkpointId === undefined)) {
    return editsAt(current) === editsAt(planned) && (await holdsPlace(context, threadId, placeOfTail(planned)));
  }
  const found = await Promise.all(
    restsOn.map(({ checkpointId = "" }) =>
      context.call({ operation: "delete", threadId, checkpointId }, (log) => log.entry(threadId, checkpointId)),
    ),
  );
  return restsOn.every(({ seq, header }, index) => found[index]?.seq === seq && found[index].header === header);
}

/** Whether the thread, as it is now, went on from this record. */
async function holdsPlace(
  context: CheckpointContext,
  threadId: string,
  { seq, writeId }: KnownPlace,
): Promise<boolean> {
  const place = { operation: "delete", threadId };
  const found = await context.call(place, (log) => log.readRecords(threadId, { before: seq + 1, limit: 1 }));
  const record = found?.records.at(-1);
  return record?.seq === seq && record.writeId === writeId;
}
