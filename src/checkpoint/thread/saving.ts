import { assertCheckpointId, assertThreadId, newId } from "../../driver/ids.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import { StateError } from "../../errors.ts";
import { type AgentState, heldFieldsOf } from "../../state/agent-state.ts";
import type { StateFields } from "../../state/fields.ts";
import { conversationOf } from "../../state/growing-list.ts";
import { standingOf } from "../../state/tool-calls.ts";
import { leastBytesOf } from "../../state/values/doorway.ts";
import { assertUnchanged, NO_BYTES, type WatchedBytes, watchBytes } from "../../state/values/watched-bytes.ts";
import { type SaveOptions, uncheckedHead } from "../base-checkpointer.ts";
import type { CheckpointContext } from "../context.ts";
import { factsWith, leaseAfterWrite, leaseConflict, leaseFault, mayBeLeased, termsOf } from "../lease/lease-rules.ts";
import { LONGEST_TTL_MS } from "../log/driver-rules.ts";
import { redactedRecord } from "../log/redacting.ts";
import type { LogCapabilities, LogEntry, LogRecord } from "../log/thread-log.ts";
import { assertNewThreadMayStay, writtenFacts } from "../people/erasure-mark.ts";
import { encodeMetadata } from "../record/metadata.ts";
import { fits, handOverContent, mayFit, type PlannedBody, planBody, wordsToAppend } from "../record/plan-record.ts";
import {
  assertAgents,
  digestOf,
  type MailFacts,
  openHeader,
  type RecordFields,
  type RecordHeader,
  type ThreadFacts,
  withChecksum,
} from "../record/record.ts";
import {
  broughtAlong,
  hasTaken,
  type MailChange,
  mailAfter,
  waitingRecords,
  waitsBeside,
  withMail,
} from "../signals/mailbox.ts";
import {
  type Attempt,
  assertNotDeleted,
  attemptFor,
  creationSeen,
  findAttempt,
  forgetAttempt,
  isOf,
  leaveUnsettled,
  placedAt,
  whetherApplied,
} from "./attempt.ts";
import { adoptPosition, isStillHead, originOf, type Position, positionOf, rememberPosition } from "./position.ts";
import {
  type Attempts,
  droppingMark,
  type Edits,
  erasuresAt,
  mayBeThereAlready,
  type Plan,
  sayingWhetherWritten,
  type Tail,
  Thread,
} from "./thread.ts";

export const saveState = (
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  options: SaveOptions,
): Promise<string> => new Saving(context, state, threadId, options).run();

/** What a writer believes to be the newest checkpoint, and the tail it builds on. Without one, the thread must not exist. */
interface Expectation {
  readonly tail: Tail;
  /** The head's write; `undefined` where there is no checkpoint, or where the tail alone was read and is not the head. */
  readonly headWriteId: string | undefined;
  readonly headId: string | null;
}

/** What a record carries besides what is stored with it. */
interface Made extends Pick<RecordHeader, "chain" | "schema"> {
  readonly thread?: ThreadFacts | undefined;
  readonly bytes: WatchedBytes;
  /** Set if the next save is likely to move this record's name. */
  readonly record?: LogRecord | undefined;
}

/** A larger record is read again when it is needed, because a state should not be in memory twice. */
const MAX_KEPT_BYTES = 1024 * 1024;

/** Loaded with the first save under a name that the thread may have already. */
const names = new OpenOnce(() => import("../history/names.ts"));

/**
 * One save. It expects a head, and plans a record that builds on it. Where the
 * append is refused, it looks at what is there instead: its own record from an
 * attempt whose answer was lost; the expected head with other records behind it;
 * or another head, which is a conflict.
 */
class Saving {
  readonly #context: CheckpointContext;
  readonly #thread: Thread;
  readonly #state: AgentState;
  readonly #held: StateFields;
  readonly #options: SaveOptions;
  readonly #metadata: string | undefined;
  readonly #attempts: Attempts;
  #attempt: Attempt;
  /** Where the state stands in the thread. */
  #position: Position | undefined;
  #expected: Expectation | undefined;
  #made: Made | undefined;
  /** Signals that wait behind the expected tail, where this save does not take all of them in. */
  #signals: readonly LogRecord[] = [];

  constructor(context: CheckpointContext, state: AgentState, threadId: string, options: SaveOptions) {
    assertThreadId(threadId);
    if (options.checkpointId !== undefined) assertCheckpointId(options.checkpointId);
    if (options.ttlSeconds !== undefined && !(Number.isFinite(options.ttlSeconds) && options.ttlSeconds > 0)) {
      throw new StateError("INVALID_ARGUMENT", "ttlSeconds must be a number greater than 0");
    }
    this.#context = context;
    this.#thread = new Thread(context, threadId, "save");
    this.#state = state;
    this.#held = heldFieldsOf(state);
    this.#options = options;
    this.#metadata = options.metadata === undefined ? undefined : encodeMetadata(options.metadata);
    this.#attempt = attemptFor(this.#thread, state, options, () => this.#digest());
    this.#attempts = {
      request: undefined,
      sent: [...this.#attempt.sent],
      isInDoubt: this.#attempt.isRepeated,
      isUnseen: false,
      isFailed: false,
    };
  }

  async run(): Promise<string> {
    const { isRepeated } = this.#attempt;
    try {
      // The record depends on what the storage takes, which some drivers know only after contact.
      const contact = this.#context.connect({ operation: "save", threadId: this.#thread.id });
      if (contact !== undefined) await contact;
      const known = positionOf(this.#context, this.#state, this.#thread.id);
      this.#position = known ?? (await adoptPosition(this.#thread, this.#state));
      const earlier = isRepeated ? await this.#appliedBefore() : undefined;
      return earlier ?? (await this.#append());
    } catch (error) {
      const mayBeThere = isRepeated || this.#attempts.isUnseen;
      if (!mayBeThere || !StateError.is(error, "CONFLICT")) throw sayingWhetherWritten(error, isRepeated);
      return this.#earlierAttempt(error);
    }
  }

  /** A repetition whose write is already in the thread, as far as this is known without reading the history. */
  async #appliedBefore(): Promise<string | undefined> {
    const { expectedHead } = this.#options;
    if (expectedHead !== uncheckedHead) await assertNotDeleted(this.#thread, this.#state, this.#attempt);
    const { writeId } = this.#attempt;
    const origin = originOf(this.#context, this.#state, this.#thread.id);
    if (origin?.position.writeId === writeId) {
      const { checkpointId } = origin.position;
      if (origin.fields === this.#held) return checkpointId;
      const which = `the write id ${JSON.stringify(writeId)} was used for checkpoint ${checkpointId}`;
      throw new StateError(
        "INVALID_ARGUMENT",
        `${which}, and the state has changed since: a new write needs a new one`,
      );
    }
    return expectedHead === uncheckedHead ? this.#found() : undefined;
  }

  /** Until it is known what became of an earlier attempt, a further save of the same state looks for it, too. */
  async #earlierAttempt(conflict: StateError): Promise<string> {
    const { isUnseen } = this.#attempts;
    if (isUnseen) this.#leaveUnsettled();
    try {
      const found = await this.#found();
      if (found !== undefined) return found;
      const told = await whetherApplied(this.#thread, this.#state, conflict);
      if (isUnseen && !mayBeThereAlready(told)) forgetAttempt(this.#thread, this.#state);
      throw told;
    } catch (error) {
      throw sayingWhetherWritten(error, true);
    }
  }

  /** Whether a record was written by an attempt that got no answer, of this save or of an earlier one of the same state. */
  #isMine(entry: LogEntry): boolean {
    return isOf({ ...this.#attempt, sent: this.#attempts.sent }, entry);
  }

  async #found(): Promise<string | undefined> {
    const found = await findAttempt(this.#thread, (entry) => this.#isMine(entry));
    return found && this.#settle(found.generation, found.entry, { ...openHeader(found.entry), bytes: NO_BYTES });
  }

  async #append(): Promise<string> {
    const { expectedHead } = this.#options;
    const position = this.#position;
    if (expectedHead === undefined || expectedHead === position?.checkpointId) {
      this.#expected = position && {
        tail: position.tail,
        headWriteId: position.writeId,
        headId: position.checkpointId,
      };
    } else if (expectedHead !== null) this.#expected = await this.#expectationOf(expectedHead);
    const appended = await this.#thread
      .append(this.#expected?.tail, (tail, isRetry) => this.#plan(tail, isRetry), this.#attempts)
      .catch((error: unknown) => (this.#attempts.isFailed ? this.#leaveOpen(error) : Promise.reject(error)));
    if (appended === undefined || this.#made === undefined)
      throw new Error("a save plans until it is written or refused");
    const { request, entry } = appended;
    const { generation, seq } = request.expected;
    if (seq === 0) await assertNewThreadMayStay(this.#context, "save", this.#thread.id, generation, [request.record]);
    if (entry !== request.record)
      return this.#settle(generation, entry, { ...openHeader(entry), bytes: this.#made.bytes });
    const checkpointId = this.#settle(generation, entry, this.#made, request.more?.at(-1));
    // What a redactor wrote is not what this state holds.
    if (this.#position !== undefined && this.#context.redactor === undefined) {
      this.#context.warm.keep(this.#thread.id, { position: this.#position, storedSchema: this.#made.schema });
    }
    return checkpointId;
  }

  /** The storage gave no answer, or refused for good: repeated, it is the same attempt. */
  async #leaveOpen(error: unknown): Promise<never> {
    const { request, isInDoubt } = this.#attempts;
    if (request?.expected.seq === 0 && isInDoubt) {
      this.#attempt = { ...this.#attempt, creation: await creationSeen(this.#thread, request.expected.generation) };
    }
    this.#leaveUnsettled();
    throw error;
  }

  #leaveUnsettled(): void {
    leaveUnsettled(this.#thread, this.#state, { ...this.#attempt, sent: this.#attempts.sent });
  }

  /** What a save expects whose caller names the head, or says that any will do. `CONFLICT` if it is another one. */
  async #expectationOf(expectedHead: string | typeof uncheckedHead): Promise<Expectation | undefined> {
    const tail = await this.#thread.tail();
    assertAgents(tail?.thread);
    const head = tail === undefined || tail.head === tail.seq ? tail : await this.#thread.newest();
    const headId = head?.checkpointId ?? null;
    if (expectedHead !== uncheckedHead && headId !== expectedHead) throw this.#movedOn(expectedHead, headId);
    return tail && { tail, headWriteId: head?.writeId, headId };
  }

  #plan(tail: Tail | undefined, isRetry: boolean): Plan | Promise<Plan> {
    const { lease, checkpointId, consumes } = this.#options;
    const isNamed = checkpointId !== undefined && this.#expected !== undefined;
    // Nearly every save is of a thread that says nothing of itself, and has nothing to ask for.
    const isPlain = lease === undefined && consumes === undefined && this.#expected?.tail.thread === undefined;
    if (!isRetry && !isNamed && isPlain) return this.#recordOf(this.#planBody(), {});
    return this.#planAsking(tail, isRetry, isNamed);
  }

  async #planAsking(tail: Tail | undefined, isRetry: boolean, isNamed: boolean): Promise<Plan> {
    if (isRetry) this.#expected = await this.#reconsidered(tail);
    if (mayBeLeased(this.#expected?.tail, this.#options.lease)) await this.#heedLease();
    // Another save of the same state may have ended meanwhile.
    this.#position = positionOf(this.#context, this.#state, this.#thread.id);
    // Ids are remembered by the storage's clock: by one that is fast, they would be forgotten too early.
    if (this.#options.consumes !== undefined || hasTaken(this.#expected?.tail)) await this.#context.clock.ready();
    this.#signals = this.#leavesSignals() ? await waitingRecords(this.#thread, this.#expected?.tail) : [];
    const body = this.#planBody();
    if (!isNamed || this.#expected === undefined) return this.#recordOf(body, {});
    const { freeName } = await names.get();
    const { builtOn } = body;
    // A record kept in memory equals the stored one only while nothing came after it: an edit may have replaced it.
    const isNewest = builtOn?.seq === this.#expected.tail.seq;
    const known = builtOn === undefined || isNewest ? builtOn : { ...builtOn, record: undefined };
    const { planned, edits } = await freeName(
      this.#thread,
      this.#attempt.checkpointId,
      this.#held,
      body.planned,
      known,
    );
    return this.#recordOf({ ...body, planned }, edits);
  }

  /** Whether signals wait that this save does not take in: it brings them along. */
  #leavesSignals(): boolean {
    return waitsBeside(this.#expected?.tail, this.#options.consumes ?? []);
  }

  /** A lease that was seen may have ended since, so it is read again before it refuses a save. */
  async #heedLease(): Promise<void> {
    const terms = this.#options.lease && termsOf(this.#options.lease);
    if ((await leaseFault(this.#context, this.#expected?.tail, terms)) === undefined) return;
    this.#expected = await this.#reconsidered(await this.#thread.tail());
    const fault = await leaseFault(this.#context, this.#expected?.tail, terms);
    if (fault !== undefined) throw leaseConflict(this.#context, this.#thread.id, fault);
  }

  /**
   * After a refusal. Records that are not checkpoints (a deletion of old ones, a
   * lease) may have been added while the head is still the expected one. Then
   * nothing moved on, and the save goes behind them.
   */
  async #reconsidered(tail: Tail | undefined): Promise<Expectation | undefined> {
    assertAgents(tail?.thread);
    const isHead = tail !== undefined && tail.head === tail.seq;
    const actual = isHead ? (tail.checkpointId ?? null) : null;
    const expected = this.#expected;
    if (this.#options.expectedHead === uncheckedHead) {
      return tail && { tail, headWriteId: isHead ? tail.writeId : undefined, headId: actual };
    }
    const isSameThread = expected === undefined || tail?.generation === expected.tail.generation;
    if (tail !== undefined && isSameThread && (await this.#isHead(tail))) {
      return { tail, headWriteId: expected?.headWriteId, headId: expected?.headId ?? null };
    }
    throw this.#movedOn(expected?.headId ?? null, tail && (tail.checkpointId ?? `record ${tail.head}`));
  }

  async #isHead(tail: Tail): Promise<boolean> {
    const { tail: { head: seq } = { head: 0 }, headWriteId: writeId } = this.#expected ?? {};
    return writeId === undefined ? tail.head === seq : isStillHead(this.#thread, { seq, writeId }, tail);
  }

  #movedOn(expected: string | null, actual: string | null | undefined): StateError {
    const { name } = this.#context.log;
    const threadId = this.#thread.id;
    const found = actual ?? "no thread";
    return new StateError(
      "CONFLICT",
      `${name}: thread ${JSON.stringify(threadId)} has moved on: expected ${expected ?? "no thread"}, found ${found}. Load it again and redo the change; nothing was written`,
      { backend: name, operation: "save", threadId, expected, actual: actual ?? null, written: "no" },
    );
  }

  #planBody(): PlannedState {
    const position = this.#position;
    const tail = this.#expected?.tail;
    if (position !== undefined && position.tail.generation === tail?.generation) {
      if (erasuresAt(position.tail) !== erasuresAt(tail)) throw this.#erasedSince();
    }
    const origin = buildableOn(position, this.#expected);
    const looked = position && assertUnchanged(position.bytes, () => this.#state.fields);
    const capabilities = this.#room();
    if (origin === undefined && !mayFit(this.#held, capabilities)) {
      throw this.#tooLarge(`at least ${leastBytesOf(this.#state.fields)}`);
    }
    const planned = planBody(this.#held, origin && { fields: origin.stored, chain: origin.chain }, capabilities);
    if (!fits(planned, capabilities)) throw this.#tooLarge(String(planned.body.byteLength));
    return { planned, builtOn: planned.kind === "delta" ? origin : undefined, looked };
  }

  /** What the storage takes, without the signals that go into the same append. */
  #room(): LogCapabilities {
    const { capabilities } = this.#context.log;
    if (this.#signals.length === 0) return capabilities;
    const taken = this.#signals.reduce((sum, { body }) => sum + body.byteLength, 0);
    return { ...capabilities, maxRecordBytes: capabilities.maxRecordBytes - taken };
  }

  /** A state that was loaded before a person's words were erased from the thread would bring them back: it is refused. */
  #erasedSince(): StateError {
    const { name } = this.#context.log;
    const threadId = this.#thread.id;
    return new StateError(
      "CONFLICT",
      `${name}: data of a person was erased from thread ${JSON.stringify(threadId)} since this state was loaded, and the state may still hold it. Load it again and redo the change; nothing was written`,
      { backend: name, operation: "save", threadId, written: "no" },
    );
  }

  /** The new part of the state fits into no record of this storage. */
  #tooLarge(size: string): StateError {
    const { name, capabilities } = this.#context.log;
    const threadId = this.#thread.id;
    const found = `what is new in thread ${JSON.stringify(threadId)} is ${size} bytes`;
    const remedy = "Save it in several steps, with fewer new messages or fields in each";
    return new StateError("TOO_LARGE", `${found}; ${name} takes at most ${capabilities.maxRecordBytes}. ${remedy}`, {
      threadId,
    });
  }

  #recordOf({ planned, builtOn, looked }: PlannedState, edits: Edits): Plan {
    const behind = this.#expected?.tail;
    const seq = (behind?.seq ?? 0) + 1;
    this.#attempt = placedAt(this.#attempt, seq, this.#options);
    const { writeId, checkpointId, digest } = this.#attempt;
    // A new thread is named after its first write, so that a retry of that write finds its own thread. But a caller's
    // write id may be used again after the thread was deleted, and a generation must not be.
    const generation = behind?.generation ?? (this.#options.writeId === undefined ? writeId : newId());
    const isEdit = edits.drop !== undefined || edits.replace !== undefined;
    const { log, redactor, schema: wanted } = this.#context;
    const createdAt = this.#context.now();
    const { consumes = NONE } = this.#options;
    const mail =
      behind?.thread?.mail === undefined && consumes.length === 0
        ? NO_MAIL
        : mailAfter(behind, generation, consumes, this.#signals, { seq, now: Math.floor(this.#context.clock.now()) });
    const fields: RecordFields = {
      kind: planned.kind,
      createdAt,
      buildsOn: builtOn?.seq ?? 0,
      // A program without a schema passes on the version of what it adds to.
      schema: wanted?.version ?? this.#position?.schema ?? 0,
      messageCount: conversationOf(this.#held).length,
      chain: planned.chain,
      freshMessages: planned.freshMessages,
      standing: standingOf(this.#held),
      digest,
      thread:
        behind?.thread === undefined && this.#options.lease === undefined && mail.facts === undefined && !isEdit
          ? undefined
          : this.#factsAfter(generation, behind?.thread, mail.facts, isEdit),
    };
    const made = withChecksum({
      seq,
      writeId,
      base: builtOn?.base ?? seq,
      head: seq,
      checkpointId,
      metadata: this.#metadata,
      body: planned.body,
      words: wordsToAppend(log, planned.newMessages),
      fields,
    });
    const record = redactor === undefined ? made : redactedRecord(made, log, redactor);
    if (log.capabilities.sealing !== undefined) handOverContent(planned.body, planned.content);
    const { chain, schema, thread } = fields;
    const bytes = watchBytes((builtOn && looked) ?? NO_BYTES, planned.bytes);
    const kept =
      this.#options.checkpointId === undefined || record.body.byteLength > MAX_KEPT_BYTES ? undefined : record;
    this.#made = { chain, schema, thread, bytes, record: kept };
    const append = this.#appendOf(record, behind, edits, mail);
    return { append, behind, generation, isMine: (entry) => this.#isMine(entry) };
  }

  #appendOf(record: LogRecord, behind: Tail | undefined, edits: Edits, mail: MailChange): Plan["append"] {
    const { ttlSeconds } = this.#options;
    if (
      behind?.isMark !== true &&
      edits.drop === undefined &&
      edits.replace === undefined &&
      mail.drop.length === 0 &&
      ttlSeconds === undefined
    ) {
      return { record };
    }
    // Names that others moved in the meantime are not ours to move: the append is refused and says why.
    const own = isOvertaken(edits, behind?.seq ?? 0) ? {} : edits;
    const drop = droppingMark(behind, mail.drop.length === 0 ? own.drop : [...(own.drop ?? NONE), ...mail.drop]);
    const more = broughtAlong(mail.along, record, this.#made?.thread);
    return {
      record,
      ...(more.length > 0 && { more }),
      ...own,
      ...(drop && { drop }),
      ...(ttlSeconds !== undefined && { ttlMs: Math.min(ttlSeconds * 1000, LONGEST_TTL_MS) }),
    };
  }

  /** What a save says of its thread: all that was known, its lease as it is now, and its edits counted. */
  #factsAfter(
    generation: string,
    thread: ThreadFacts | undefined,
    mail: MailFacts | undefined,
    isEdit: boolean,
  ): ThreadFacts | undefined {
    const { lease: given } = this.#options;
    const before = withMail(writtenFacts(thread), mail);
    const counted = isEdit ? { ...before, edits: (before?.edits ?? 0) + 1 } : before;
    return factsWith(counted, leaseAfterWrite(this.#context, generation, given && termsOf(given)));
  }

  /** Of the whole state, for a write that the caller named. What a redactor takes out must not be guessed from a digest. */
  #digest(): string | undefined {
    return this.#context.redactor === undefined ? digestOf(this.#held) : undefined;
  }

  /** The record is in the log, from this attempt or an earlier one. */
  #settle(
    generation: string,
    entry: LogEntry,
    { chain, schema, thread, bytes, record }: Made,
    last: LogEntry = entry,
  ): string {
    forgetAttempt(this.#thread, this.#state);
    const { seq, base, writeId, checkpointId = "" } = entry;
    const end = { seq: last.seq, writeId: last.writeId, checkpointId: last.checkpointId };
    const tail = { generation, ...end, base, head: seq, isMark: false, thread };
    const stored = this.#held;
    this.#position = { tail, seq, checkpointId, writeId, base, chain, stored, schema, bytes, record };
    rememberPosition(this.#context, this.#state, this.#thread.id, this.#position);
    return checkpointId;
  }
}

const NONE: readonly never[] = [];
const NO_MAIL: MailChange = { facts: undefined, drop: NONE, along: NONE };

/** The body of a record, before it has a place. */
interface PlannedState {
  readonly planned: PlannedBody;
  readonly builtOn: Position | undefined;
  /** The bytes of the state before, of which the next part was looked at. */
  readonly looked: WatchedBytes | undefined;
}

/** The checkpoint that a delta may build on: the head itself. */
function buildableOn(position: Position | undefined, expected: Expectation | undefined): Position | undefined {
  if (position === undefined || expected === undefined) return undefined;
  const { tail, headWriteId } = expected;
  const isHead = position.seq === tail.head && position.writeId === headWriteId;
  return isHead && position.tail.generation === tail.generation ? position : undefined;
}

/** Whether the plan was made for a thread that grew beyond this tail, where an append would be refused. */
const isOvertaken = ({ replace = [], drop = [] }: Edits, tail: number): boolean =>
  drop.some((seq) => seq > tail) || replace.some(({ seq }) => seq > tail);
