import type { Warnings } from "../../driver/warnings.ts";
import { Sweep, type SweepRule } from "../../state/people/erasing.ts";
import type { ActiveHolds, LegalHold } from "../../state/people/legal-hold.ts";
import { encodeOwned } from "../../state/values/codec.ts";
import type { CheckpointContext } from "../context.ts";
import { everyThread } from "../find/finding.ts";
import { appendEdit, MOST_PLANS } from "../history/editing.ts";
import type { SubjectIndex } from "../log/subject-index.ts";
import type { LogRecord } from "../log/thread-log.ts";
import { newMessagesOf } from "../record/chain.ts";
import { wordsOf } from "../record/plan-record.ts";
import { openHeader, openRecord, withChecksum } from "../record/record.ts";
import { isGraphs } from "../record/thread-facts.ts";
import { LostRaces } from "../thread/lost-races.ts";
import type { HoldingOff } from "./holding-off.ts";
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
  /** Whom threads are about, as far as somebody looked before. */
  readonly index: SubjectIndex;
  /** Told of a graph's thread with values that nobody can look into. */
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
  for await (const { threadId, head } of everyThread(context, OPERATION, "", warnings)) {
    met.add(threadId);
    const place = { operation: OPERATION, threadId };
    const looked = await warnings.skipping(threadId, () =>
      context.guard(place, async () => {
        const tail = await context.call(place, (log) => log.tail(threadId));
        if (tail === undefined || index.clears(threadId, tail, forgets)) return undefined;
        if (openHeader(tail.entry).createdAt > writtenBefore) {
          onPostponed?.();
          return undefined;
        }
        const isGraph = isGraphs(openHeader(head).thread);
        const look = (noted: Forgets): Promise<Looked> => lookInto(context, threadId, isGraph, noted);
        const { found, opaque } = await index.noting(threadId, tail, forgets, look);
        return {
          opaque,
          found: found.length === 0 ? found : await notHeld(context, threadId, isGraph, looking, found),
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
  isGraph: boolean,
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
  const looked = await lookInto(context, threadId, isGraph, forgets, keeps);
  if (looked.kept > 0 && keeper !== undefined) onHeld(keeper, looked.kept);
  return looked.found;
}

/**
 * Puts placeholders where the thread holds something about those people; says how many records that were. With
 * `holding`, nobody else writes to the thread from then on.
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
  const tail = await context.call({ operation: OPERATION, threadId }, (log) => log.tail(threadId));
  if (tail !== undefined && isGraphs(openHeader(tail.entry).thread)) {
    if (keeps !== undefined && (await lookInto(context, threadId, true, forgets, keeps)).kept > 0) return 0;
    const isAsJudged = async (): Promise<boolean> => (await activeHolds(context)).version === holds.version;
    return (await import("../graphs/erase-graph.ts")).eraseInGraph(context, threadId, forgets, isAsJudged);
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
    const done = await rewrite(context, threadId, holds, (record) => ruleFor(record, facts, forgets, leaves));
    count += done.count;
    if (done.isStopped) break;
  }
  return count;
}

/** Holds writers off from a thread, or lets them go on. */
export async function holdOffWriters(context: CheckpointContext, threadId: string, holding: HoldingOff): Promise<void> {
  for (const races = new LostRaces(context, "erase", threadId); ; races.lost()) {
    const tail = await context.call({ operation: "erase", threadId }, (log) => log.tail(threadId));
    if (tail === undefined) return;
    if (holding.until === undefined && openHeader(tail.entry).thread?.erasing?.[holding.by] === undefined) return;
    if (await appendEdit(context, threadId, tail, { edits: {}, restsOn: [], holdsOff: holding })) return;
  }
}

/** Stops where holds were placed or lifted meanwhile: the next look judges by those. */
async function rewrite(
  context: CheckpointContext,
  threadId: string,
  holds: ActiveHolds,
  ruleOf: (record: LogRecord) => SweepRule,
): Promise<{ readonly count: number; readonly isStopped: boolean }> {
  let [count, before] = [0, Number.POSITIVE_INFINITY];
  // As many for each page: a long thread takes longer than any race may.
  let plans = new LostRaces(context, OPERATION, threadId, MOST_PLANS);
  for (;;) {
    const found = await readPage(context, threadId, before);
    if (found === undefined) return { count, isStopped: false };
    const changed = found.records.flatMap((record) => {
      const replacement = rewritten(record, new Sweep(ruleOf(record)));
      return replacement === undefined ? [] : [{ record, replacement }];
    });
    const plan = {
      edits: { replace: changed.map(({ replacement }) => replacement) },
      restsOn: changed.map(({ record }) => record),
      erases: true as const,
    };
    if (changed.length > 0) {
      if ((await activeHolds(context)).version !== holds.version) return { count, isStopped: true };
      if (!(await appendEdit(context, threadId, found.tail, plan))) {
        plans.lost();
        continue;
      }
    }
    count += changed.length;
    before = found.first;
    plans = new LostRaces(context, OPERATION, threadId, MOST_PLANS);
  }
}

/** The same record with placeholders; `undefined` where it holds nothing about those people. */
function rewritten(record: LogRecord, sweep: Sweep): LogRecord | undefined {
  const { body, metadata } = swept(record, sweep);
  if (body === undefined && metadata === record.metadata) return undefined;
  const { format: _, bodyBytes: _bytes, ...fields } = openRecord(record);
  const bytes = body === undefined ? record.body : Buffer.from(encodeOwned(body, "state"), "utf8");
  const next = withChecksum({ ...record, metadata, body: bytes, words: undefined, fields });
  return { ...next, words: wordsOf(newMessagesOf(next)) };
}
