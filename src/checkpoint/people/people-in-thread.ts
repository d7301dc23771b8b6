import { addedItems } from "../../state/delta.ts";
import type { Message } from "../../state/message.ts";
import { callsOf, type Found, Sweep, type SweepRule } from "../../state/people/erasing.ts";
import { subjectsIn } from "../../state/people/subjects.ts";
import type { CheckpointContext } from "../context.ts";
import type { LogRecord } from "../log/thread-log.ts";
import { bodyOf, type RecordBody } from "../record/chain.ts";
import { mayHoldWords, type RecordCodec } from "../record/codec.ts";
import { decodeMetadata, encodeMetadata } from "../record/metadata.ts";
import { isGraphs, openRecord } from "../record/record.ts";
import { Thread } from "../thread/thread.ts";

/** What of a thread is about some people. Every record of it is read. */

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

/** Whether a legal hold keeps what is about this person. */
export type Keeps = (subject: string) => boolean;

export interface Looked {
  readonly found: readonly FoundInThread[];
  /** How much a legal hold keeps of what would be found. */
  readonly kept: number;
  /** How many values have content that cannot be read. */
  readonly opaque: number;
  readonly isFree: boolean;
}

export async function lookInto(
  context: CheckpointContext,
  threadId: string,
  { saver }: RecordCodec,
  forgets: Forgets,
  keeps?: Keeps,
): Promise<Looked> {
  const { found, opaque, kept } =
    saver === undefined
      ? { ...(await findInThread(context, threadId, forgets, keeps)), opaque: 0 }
      : await findInGraph(await saver(), context, threadId, forgets, keeps);
  return { found, kept, opaque, isFree: found.length === 0 && opaque === 0 && kept === 0 };
}

/** A graph's values lie in one pool: where it holds something of a person that is kept, all of it is. */
async function findInGraph(
  graphs: Awaited<ReturnType<NonNullable<RecordCodec["saver"]>>>,
  context: CheckpointContext,
  threadId: string,
  forgets: Forgets,
  keeps: Keeps | undefined,
): Promise<Omit<Looked, "isFree">> {
  const { found, opaque } = await graphs.findInGraph(context, threadId, forgets);
  if (keeps === undefined || found.length === 0) return { found, opaque, kept: 0 };
  const isKept = (await graphs.findInGraph(context, threadId, keeps)).found.length > 0;
  return isKept ? { found: [], opaque, kept: found.length } : { found, opaque, kept: 0 };
}

async function findInThread(
  context: CheckpointContext,
  threadId: string,
  forgets: Forgets,
  keeps: Keeps | undefined,
): Promise<Pick<Looked, "found" | "kept">> {
  const facts = await factsOf(context, threadId, forgets, keeps);
  if (!facts.isConcerned) return { found: [], kept: 0 };
  const found: FoundInThread[] = [];
  let kept = facts.isKept ? 1 : 0;
  for await (const { records } of pages(context, threadId)) {
    for (const record of records) {
      const { checkpointId, seq } = record;
      const sweep = new Sweep(ruleFor(record, facts, forgets, "nothing"));
      swept(record, sweep);
      for (const each of sweep.found) found.push({ ...each, threadId, checkpointId, seq });
      kept += sweep.kept;
    }
  }
  return { found, kept };
}

/** What has to be known of a whole thread before one of its records can be judged. */
export interface ThreadKnowledge {
  /** Who the thread as a whole is about, or was at some time. */
  readonly subjects: ReadonlySet<string>;
  /** Who of those people is named anywhere in it. */
  readonly people: ReadonlySet<string>;
  /** Calls of those people's messages, and all calls that any message asks for or answers. */
  readonly calls: ReadonlySet<string>;
  readonly allCalls: ReadonlySet<string>;
  /** False where no record holds anything of those people. */
  readonly isConcerned: boolean;
  /** The thread as a whole is about one of those people and about a person whom a legal hold keeps. */
  readonly isKept: boolean;
  /** A legal hold keeps something that may quote one of those people, because it may quote a held person as well. */
  readonly keepsShared: boolean;
  readonly keeps: Keeps | undefined;
  /** Whether one page has all records, and so one edit takes all there is to take. */
  readonly isOnePage: boolean;
}

export async function factsOf(
  context: CheckpointContext,
  threadId: string,
  forgets: Forgets,
  keeps?: Keeps,
): Promise<ThreadKnowledge> {
  const [subjects, people, calls, allCalls] = [
    new Set<string>(),
    new Set<string>(),
    new Set<string>(),
    new Set<string>(),
  ];
  let [isConcerned, hasKept, isHeld, pageCount] = [false, false, false, 0];
  for await (const { records } of pages(context, threadId)) {
    pageCount++;
    for (const record of records) {
      const { createdAt } = openRecord(record);
      const body = bodyOf(record, []);
      const named = [...defaultsIn(body), ...subjectsIn(metadataIn(record)?.["subject"])];
      for (const subject of named) if (forgets(subject, createdAt)) subjects.add(subject);
      hasKept ||= keeps !== undefined && named.some(keeps);
      const matches = (subject: string): boolean => {
        isHeld ||= keeps?.(subject) === true;
        if (!forgets(subject, createdAt)) return false;
        people.add(subject);
        return true;
      };
      const sweep = new Sweep({ matches, calls, ...(keeps !== undefined && { keeps }) });
      swept(record, sweep);
      isConcerned ||= sweep.found.length > 0 || sweep.kept > 0;
      const gone = sweep.found.filter(({ kind }) => kind === "message").map(({ value }) => value as Message);
      const messages = messagesIn(body);
      const goneBefore = messages.filter(({ metadata }) => metadata?.["erased"] === true);
      for (const message of [...gone, ...goneBefore]) for (const call of callsOf(message)) calls.add(call);
      for (const message of messages) for (const call of callsOf(message)) allCalls.add(call);
    }
  }
  // Calls of messages that were erased by an attempt which broke off: the rest of them is looked for as well.
  isConcerned ||= subjects.size > 0 || calls.size > 0;
  const isKept = hasKept && subjects.size > 0;
  const facts = { subjects, people, calls, allCalls, isConcerned, isKept, keeps, isOnePage: pageCount <= 1 };
  if (!isHeld || people.size === 0) return { ...facts, keepsShared: false };
  for await (const { records } of pages(context, threadId)) {
    for (const record of records) {
      const sweep = new Sweep({
        ...ruleFor(record, { ...facts, keepsShared: true }, forgets, "names"),
        keeps: KEEPS_NONE,
      });
      swept(record, sweep);
      if (sweep.kept > 0) return { ...facts, keepsShared: true };
    }
  }
  return { ...facts, keepsShared: false };
}

const KEEPS_NONE: Keeps = () => false;

const messagesIn = ({ base, delta }: RecordBody): readonly Message[] =>
  delta === undefined ? base.messages : (addedItems(delta, "messages") as readonly Message[]);

/** The thread's own subjects, as far as this record sets them. */
function defaultsIn({ base, delta }: RecordBody): readonly string[] {
  const whole = delta === undefined ? base.metadata : (delta.set?.["metadata"] as object | undefined);
  const changed = delta?.records?.["metadata"]?.set;
  return [whole, changed].flatMap((metadata) => subjectsIn((metadata as { subject?: unknown } | undefined)?.subject));
}

/** What an erasure that may break off leaves for the time being: names tell the next attempt what else has to go. */
export type Leaves = "names" | "the thread's subject" | "nothing";

export function ruleFor(
  record: LogRecord,
  { subjects, people, calls, allCalls, isKept, keepsShared, keeps }: ThreadKnowledge,
  forgets: Forgets,
  leaves: Leaves,
): SweepRule {
  const { createdAt } = openRecord(record);
  const matches = (subject: string): boolean => forgets(subject, createdAt);
  return {
    matches,
    calls,
    keepsNames: leaves === "names",
    keepsThreadSubject: leaves !== "nothing" || isKept || keepsShared,
    isThreadMatched: !isKept && [...subjects].some(matches),
    concernsEveryone: () => [...people].some(matches),
    knowsCall: (call) => allCalls.has(call),
    keepsShared,
    ...(keeps !== undefined && { keeps }),
  };
}

/** What a record holds once the sweep went over it; no body where that stays the same. */
export function swept(
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
  /** Checkpoints, steps and signals, proven. */
  readonly records: readonly LogRecord[];
  /** Where the page begins: the next one is below it. */
  readonly first: number;
}

async function* pages(context: CheckpointContext, threadId: string): AsyncGenerator<RecordPage, void, undefined> {
  const thread = new Thread(context, threadId, OPERATION);
  let before = Number.POSITIVE_INFINITY;
  for (;;) {
    const page = await readPage(thread, before);
    if (page === undefined) return;
    yield page;
    before = page.first;
  }
}

/** The records below `before`. */
export async function readPage(thread: Thread, before: number): Promise<RecordPage | undefined> {
  const found = await thread.page(Number.isFinite(before) ? before : undefined, RECORDS_PER_PAGE);
  const first = found?.records[0]?.seq;
  if (found === undefined || first === undefined) return undefined;
  const records = found.records.filter((record) => mayHoldWords(record));
  for (const record of records) openRecord(record);
  return { records, first };
}

/**
 * All people whom these records of an agent's thread name, and perhaps others: any text under such a member in their
 * JSON counts, wherever it stands. `undefined` where that is not conclusive: a damaged record, a graph's, one of which
 * something was erased, or people named in a form that we do not write.
 */
export function whoIsNamed(records: readonly LogRecord[]): ReadonlySet<string> | undefined {
  const named = new Set<string>();
  try {
    for (const record of records) {
      if (isGraphs(openRecord(record).thread)) return undefined;
      if (!mayHoldWords(record)) continue;
      const body = Buffer.from(record.body.buffer, record.body.byteOffset, record.body.byteLength);
      if (body.includes(ERASED_MARK)) return undefined;
      if (mayName(body) && !gather(JSON.parse(body.toString("utf8")), named)) return undefined;
      const { metadata } = record;
      if (metadata !== undefined && mayName(metadata) && !gather(JSON.parse(metadata), named)) return undefined;
    }
  } catch {
    return undefined;
  }
  return named;
}

const ERASED_MARK = '"erased"';
/** The ends of `subject` and of `holdfast:subject`; and what JSON may write any letter as. */
const mayName = (json: Buffer | string): boolean => json.includes('subject"') || json.includes("\\u00");

const NAMING: ReadonlySet<string> = new Set(["subject", "holdfast:subject"]);

/** False if a member that names people holds neither a text nor a list of texts. */
function gather(value: unknown, named: Set<string>): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every((each) => gather(each, named));
  return Object.entries(value).every(([key, inner]: [string, unknown]) => {
    if (!NAMING.has(key)) return key !== "erased" && gather(inner, named);
    for (const subject of subjectsIn(inner)) named.add(subject);
    return typeof inner === "string" || (Array.isArray(inner) && inner.every((each) => typeof each === "string"));
  });
}
