import { StateError } from "../errors.ts";
import type { AgentState } from "../state/agent-state.ts";
import { findOrigin } from "../state/lineage.ts";
import { LONGEST_TTL_MS } from "./append-rules.ts";
import { type Attempt, appliedBefore, attemptFor, findWrite, leaveUnsettled, settled } from "./attempt.ts";
import { type SaveOptions, uncheckedHead } from "./base-checkpointer.ts";
import { type CheckpointContext, newId } from "./context.ts";
import { planRemoval } from "./editing.ts";
import { assertCheckpointId, assertThreadId } from "./ids.ts";
import { leaseAfterWrite, leaseConflict, leaseFault } from "./lease-rules.ts";
import { LostRaces } from "./lost-races.ts";
import { encodeMetadata } from "./metadata.ts";
import { type PlannedBody, planBody, wordsToAppend } from "./plan-record.ts";
import { type Position, positionOf } from "./position.ts";
import { openHeader, type RecordFields, sealRecord, type ThreadFacts } from "./record.ts";
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
    const applied = await appliedBefore(context, state, threadId, attempt, options);
    if (applied !== undefined) return applied;
    let expectation = await initialExpectation(context, state, threadId, options);
    for (const races = new LostRaces(context, "save", threadId); ; races.lost()) {
      expectation = await heedLease(context, threadId, expectation, options);
      const { request, fields } = await planAppend(context, state, threadId, expectation, {
        ...options,
        metadata,
        attempt,
      });
      const outcome = await append(context, state, threadId, request, attempt);
      if (outcome.appended) return settled(context, state, threadId, request.generation, request.record, fields);
      const { occupant } = outcome;
      if (occupant?.writeId === attempt.writeId) {
        return settled(context, state, threadId, request.generation, occupant);
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
    leaveUnsettled(context, state, threadId, attempt);
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
    throw conflict(context, threadId, expectedHead, head?.checkpointId ?? null);
  }
  return found && fromTail(found.generation, found.entry, head);
}

async function headEntry(context: CheckpointContext, threadId: string, tail: LogEntry): Promise<LogEntry | undefined> {
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
  const sameThread = expected === undefined || generation === expected.generation;
  if (expectedHead === uncheckedHead)
    return tail && generation !== undefined ? fromTail(generation, tail, tail) : undefined;
  if (tail !== undefined && generation !== undefined && sameThread && tail.head === (expected?.head ?? 0)) {
    return { ...fromTail(generation, tail, undefined), headId: expected?.headId ?? null };
  }
  const actual = tail === undefined ? null : (tail.checkpointId ?? `record ${tail.head}`);
  throw conflict(context, threadId, expected?.headId ?? null, actual);
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
): Promise<{ readonly request: AppendRequest; readonly fields: RecordFields }> {
  const { writeId, checkpointId } = options.attempt;
  const removal =
    options.checkpointId === undefined || expected === undefined
      ? {}
      : await planRemoval(context, threadId, options.checkpointId, expected.tail);
  // A program that knows no schema hands on the version of what it adds to.
  const schema = context.schema?.version ?? positionOf(context, state, threadId)?.schema ?? 0;
  const origin = buildableOrigin(context, state, threadId, expected, schema, removal.drop ?? []);
  const planned = planBody(state.fields, origin, context.log.capabilities.maxChainRecords);
  assertFits(context, threadId, planned);
  const seq = (expected?.tail ?? 0) + 1;
  const lease = leaseAfterWrite(context, expected, options.lease);
  const edited = removal.drop === undefined ? {} : { edits: (expected?.thread?.edits ?? 0) + 1 };
  const thread = { ...expected?.thread, ...edited, ...(lease !== undefined && { lease }) };
  const fields: RecordFields = {
    kind: planned.kind,
    createdAt: context.now(),
    buildsOn: planned.kind === "base" ? 0 : (origin?.position.seq ?? 0),
    schema,
    messageCount: state.messages.length,
    chain: planned.chain,
    ...(planned.freshMessages !== undefined && { freshMessages: planned.freshMessages }),
    ...(Object.keys(thread).length > 0 && { thread }),
  };
  const record = sealRecord({
    seq,
    writeId,
    base: planned.kind === "base" ? seq : (origin?.position.base ?? seq),
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
    ...removal,
    ...(options.ttlSeconds !== undefined && { ttlMs: Math.min(options.ttlSeconds * 1000, LONGEST_TTL_MS) }),
  };
  return { request, fields };
}

/** The checkpoint a delta may build on: the head itself, of the same schema, and not about to go. */
function buildableOrigin(
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  expected: Expectation | undefined,
  schema: number,
  dropped: readonly number[],
):
  | { readonly fields: AgentState["fields"]; readonly position: Position; readonly chain: Position["chain"] }
  | undefined {
  const origin = findOrigin(state, context.originKey(threadId));
  const position = origin?.position as Position | undefined;
  if (origin === undefined || position === undefined || expected === undefined) return undefined;
  if (position.generation !== expected.generation || position.seq !== expected.head) return undefined;
  if (position.schema !== schema || dropped.includes(position.seq)) return undefined;
  return { fields: origin.fields, position, chain: position.chain };
}

function assertFits(context: CheckpointContext, threadId: string, { body }: PlannedBody): void {
  const { maxRecordBytes } = context.log.capabilities;
  if (body.byteLength <= maxRecordBytes) return;
  const size = `what is new in thread ${JSON.stringify(threadId)} is ${body.byteLength} bytes`;
  throw new StateError("TOO_LARGE", `${size}; ${context.log.name} takes at most ${maxRecordBytes}`, { threadId });
}

function conflict(
  context: CheckpointContext,
  threadId: string,
  expected: string | null,
  actual: string | null,
): StateError {
  const found = actual === null ? "no thread" : actual;
  const wanted = expected === null ? "no thread" : expected;
  return new StateError(
    "CONFLICT",
    `${context.log.name}: thread ${JSON.stringify(threadId)} has moved on: expected ${wanted}, found ${found}. Load it again and redo the change; nothing was written`,
    { backend: context.log.name, operation: "save", threadId, expected, actual, written: "no" },
  );
}
