import type { Warnings } from "../driver/warnings.ts";
import { encodeOwned } from "../state/codec.ts";
import { addedItems } from "../state/delta.ts";
import { callsOf, type Found, Sweep, type SweepRule } from "../state/erasing.ts";
import type { Message } from "../state/message.ts";
import { subjectsIn } from "../state/subjects.ts";
import { bodyOf, newMessagesOf, type RecordBody } from "./chain.ts";
import type { CheckpointContext } from "./context.ts";
import { appendEdit, MOST_PLANS } from "./editing.ts";
import { everyThread } from "./finding.ts";
import { LostRaces } from "./lost-races.ts";
import { decodeMetadata, encodeMetadata } from "./metadata.ts";
import { wordsOf } from "./plan-record.ts";
import { openHeader, openRecord, sealRecord } from "./record.ts";
import { isContent } from "./steps.ts";
import { isGraphs } from "./thread-kind.ts";
import type { LogRecord, ThreadTail } from "./thread-log.ts";

/**
 * Finding and taking out what is about some people, in whole histories. There
 * is no index of that: every record of every thread is read. Records are put in
 * place of what they were, page by page, so that it ends however long a thread
 * is, and another attempt goes on where one was interrupted.
 */

/** Whether what was written about this person at this time is to be forgotten. */
export type Forgets = (subject: string, writtenAt: number) => boolean;

/** Something about one of these people, and where it is. */
export interface FoundInThread extends Found {
  readonly threadId: string;
  readonly checkpointId: string | undefined;
  readonly seq: number;
}

const RECORDS_PER_PAGE = 100;
const OPERATION = "erase";

/** Everything in any thread that is about those people. `onOpaque` is told of a graph's thread with values that nobody can look into. */
export async function* findInThreads(
  context: CheckpointContext,
  forgets: Forgets,
  warnings: Warnings,
  onOpaque: () => void,
): AsyncGenerator<readonly FoundInThread[], void, undefined> {
  for await (const { threadId, head } of everyThread(context, OPERATION, "", warnings)) {
    const place = { operation: OPERATION, threadId };
    const isGraph = await warnings.skipping(threadId, () => isGraphs(openHeader(head).thread));
    if (isGraph === undefined) continue;
    const looked = await warnings.skipping(threadId, () =>
      context.guard(place, async () =>
        isGraph
          ? (await import("./graphs/erase-graph.ts")).findInGraph(context, threadId, forgets)
          : { found: await findInThread(context, threadId, forgets), opaque: 0 },
      ),
    );
    if (looked === undefined) continue;
    if (looked.opaque > 0) onOpaque();
    if (looked.found.length > 0) yield looked.found;
  }
}

async function findInThread(
  context: CheckpointContext,
  threadId: string,
  forgets: Forgets,
): Promise<readonly FoundInThread[]> {
  const facts = await factsOf(context, threadId, forgets);
  if (!facts.isConcerned) return [];
  const found: FoundInThread[] = [];
  for await (const { records } of pages(context, threadId)) {
    for (const record of records) {
      const { checkpointId, seq } = record;
      const sweep = new Sweep(ruleFor(record, facts, forgets, false));
      swept(record, sweep);
      for (const each of sweep.found) found.push({ ...each, threadId, checkpointId, seq });
    }
  }
  return found;
}

/** Puts placeholders where the thread holds something about those people; says how many records that were. */
export async function eraseInThread(context: CheckpointContext, threadId: string, forgets: Forgets): Promise<number> {
  const tail = await context.call({ operation: OPERATION, threadId }, (log) => log.tail(threadId));
  if (tail !== undefined && isGraphs(openHeader(tail.entry).thread)) {
    return (await import("./graphs/erase-graph.ts")).eraseInGraph(context, threadId, forgets);
  }
  const facts = await factsOf(context, threadId, forgets);
  if (!facts.isConcerned) return 0;
  const changed = await rewrite(context, threadId, (record) => ruleFor(record, facts, forgets, true));
  if (facts.subjects.size === 0) return changed;
  // Last of all, because until then they tell what else of the thread has to go.
  return changed + (await rewrite(context, threadId, (record) => ruleFor(record, facts, forgets, false)));
}

/** What has to be known of a whole thread before one of its records can be judged. */
interface ThreadKnowledge {
  /** Who the thread as a whole is about, or was at some time. */
  readonly subjects: ReadonlySet<string>;
  readonly calls: ReadonlySet<string>;
  /** False where no record holds anything of those people. */
  readonly isConcerned: boolean;
}

async function factsOf(context: CheckpointContext, threadId: string, forgets: Forgets): Promise<ThreadKnowledge> {
  const subjects = new Set<string>();
  const calls = new Set<string>();
  let isConcerned = false;
  for await (const { records } of pages(context, threadId)) {
    for (const record of records) {
      const { createdAt } = openRecord(record);
      const body = bodyOf(record, []);
      const named = [...defaultsIn(body), ...subjectsIn(metadataIn(record)?.["subject"])];
      for (const subject of named) if (forgets(subject, createdAt)) subjects.add(subject);
      const sweep = new Sweep(ruleFor(record, { subjects: new Set(), calls, isConcerned }, forgets, false));
      swept(record, sweep);
      isConcerned ||= sweep.found.length > 0;
      const gone = sweep.found.filter(({ kind }) => kind === "message").map(({ value }) => value as Message);
      const goneBefore = messagesIn(body).filter(({ metadata }) => metadata?.["erased"] === true);
      for (const message of [...gone, ...goneBefore]) for (const call of callsOf(message)) calls.add(call);
    }
  }
  // Calls of messages that were erased by an attempt which broke off: the rest of them is looked for as well.
  return { subjects, calls, isConcerned: isConcerned || subjects.size > 0 || calls.size > 0 };
}

const messagesIn = ({ base, delta }: RecordBody): readonly Message[] =>
  delta === undefined ? base.messages : (addedItems(delta, "messages") as readonly Message[]);

/** The thread's own subjects, as far as this record sets them. */
function defaultsIn({ base, delta }: RecordBody): readonly string[] {
  const whole = delta === undefined ? base.metadata : (delta.set?.["metadata"] as object | undefined);
  const changed = delta?.records?.["metadata"]?.set;
  return [whole, changed].flatMap((metadata) => subjectsIn((metadata as { subject?: unknown } | undefined)?.subject));
}

function ruleFor(
  record: LogRecord,
  { subjects, calls }: ThreadKnowledge,
  forgets: Forgets,
  keepsThreadSubject: boolean,
): SweepRule {
  const { createdAt } = openRecord(record);
  const matches = (subject: string): boolean => forgets(subject, createdAt);
  return { matches, calls, keepsThreadSubject, isThreadMatched: [...subjects].some(matches) };
}

async function rewrite(
  context: CheckpointContext,
  threadId: string,
  ruleOf: (record: LogRecord) => SweepRule,
): Promise<number> {
  let [count, before] = [0, Number.POSITIVE_INFINITY];
  // As many for each page: a long thread takes longer than any race may.
  let plans = new LostRaces(context, OPERATION, threadId, MOST_PLANS);
  for (;;) {
    const found = await readPage(context, threadId, before);
    if (found === undefined) return count;
    const changed = found.records.flatMap((record) => {
      const replacement = rewritten(record, new Sweep(ruleOf(record)));
      return replacement === undefined ? [] : [{ record, replacement }];
    });
    const plan = {
      edits: { replace: changed.map(({ replacement }) => replacement) },
      restsOn: changed.map(({ record }) => record),
      erases: true as const,
    };
    if (changed.length > 0 && !(await appendEdit(context, threadId, found.tail, plan))) {
      plans.lost();
      continue;
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
  const next = sealRecord({ ...record, metadata, body: bytes, words: undefined, fields });
  return { ...next, words: wordsOf(newMessagesOf(next)) };
}

/** What a record holds once the sweep went over it; no body where that stays the same. */
function swept(
  record: LogRecord,
  sweep: Sweep,
): { readonly body: RecordBody | undefined; readonly metadata: string | undefined } {
  const given = metadataIn(record);
  const kept = given && sweep.metadata(given);
  const metadata = kept === given || kept === undefined ? record.metadata : encodeMetadata(kept);
  return { body: sweptBody(bodyOf(record, []), sweep), metadata };
}

function sweptBody({ base, delta }: RecordBody, sweep: Sweep): RecordBody | undefined {
  if (delta !== undefined) {
    const next = sweep.delta(delta);
    return next === delta ? undefined : { delta: next };
  }
  const next = sweep.fields(base as unknown as Readonly<Record<string, unknown>>);
  return next === (base as unknown) ? undefined : { base: next as unknown as typeof base };
}

const metadataIn = ({ metadata }: LogRecord): Readonly<Record<string, unknown>> | undefined =>
  metadata === undefined ? undefined : decodeMetadata(metadata, "metadata");

interface RecordPage {
  readonly tail: ThreadTail;
  /** Checkpoints and steps, proven. */
  readonly records: readonly LogRecord[];
  /** Where the page begins: the next one is below it. */
  readonly first: number;
}

async function* pages(context: CheckpointContext, threadId: string): AsyncGenerator<RecordPage, void, undefined> {
  let before = Number.POSITIVE_INFINITY;
  for (;;) {
    const page = await readPage(context, threadId, before);
    if (page === undefined) return;
    yield page;
    before = page.first;
  }
}

/** The records below `before`, and the tail as it was when they were read. */
async function readPage(context: CheckpointContext, threadId: string, before: number): Promise<RecordPage | undefined> {
  const options = { limit: RECORDS_PER_PAGE, ...(Number.isFinite(before) && { before }) };
  const found = await context.call({ operation: OPERATION, threadId }, (log) => log.readRecords(threadId, options));
  const first = found?.records[0]?.seq;
  if (found === undefined || first === undefined) return undefined;
  const { generation, tail: entry } = found;
  const records = found.records.filter((record) => isContent(record));
  for (const record of records) openRecord(record);
  return { tail: { generation, entry }, records, first };
}
