/** Long because a save is one loop, and every way out of it is told here. */

import { assertCheckpointId, assertThreadId } from "../driver/ids.ts";
import { newId } from "../driver/new-id.ts";
import { StateError } from "../errors.ts";
import type { AgentState } from "../state/agent-state.ts";
import { leastBytesOf } from "../state/immutable.ts";
import { lookAtBytes, NO_BYTES, sealBytes } from "../state/sealed-bytes.ts";
import { withStanding } from "../state/standing.ts";
import { LONGEST_TTL_MS } from "./append-rules.ts";
import {
  type Attempt,
  appliedBefore,
  attemptFor,
  findWrite,
  leaveUnsettled,
  type MadeRecord,
  settled,
} from "./attempt.ts";
import { type SaveOptions, uncheckedHead } from "./base-checkpointer.ts";
import type { CheckpointContext } from "./context.ts";
import { isOvertaken } from "./editing.ts";
import { leaseAfterWrite, leaseConflict, leaseFault } from "./lease-rules.ts";
import { assertNotDeleted, creationSeen } from "./lost-creation.ts";
import { LostRaces } from "./lost-races.ts";
import { encodeMetadata } from "./metadata.ts";
import { freeName } from "./moving-names.ts";
import { fits, mayFit, type PlannedBody, planBody, wordsToAppend } from "./plan-record.ts";
import { adoptPosition, type Position, positionOf } from "./position.ts";
import { openHeader, type RecordFields, sealRecord, type ThreadFacts } from "./record.ts";
import { movedOn, tooLarge } from "./save-refusals.ts";
import { assertAgents } from "./thread-kind.ts";
import type { AppendOutcome, AppendRequest, LogEntry } from "./thread-log.ts";
import { mayBeWritten, sayingWhetherWritten } from "./written.ts";

/** What the caller holds to be the newest checkpoint. `undefined`: there must be no thread. */
interface Expectation {
  readonly generation: string;
  readonly tail: number;
  /** 0 when there is no checkpoint yet. */
  readonly head: number;
  readonly headId: string | null;
  readonly thread: ThreadFacts | undefined;
}

export async function saveState(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  options: SaveOptions,
): Promise<string> {
  assertThreadId(threadId);
  if (options.checkpointId !== undefined) assertCheckpointId(options.checkpointId);
  const { ttlSeconds } = options;
  if (ttlSeconds !== undefined && !(Number.isFinite(ttlSeconds) && ttlSeconds > 0)) {
    throw new StateError("INVALID_ARGUMENT", "ttlSeconds must be a number greater than 0");
  }
  const metadata = options.metadata === undefined ? undefined : encodeMetadata(options.metadata);
  const attempt = attemptFor(context, state, threadId, options);
  try {
    // What is written depends on what the storage takes, which some drivers know only after contact.
    await context.connect({ operation: "save", threadId });
    await adoptPosition(context, state, threadId);
    if (options.expectedHead !== uncheckedHead) await assertNotDeleted(context, state, threadId, attempt);
    const applied = await appliedBefore(context, state, threadId, attempt, options);
    if (applied !== undefined) return applied;
    let expectation = await initialExpectation(context, state, threadId, options);
    for (const races = new LostRaces(context, "save", threadId); ; races.lost()) {
      expectation = await heedLease(context, threadId, expectation, options);
      const { request, made } = await planAppend(context, state, threadId, expectation, {
        ...options,
        metadata,
        attempt,
      });
      const outcome = await append(context, state, threadId, request, attempt);
      if (outcome.appended) return settled(context, state, threadId, request.generation, request.record, made);
      const { occupant } = outcome;
      if (occupant?.writeId === attempt.writeId) {
        const known = { ...openHeader(occupant), bytes: made.bytes };
        return settled(context, state, threadId, request.generation, occupant, known);
      }
      expectation = reconsider(context, threadId, expectation, outcome, options);
    }
  } catch (error) {
    if (!attempt.isRepeated || !StateError.is(error, "CONFLICT")) throw sayingWhetherWritten(error, attempt.isRepeated);
    const earlier = await findWrite(context, state, threadId, attempt.writeId);
    if (earlier === undefined) throw error;
    return earlier;
  }
}

async function append(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  request: AppendRequest,
  attempt: Attempt,
): Promise<AppendOutcome> {
  let mayBe = attempt.isRepeated;
  try {
    return await context.call({ operation: "save", threadId }, (log) =>
      log.append(threadId, request).catch((error: unknown) => {
        mayBe ||= mayBeWritten(log, error);
        throw error;
      }),
    );
  } catch (error) {
    const creation = request.expected === 0 && mayBe ? await creationSeen(context, threadId, request) : undefined;
    leaveUnsettled(context, state, threadId, creation === undefined ? attempt : { ...attempt, creation });
    throw sayingWhetherWritten(error, mayBe);
  }
}

async function initialExpectation(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  { expectedHead }: SaveOptions,
): Promise<Expectation | undefined> {
  const position = positionOf(context, state, threadId);
  if (expectedHead === undefined || expectedHead === position?.checkpointId) return position && fromPosition(position);
  if (expectedHead === null) return undefined;
  const found = await context.call({ operation: "save", threadId }, (log) => log.tail(threadId));
  const head = found === undefined ? undefined : await headEntry(context, threadId, found.entry);
  if (expectedHead !== uncheckedHead && head?.checkpointId !== expectedHead) {
    throw movedOn(context, threadId, expectedHead, head?.checkpointId ?? null);
  }
  return found && fromTail(found.generation, found.entry, head);
}

async function headEntry(context: CheckpointContext, threadId: string, tail: LogEntry): Promise<LogEntry | undefined> {
  assertAgents(tail);
  if (tail.head === tail.seq) return tail;
  const [head] = await context.call({ operation: "save", threadId }, (log) => log.list(threadId, { limit: 1 }));
  return head;
}

const fromPosition = (position: Position): Expectation => ({
  generation: position.generation,
  tail: position.tail,
  head: position.seq,
  headId: position.checkpointId,
  thread: position.thread,
});

const fromTail = (generation: string, tail: LogEntry, head: LogEntry | undefined): Expectation => ({
  generation,
  tail: tail.seq,
  head: tail.head,
  headId: head?.checkpointId ?? null,
  thread: openHeader(tail).thread,
});

/** A lease that was seen may have ended since, so it is looked at again before it refuses anybody. */
async function heedLease(
  context: CheckpointContext,
  threadId: string,
  expected: Expectation | undefined,
  options: SaveOptions,
): Promise<Expectation | undefined> {
  if ((await leaseFault(context, expected, options.lease)) === undefined) return expected;
  const found = await context.call({ operation: "save", threadId }, (log) => log.tail(threadId));
  const refusal = { appended: false, tail: found?.entry, generation: found?.generation, occupant: undefined } as const;
  const fresh = reconsider(context, threadId, expected, refusal, options);
  const fault = await leaseFault(context, fresh, options.lease);
  if (fault !== undefined) throw leaseConflict(context, threadId, fault);
  return fresh;
}

/**
 * After a refusal. Records that are not checkpoints (a deletion of old ones, a
 * lease) may have been added while the head is still the one that was expected:
 * then nothing moved on, and the save goes behind them.
 */
function reconsider(
  context: CheckpointContext,
  threadId: string,
  expected: Expectation | undefined,
  refusal: AppendOutcome & { readonly appended: false },
  { expectedHead }: SaveOptions,
): Expectation | undefined {
  const { tail, generation } = refusal;
  if (tail !== undefined) assertAgents(tail);
  const sameThread = expected === undefined || generation === expected.generation;
  if (expectedHead === uncheckedHead)
    return tail && generation !== undefined ? fromTail(generation, tail, tail) : undefined;
  if (tail !== undefined && generation !== undefined && sameThread && tail.head === (expected?.head ?? 0)) {
    return { ...fromTail(generation, tail, undefined), headId: expected?.headId ?? null };
  }
  const actual = tail === undefined ? null : (tail.checkpointId ?? `record ${tail.head}`);
  throw movedOn(context, threadId, expected?.headId ?? null, actual);
}

interface Planned extends Omit<SaveOptions, "metadata"> {
  readonly metadata: string | undefined;
  readonly attempt: Attempt;
}

async function planAppend(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  expected: Expectation | undefined,
  options: Planned,
): Promise<{ readonly request: AppendRequest; readonly made: MadeRecord }> {
  const { writeId, checkpointId } = options.attempt;
  const position = positionOf(context, state, threadId);
  // A program that knows no schema hands on the version of what it adds to.
  const schema = context.schema?.version ?? position?.schema ?? 0;
  const origin = buildableOrigin(position, expected);
  const looked = position && lookAtBytes(position.bytes, state.fields);
  const whole = planFitting(context, state, threadId, origin);
  const builtOn = whole.kind === "delta" ? origin : undefined;
  const { planned, edits } =
    options.checkpointId === undefined || expected === undefined
      ? { planned: whole, edits: {} }
      : await freeName(context, threadId, options.checkpointId, state.fields, whole, asOf(builtOn, expected.tail));
  const seq = (expected?.tail ?? 0) + 1;
  const lease = leaseAfterWrite(context, expected, options.lease);
  const edited = Object.keys(edits).length === 0 ? {} : { edits: (expected?.thread?.edits ?? 0) + 1 };
  const thread = { ...expected?.thread, ...edited, ...(lease !== undefined && { lease }) };
  const fields: RecordFields = {
    kind: planned.kind,
    createdAt: context.now(),
    buildsOn: builtOn?.seq ?? 0,
    schema,
    messageCount: state.messages.length,
    chain: planned.chain,
    ...(planned.freshMessages !== undefined && { freshMessages: planned.freshMessages }),
    ...withStanding(state.fields),
    ...(Object.keys(thread).length > 0 && { thread }),
  };
  const record = sealRecord({
    seq,
    writeId,
    base: builtOn?.base ?? seq,
    head: seq,
    checkpointId,
    metadata: options.metadata,
    body: planned.body,
    words: wordsToAppend(context.log, planned.newMessages),
    fields,
  });
  const request = {
    // A new thread is named after its first write, so that a retry of that write finds its own thread; but a write id
    // of the caller's may come again after the thread was deleted, and a generation must not.
    generation: expected?.generation ?? (options.writeId === undefined ? writeId : newId()),
    expected: expected?.tail ?? 0,
    record,
    // Names that others moved meanwhile are not ours to move: the append is refused, and tells why.
    ...(isOvertaken(edits, seq - 1) ? {} : edits),
    ...(options.ttlSeconds !== undefined && { ttlMs: Math.min(options.ttlSeconds * 1000, LONGEST_TTL_MS) }),
  };
  const bytes = sealBytes((builtOn && looked) ?? NO_BYTES, planned.bytes);
  return { request, made: { ...fields, bytes, ...(options.checkpointId !== undefined && { record }) } };
}

/** A record that is kept in memory is the stored one only while nothing came after it: an edit may have replaced it. */
function asOf(position: Position | undefined, tail: number): Position | undefined {
  if (position === undefined || position.seq === tail) return position;
  const { record: _, ...rest } = position;
  return rest;
}

/** The checkpoint a delta may build on: the head itself. */
function buildableOrigin(position: Position | undefined, expected: Expectation | undefined): Position | undefined {
  if (position === undefined || expected === undefined) return undefined;
  return position.generation === expected.generation && position.seq === expected.head ? position : undefined;
}

function planFitting(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  origin: Position | undefined,
): PlannedBody {
  const { log } = context;
  if (origin === undefined && !mayFit(state.fields, log.capabilities)) {
    throw tooLarge(context, threadId, `at least ${leastBytesOf(state.fields)}`);
  }
  const before = origin && { fields: origin.stored, chain: origin.chain };
  const planned = planBody(state.fields, before, log.capabilities);
  if (!fits(planned, log.capabilities)) throw tooLarge(context, threadId, String(planned.body.byteLength));
  return planned;
}
