import { StateError } from "../../errors.ts";
import type { Message } from "../../state/message.ts";
import type { CheckpointContext } from "../context.ts";
import type { LogChain, LogEntry, LogRecord } from "../log/thread-log.ts";
import { type HoldingOff, withHoldingOff } from "../people/erasure-mark.ts";
import { assertNotHeld } from "../people/holds.ts";
import { newMessagesOf, type RebuiltCheckpoint, rebuildPair } from "../record/chain.ts";
import { codecOf, isContent, isStep } from "../record/codec.ts";
import { countingAsNew, fits, type PlannedBody, planBase, planBody, wordsOf } from "../record/plan-record.ts";
import { openHeader, type ThreadFacts, withChecksum } from "../record/record.ts";
import {
  type Appended,
  type Edits,
  editsAt,
  holdsAt,
  type Plan,
  planMark,
  type Tail,
  Thread,
} from "../thread/thread.ts";

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
const MOST_PLANS = 20;

/** What `editThread` is to do: an edit, or the removal of the whole thread, and what it returns then. */
export type Edit<T> =
  | { readonly result: T; readonly plan?: EditPlan; readonly removesThread?: undefined }
  | { readonly result: T; readonly removesThread: true; readonly plan?: undefined };

/**
 * Carries out what `make` plans. An edit of old records does not depend on what is
 * added behind them, so a lost race costs another append and not another plan: a
 * writer that never stops delays it but cannot prevent it. The plan is made anew
 * where its records changed meanwhile.
 */
export async function editThread<T>(thread: Thread, make: (tail: Tail | undefined) => Promise<Edit<T>>): Promise<T> {
  for (const plans = thread.races(MOST_PLANS); ; plans.lost()) {
    const tail = await thread.tail();
    const { result, plan, removesThread } = await make(tail);
    if (tail === undefined) return result;
    if (removesThread === true) {
      if ((await thread.remove(tail)) !== "moved") return result;
    } else if (plan === undefined || (await appendEdit(thread, tail, plan)) !== undefined) return result;
  }
}

/** Deletes one checkpoint. If it was the newest, the one before it becomes the head. */
export function deleteCheckpoint(context: CheckpointContext, threadId: string, checkpointId: string): Promise<boolean> {
  const thread = new Thread(context, threadId, "delete");
  return editThread(thread, async (tail): Promise<Edit<boolean>> => {
    const entry = tail && (await thread.named(checkpointId));
    if (entry === undefined) return { result: false };
    await assertNotHeld(context, threadId);
    const { saver } = codecOf(tail?.thread);
    if (saver !== undefined)
      return { result: await (await saver()).deleteGraphCheckpoint(context, threadId, checkpointId) };
    const { newer, older } = await neighbours(thread, entry);
    if (newer === undefined && older === undefined) return { result: true, removesThread: true };
    const edits = await planRemovalOf(thread, entry, newer, older);
    const restsOn = [entry, newer, older].filter((each) => each !== undefined);
    const head = newer === undefined && older !== undefined ? { before: entry, after: older } : undefined;
    return { result: true, plan: { edits, restsOn, ...(head && { head }) } };
  });
}

/** What an append must do to remove the checkpoint `entry` but nothing that was built on it. */
export async function planRemovalOf(
  thread: Thread,
  entry: LogEntry,
  newer: LogEntry | undefined,
  older: LogEntry | undefined,
): Promise<Edits> {
  const steps = await stepsOf(thread, entry, older);
  const drop = [entry.seq, ...steps.map(({ seq }) => seq)];
  if (newer === undefined) return { drop };
  const replacement = await rebuiltOn(thread, newer, older, [...steps, entry]);
  if (replacement === undefined) return { drop };
  if (!fits(replacement, thread.context.log.capabilities)) throw cannotBeRemoved(thread, entry, replacement);
  return { drop, replace: [replacement] };
}

/** The steps that only `entry` needs: those between it and the previous checkpoint. */
export async function stepsOf(
  thread: Thread,
  entry: LogEntry,
  older: LogEntry | undefined,
): Promise<readonly LogRecord[]> {
  const { kind, buildsOn } = openHeader(entry);
  if (kind === "base" || buildsOn === older?.seq) return [];
  const { records = [] } = (await thread.chainOf(entry.checkpointId ?? "")) ?? {};
  return records.filter((record) => record.seq > (older?.seq ?? 0) && isStep(record));
}

function cannotBeRemoved({ id: threadId, context: { log } }: Thread, entry: LogEntry, next: LogRecord): StateError {
  const { maxRecordBytes } = log.capabilities;
  return new StateError(
    "TOO_LARGE",
    `checkpoint ${entry.checkpointId} cannot be taken out by itself: the one after it would have to hold ${next.body.byteLength} bytes, and ${log.name} takes at most ${maxRecordBytes}. Delete the thread, or leave the checkpoint in it; nothing was written`,
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
  thread: Thread,
  entry: LogEntry,
  older: LogEntry | undefined,
  removed: readonly LogEntry[] = [],
): Promise<LogRecord | undefined> {
  const { capabilities } = thread.context.log;
  const chain = await thread.chainOf(entry.checkpointId ?? "");
  if (chain === undefined) return undefined;
  const { earlier, later } = rebuildPair(chain, older?.seq ?? 0, successorOf(removed.at(-1), chain) ?? entry.seq);
  const planned =
    earlier === undefined
      ? await planAlone(thread, later, older && removed)
      : planBody(later.fields, { fields: earlier.fields, chain: earlier.header.chain }, capabilities);
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
  thread: Thread,
  { fields, record }: RebuiltCheckpoint,
  removed: readonly LogEntry[] | undefined,
): Promise<PlannedBody> {
  const planned = planBase(fields, fields.messages);
  if (removed === undefined) return planned;
  const brought = await messagesBroughtBy(thread, removed);
  return countingAsNew(planned, fields, [...brought, ...newMessagesOf(record)]);
}

/** The messages that these records added to the thread. The last record is a checkpoint that builds on the others. */
export async function messagesBroughtBy(thread: Thread, entries: readonly LogEntry[]): Promise<readonly Message[]> {
  const last = entries.at(-1);
  const chain = last && (await thread.chainOf(last.checkpointId ?? ""));
  const wanted = new Set(entries.map(({ seq }) => seq));
  return (chain?.records ?? []).filter(({ seq }) => wanted.has(seq)).flatMap((record) => newMessagesOf(record));
}

export async function neighbours(
  thread: Thread,
  { seq }: LogEntry,
): Promise<{ readonly newer: LogEntry | undefined; readonly older: LogEntry | undefined }> {
  let newer: LogEntry | undefined;
  for await (const other of thread.entries()) {
    if (other.seq < seq) return { newer, older: other };
    if (other.seq > seq) newer = other;
  }
  return { newer, older: undefined };
}

/** Appends an edit, behind whatever was added meanwhile; `undefined` if the plan no longer fits. */
export async function appendEdit(thread: Thread, planned: Tail, plan: EditPlan): Promise<Appended | undefined> {
  let current = planned;
  if (plan.restsOn.some(({ seq }) => seq > planned.seq)) {
    // The plan involves records that came after the tail was read.
    const newer = await thread.tail();
    if (newer?.generation !== planned.generation || !(await stillFits(thread, { planned, current: newer }, plan)))
      return;
    current = newer;
  }
  let grown: Tail | undefined;
  return thread.append(current, async (tail, isRetry) => {
    if (tail?.generation !== planned.generation) return undefined;
    if (isRetry && !(await stillFits(thread, { planned, current: tail, grown }, plan))) return undefined;
    if (isRetry) grown = tail;
    return planEdit(thread, tail, plan);
  });
}

function planEdit(thread: Thread, tail: Tail, { edits, head, erases, holdsOff }: EditPlan): Plan {
  const { erasing, ...facts } = tail.thread ?? {};
  const heldOff = holdsOff === undefined ? erasing : withHoldingOff(erasing, holdsOff);
  const next: ThreadFacts = {
    ...facts,
    edits: editsAt(tail) + 1,
    ...(erases && { erasures: (facts.erasures ?? 0) + 1 }),
    ...(heldOff !== undefined && { erasing: heldOff }),
  };
  return planMark(thread, "edit", tail, next, { edits, ...(head && { head: head.after }) });
}

interface Tails {
  /** When the plan was made. */
  readonly planned: Tail;
  readonly current: Tail;
  /** When the plan was last found to fit. */
  readonly grown?: Tail | undefined;
}

/**
 * Whether the records of a plan are unchanged, and no hold was placed on them. The
 * records say so, since their headers contain checksums: counts of edits may be
 * the same in a thread that was put back to an older copy and written to since.
 * They are asked once: while the thread only grows from one attempt to the next
 * and is not edited, another call would only let yet another save land.
 */
async function stillFits(
  thread: Thread,
  { planned, current, grown }: Tails,
  { restsOn, head }: EditPlan,
): Promise<boolean> {
  if (head !== undefined && current.head !== head.before.seq) return false;
  // Holds were read before the plan was made.
  if (holdsAt(current) !== holdsAt(planned)) return false;
  const onlyGrew = grown !== undefined && current.seq > grown.seq;
  if (onlyGrew && editsAt(current) === editsAt(grown)) return true;
  const named = restsOn.filter(({ checkpointId }) => checkpointId !== undefined);
  const found = await Promise.all(named.map(({ checkpointId = "" }) => thread.named(checkpointId)));
  if (!named.every((entry, index) => isSame(entry, found[index]))) return false;
  return areThere(
    thread,
    restsOn.filter(({ checkpointId }) => checkpointId === undefined),
  );
}

const isSame = (entry: LogEntry, found: LogEntry | undefined): boolean =>
  found?.seq === entry.seq && found.header === entry.header;

/** Records without a name cannot be asked for one by one: the pages that they lie in are read again. */
async function areThere(thread: Thread, records: readonly LogEntry[]): Promise<boolean> {
  const wanted = new Map(records.map((record) => [record.seq, record]));
  const seqs = [...wanted.keys()].sort((a, b) => a - b);
  for (let before = (seqs.at(-1) ?? 0) + 1; wanted.size > 0; ) {
    const page = await thread.page(before, PAGE);
    for (const record of page?.records ?? []) {
      const known = wanted.get(record.seq);
      if (known !== undefined && !isSame(known, record)) return false;
      wanted.delete(record.seq);
    }
    before = page?.records[0]?.seq ?? 0;
    if (before <= (seqs[0] ?? 0)) return wanted.size === 0;
  }
  return true;
}

const PAGE = 100;
