import type { CheckpointContext } from "../../checkpoint/context.ts";
import { appendEdit } from "../../checkpoint/history/editing.ts";
import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import type { Forgets, FoundInThread } from "../../checkpoint/people/people-in-thread.ts";
import { openRecord, withChecksum } from "../../checkpoint/record/record.ts";
import { erasuresAt, Thread, tailBehind } from "../../checkpoint/thread/thread.ts";
import { everyRecord, inAppends, type Records, subjectsNamedBy } from "../history/whole-thread.ts";
import { decodeBody, encodeBody, placeOf, wordsOf } from "../thread/graph-record.ts";
import { type SweptRecord, sweepEpoch } from "./erasing-epoch.ts";

/**
 * Finds and removes what is about some people in the thread of a graph. Texts are
 * replaced where they lie, so that numbers of elements, lists, checkpoints and versions
 * of channels stay what they were, and the graph can continue from there.
 */

/** What a graph's thread holds about those people, and how many values cannot be looked into. */
export interface FoundInGraph {
  readonly found: readonly FoundInThread[];
  readonly opaque: number;
}

export async function findInGraph(
  context: CheckpointContext,
  threadId: string,
  forgets: Forgets,
): Promise<FoundInGraph> {
  const records = await everyRecord(new Thread(context, threadId, "erase"));
  const swept = records === undefined ? [] : sweptRecords(records, forgets, false);
  const found = swept.flatMap(({ record, found: values }) => {
    const checkpointId = placeOf(record)?.id;
    return values.map((each) => ({ ...each, threadId, checkpointId, seq: record.seq }));
  });
  return { found, opaque: swept.reduce((sum, { opaque }) => sum + opaque, 0) };
}

/** `mayGoOn` is asked after the records were read: it tells whether the holds are those that the caller judged by. */
export async function eraseInGraph(
  context: CheckpointContext,
  threadId: string,
  forgets: Forgets,
  mayGoOn: () => Promise<boolean>,
): Promise<number> {
  const thread = new Thread(context, threadId, "erase");
  const changed = new Set<number>();
  // The thread's own subjects last: until then they tell what else of it has to go.
  for (const keepsSubject of [true, false]) {
    for (const plans = thread.races(MOST_PLANS); ; plans.lost()) {
      const records = await everyRecord(thread);
      if (records === undefined) return changed.size;
      const next = sweptRecords(records, forgets, keepsSubject).flatMap((swept) => {
        const replacement = rewritten(swept);
        return replacement === undefined ? [] : [{ record: swept.record, replacement }];
      });
      if (next.length > 0 && !(await mayGoOn())) return changed.size;
      if (await replaceAll(thread, records, next)) {
        for (const { record } of next) changed.add(record.seq);
        break;
      }
    }
  }
  return changed.size;
}

interface Replacement {
  readonly record: LogRecord;
  readonly replacement: LogRecord;
}

const MOST_PLANS = 20;

/** False if the records have changed meanwhile. What was replaced by then stays replaced. */
async function replaceAll(thread: Thread, { tail }: Records, replacements: readonly Replacement[]): Promise<boolean> {
  let current = tail;
  for (const part of inAppends(replacements, ({ replacement }) => replacement, thread.context)) {
    const edits = { replace: part.map(({ replacement }) => replacement) };
    const plan = { edits, restsOn: part.map(({ record }) => record), erases: true as const };
    const written = await appendEdit(thread, current, plan);
    if (written === undefined) return false;
    // What others edit or hold before the next part moves the tail, and is noticed there.
    current = tailBehind(tail.generation, written.request.record);
  }
  return true;
}

function sweptRecords(records: Records, forgets: Forgets, keepsSubject: boolean): readonly SweptRecord[] {
  const subjects = subjectsOfThread(records, forgets);
  const wasErased = erasuresAt(records.tail) > 0;
  const epochs = new Map<number, LogRecord[]>();
  for (const record of records) {
    const epoch = epochs.get(record.base);
    if (epoch === undefined) epochs.set(record.base, [record]);
    else epoch.push(record);
  }
  return [...epochs.values()].flatMap((epoch) => sweepEpoch(epoch, { forgets, subjects, keepsSubject, wasErased }));
}

/** Who the thread is about, as the metadata of any of its checkpoints says. */
function subjectsOfThread(records: Records, forgets: Forgets): readonly string[] {
  const subjects = new Set<string>();
  for (const record of records) {
    const named = subjectsNamedBy(record);
    if (named.length === 0) continue;
    const { createdAt } = openRecord(record);
    for (const subject of named) if (forgets(subject, createdAt)) subjects.add(subject);
  }
  return [...subjects];
}

function rewritten({ record, body, metadata }: SweptRecord): LogRecord | undefined {
  if (body === undefined && metadata === record.metadata) return undefined;
  const { format: _, bodyBytes: _bytes, ...fields } = openRecord(record);
  const bytes = body === undefined ? record.body : encodeBody(body);
  const words = wordsOf(body ?? decodeBody(bytes, record.seq));
  return withChecksum({ ...record, metadata, body: bytes, words, fields });
}
