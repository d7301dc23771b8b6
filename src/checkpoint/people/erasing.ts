import type { Warnings } from "../../driver/warnings.ts";
import { StateError } from "../../errors.ts";
import { Sweep, type SweepRule } from "../../state/people/erasing.ts";
import type { ActiveHolds, LegalHold } from "../../state/people/legal-hold.ts";
import { encodeOwned } from "../../state/values/codec.ts";
import type { CheckpointContext } from "../context.ts";
import { everyWholeThread } from "../find/finding.ts";
import { type Edit, editThread } from "../history/editing.ts";
import type { KnownPlace, LogRecord } from "../log/thread-log.ts";
import { newMessagesOf } from "../record/chain.ts";
import { codecOf, isContent, type RecordCodec } from "../record/codec.ts";
import { wordsOf } from "../record/plan-record.ts";
import { openHeader, openRecord, withChecksum } from "../record/record.ts";
import { Thread, tailOf } from "../thread/thread.ts";
import type { HoldingOff } from "./erasure-mark.ts";
import { activeHolds } from "./holds.ts";
import {
  type Forgets,
  type FoundInThread,
  factsOf,
  type Leaves,
  type Looked,
  lookInto,
  readPage,
  ruleFor,
  swept,
} from "./people-in-thread.ts";
import type { SubjectIndex } from "./subject-index.ts";

/**
 * Finding and taking out what is about some people, in whole histories: every
 * record of every thread that an index does not clear is read. Records are put
 * in place of what they were, page by page, so that it ends however long a
 * thread is, and another attempt goes on where one was interrupted.
 */

const OPERATION = "erase";

export interface Looking {
  readonly forgets: Forgets;
  readonly warnings: Warnings;
  /** Whom threads are about, as far as earlier erasures and exports have read. */
  readonly index: SubjectIndex;
  /** Called for a graph's thread with values of which the content cannot be read. */
  readonly onOpaque: () => void;
  /**
   * Threads that were written to since then are left to the next look: one that a writer fills faster than it is
   * looked at would keep this one from ending.
   */
  readonly writtenBefore?: number;
  readonly onPostponed?: () => void;
  /** Told how much of a thread a legal hold keeps. */
  readonly onHeld: (hold: LegalHold, count: number) => void;
}

/** Everything in any thread that is about those people. */
export async function* findInThreads(
  context: CheckpointContext,
  looking: Looking,
): AsyncGenerator<readonly FoundInThread[], void, undefined> {
  const { forgets, warnings, index, onOpaque, writtenBefore = Number.POSITIVE_INFINITY, onPostponed } = looking;
  const met = new Set<string>();
  const skips = (threadId: string, place: KnownPlace): boolean => {
    met.add(threadId);
    return index.clears(threadId, place, forgets);
  };
  for await (const { threadId, head, tail: listed, records } of everyWholeThread(context, OPERATION, warnings, skips)) {
    met.add(threadId);
    if (listed !== undefined && records !== undefined && index.clearsBy(threadId, listed, records, forgets)) continue;
    const place = { operation: OPERATION, threadId };
    const looked = await warnings.skipping(threadId, () =>
      context.guard(place, async () => {
        const found = await context.call(place, (log) => log.tail(threadId));
        const tail = found && tailOf(found);
        if (found === undefined || tail === undefined || index.clears(threadId, tail, forgets)) return undefined;
        if (openHeader(found.entry).createdAt > writtenBefore) {
          onPostponed?.();
          return undefined;
        }
        const codec = codecOf(openHeader(head).thread);
        const look = (noted: Forgets): Promise<Looked> => lookInto(context, threadId, codec, noted);
        const { found: about, opaque } = await index.noting(threadId, tail, forgets, look);
        return {
          opaque,
          found: about.length === 0 ? about : await notHeld(context, threadId, codec, looking, about),
        };
      }),
    );
    if (looked === undefined) continue;
    if (looked.opaque > 0) onOpaque();
    if (looked.found.length > 0) yield looked.found;
  }
  index.retain(met);
}

/** What no legal hold keeps, as the holds are now. */
async function notHeld(
  context: CheckpointContext,
  threadId: string,
  codec: RecordCodec,
  { forgets, onHeld }: Looking,
  found: readonly FoundInThread[],
): Promise<readonly FoundInThread[]> {
  const holds = await activeHolds(context);
  const hold = holds.onThread(threadId);
  if (hold !== undefined) {
    onHeld(hold, found.length);
    return [];
  }
  if (!holds.hasPeople) return found;
  let keeper: LegalHold | undefined;
  const keeps = (subject: string): boolean => {
    const its = holds.onPerson(subject);
    keeper ??= its;
    return its !== undefined;
  };
  const looked = await lookInto(context, threadId, codec, forgets, keeps);
  if (looked.kept > 0 && keeper !== undefined) onHeld(keeper, looked.kept);
  return looked.found;
}

/**
 * Puts placeholders where the thread holds something about those people; returns how many records that were. With
 * `holding`, other writers are held off from the thread from then on.
 */
export async function eraseInThread(
  context: CheckpointContext,
  threadId: string,
  forgets: Forgets,
  holding?: HoldingOff,
): Promise<number> {
  const holds = await activeHolds(context);
  if (holds.onThread(threadId) !== undefined) return 0;
  if (holding !== undefined) await holdOffWriters(context, threadId, holding);
  const keeps = holds.hasPeople ? (subject: string) => holds.onPerson(subject) !== undefined : undefined;
  const thread = new Thread(context, threadId, OPERATION);
  const codec = codecOf((await thread.tail())?.thread);
  if (codec.saver !== undefined) {
    if (keeps !== undefined && (await lookInto(context, threadId, codec, forgets, keeps)).kept > 0) return 0;
    const isAsJudged = async (): Promise<boolean> => (await activeHolds(context)).version === holds.version;
    return (await codec.saver()).eraseInGraph(context, threadId, forgets, isAsJudged);
  }
  const facts = await factsOf(context, threadId, forgets, keeps);
  if (!facts.isConcerned) return 0;
  const { subjects, isKept, isOnePage } = facts;
  // What names people goes last, because until then it tells what else of the thread has to go.
  const steps: Leaves[] = ["the thread's subject"];
  if (!isOnePage) steps.unshift("names");
  if (subjects.size > 0 && !isKept) steps.push("nothing");
  let count = 0;
  for (const leaves of steps) {
    const done = await rewrite(thread, holds, count, (record) => ruleFor(record, facts, forgets, leaves));
    count = done.count;
    if (done.isStopped) break;
  }
  return count;
}

/** Holds writers off from a thread, or lets them go on. */
export async function holdOffWriters(context: CheckpointContext, threadId: string, holding: HoldingOff): Promise<void> {
  await editThread(new Thread(context, threadId, OPERATION), async (tail): Promise<Edit<void>> => {
    const isOver = holding.until === undefined && tail?.thread?.erasing?.[holding.by] === undefined;
    return { result: undefined, ...(!isOver && { plan: { edits: {}, restsOn: [], holdsOff: holding } }) };
  });
}

/** Stops where holds were placed or lifted meanwhile: the next look judges by those. `before` counts what earlier steps changed. */
async function rewrite(
  thread: Thread,
  holds: ActiveHolds,
  before: number,
  ruleOf: (record: LogRecord) => SweepRule,
): Promise<{ readonly count: number; readonly isStopped: boolean }> {
  let [count, below] = [before, Number.POSITIVE_INFINITY];
  for (;;) {
    // As many plans for each page: a long thread takes longer than any race may.
    const page = await editThread(
      thread,
      async (): Promise<Edit<"end" | "stopped" | { first: number; count: number }>> => {
        const found = await readPage(thread, below);
        if (found === undefined) return { result: "end" };
        const changed = found.records.flatMap((record) => {
          const replacement = rewritten(record, new Sweep(ruleOf(record)));
          return replacement === undefined ? [] : [{ record, replacement }];
        });
        const result = { first: found.first, count: changed.length };
        if (changed.length === 0) return { result };
        if ((await activeHolds(thread.context)).version !== holds.version) return { result: "stopped" };
        const edits = { replace: changed.map(({ replacement }) => replacement) };
        return { result, plan: { edits, restsOn: changed.map(({ record }) => record), erases: true } };
      },
    ).catch((error: unknown) => {
      throw count === 0 ? error : afterSome(error, count);
    });
    if (typeof page === "string") return { count, isStopped: page === "stopped" };
    count += page.count;
    below = page.first;
  }
}

/** What was erased by then stays erased, and another attempt goes on from there. */
function afterSome(error: unknown, count: number): unknown {
  if (!StateError.is(error) || error.context.written !== "no") return error;
  const { written: _, ...context } = error.context;
  const message = error.message.replace(/[;.] nothing was written$/i, "");
  const done = `${count} ${count === 1 ? "record was" : "records were"} rewritten before that and stay so; erase again to go on`;
  return new StateError(error.code, `${message}. ${done}`, { ...context, cause: error });
}

/** The same record with placeholders; `undefined` where it holds nothing about those people. */
function rewritten(record: LogRecord, sweep: Sweep): LogRecord | undefined {
  const { body, metadata } = swept(record, sweep);
  if (body === undefined && metadata === record.metadata) return undefined;
  const { format: _, bodyBytes: _bytes, digest: _digest, ...fields } = openRecord(record);
  const bytes = body === undefined ? record.body : Buffer.from(encodeOwned(body, "state"), "utf8");
  const next = withChecksum({ ...record, metadata, body: bytes, words: undefined, fields });
  return isContent(record) ? { ...next, words: wordsOf(newMessagesOf(next)) } : next;
}
