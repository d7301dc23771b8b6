import { StateError } from "../../errors.ts";
import { type AgentState, heldFieldsOf } from "../../state/agent-state.ts";
import { conversationOf } from "../../state/conversation.ts";
import type { StateFields } from "../../state/fields.ts";
import { standingOf } from "../../state/tool-calls.ts";
import { leastBytesOf } from "../../state/values/doorway.ts";
import { assertUnchanged, NO_BYTES, type WatchedBytes, watchBytes } from "../../state/values/sealed-bytes.ts";
import { type SaveOptions, uncheckedHead } from "../base-checkpointer.ts";
import type { CheckpointContext } from "../context.ts";
import type { Edits } from "../history/edits.ts";
import { type KnownThread, leaseConflict, leaseFault, mayBeLeased } from "../lease/lease-rules.ts";
import { beginningOf } from "../log/append-rules.ts";
import { redactedRecord } from "../log/redacting.ts";
import type { AppendOutcome, AppendRequest, LogEntry, ThreadLog } from "../log/thread-log.ts";
import { assertNewThreadMayStay } from "../people/erasure-mark.ts";
import { encodeMetadata } from "../record/metadata.ts";
import { fits, handOverContent, mayFit, type PlannedBody, planBody, wordsToAppend } from "../record/plan-record.ts";
import { openHeader, type RecordFields, withChecksum } from "../record/record.ts";
import { assertAgents } from "../record/thread-facts.ts";
import {
  type Attempt,
  appliedBefore,
  attemptFor,
  leaveUnsettled,
  type MadeRecord,
  newGeneration,
  placedAt,
  settled,
} from "./attempt.ts";
import { assertNothingErased } from "./erased-meanwhile.ts";
import { buildableOn, type Expectation, expectationAt, expectationOf } from "./expectation.ts";
import { expectationOfHead } from "./expected-head.ts";
import { freeName } from "./free-name.ts";
import { assertNotDeleted, creationSeen } from "./lost-creation.ts";
import { LostRaces } from "./lost-races.ts";
import { assertNotMoved } from "./moved-threads.ts";
import { adoptPosition, asOf, isStillHead, type Position, positionOf } from "./position.ts";
import { movedOn, tooLarge } from "./save-refusals.ts";
import { assertSaveOptions, factsAfter, requestFor } from "./save-request.ts";
import { mayBeWritten, sayingWhetherWritten } from "./written.ts";

export const saveState = (
  context: CheckpointContext,
  state: AgentState,
  threadId: string,
  options: SaveOptions,
): Promise<string> => new Saving(context, state, threadId, options).run();

type Refusal = AppendOutcome & { readonly appended: false };

/** What is to be appended, before its record is sealed. */
interface Plan {
  readonly planned: PlannedBody;
  readonly builtOn: Position | undefined;
  /** The bytes of the state before, of which the next part was looked at. */
  readonly looked: WatchedBytes | undefined;
  readonly edits: Edits | undefined;
}

/**
 * One save. It expects a head, makes a record that builds on it, and appends
 * that. If it is refused, it looks at what is there instead: its own record from
 * an attempt whose answer was lost; the expected head with other records behind
 * it; or another head, which is a conflict.
 */
class Saving {
  readonly #context: CheckpointContext;
  readonly #state: AgentState;
  readonly #held: StateFields;
  readonly #threadId: string;
  readonly #options: SaveOptions;
  readonly #metadata: string | undefined;
  #attempt: Attempt;
  /** An append got no answer, and when it was repeated there was no record at its place: it was never there, or is no more. */
  #isUnseen = false;

  constructor(context: CheckpointContext, state: AgentState, threadId: string, options: SaveOptions) {
    assertSaveOptions(threadId, options);
    this.#context = context;
    this.#state = state;
    this.#held = heldFieldsOf(state);
    this.#threadId = threadId;
    this.#options = options;
    this.#metadata = options.metadata === undefined ? undefined : encodeMetadata(options.metadata);
    this.#attempt = attemptFor(context, state, threadId, options);
  }

  async run(): Promise<string> {
    const { isRepeated } = this.#attempt;
    try {
      const beginning = this.#begin();
      if (beginning !== undefined) await beginning;
      const earlier = isRepeated ? await this.#appliedBefore() : undefined;
      return earlier ?? (await this.#appendUntilSettled());
    } catch (error) {
      const mayBeThere = isRepeated || this.#isUnseen;
      if (!mayBeThere || !StateError.is(error, "CONFLICT")) throw sayingWhetherWritten(error, isRepeated);
      const { earlierAttempt } = await import("./removed-attempt.ts");
      const lost = { attempt: this.#attempt, isUnseen: this.#isUnseen };
      return earlierAttempt(this.#context, this.#state, this.#threadId, lost, error);
    }
  }

  /** `undefined` if there is nothing to wait for, here and below: each wait is a promise, and saves are many. */
  #begin(): Promise<void> | undefined {
    // The record depends on what the storage takes, which some drivers know only after contact.
    const contact = this.#context.connect({ operation: "save", threadId: this.#threadId });
    return contact === undefined ? this.#adopt() : contact.then(() => this.#adopt());
  }

  #adopt(): Promise<void> | undefined {
    return adoptPosition(this.#context, this.#state, this.#threadId);
  }

  async #appliedBefore(): Promise<string | undefined> {
    const known = [this.#context, this.#state, this.#threadId, this.#attempt] as const;
    if (this.#options.expectedHead !== uncheckedHead) await assertNotDeleted(...known);
    return appliedBefore(...known, this.#options);
  }

  async #appendUntilSettled(): Promise<string> {
    const first = this.#firstExpectation();
    let expected = first instanceof Promise ? await first : first;
    for (const races = new LostRaces(this.#context, "save", this.#threadId); ; races.lost()) {
      if (mayBeLeased(expected, this.#options.lease)) expected = await this.#heedLease(expected);
      let plan = this.#planFor(expected);
      if (this.#options.checkpointId !== undefined && expected) plan = await this.#freeName(plan, expected);
      const { request, made } = this.#sealed(plan, expected);
      const outcome = await this.#append(request);
      if (outcome.appended) {
        if (request.expected.seq === 0) await this.#assertMayStay(request);
        return this.#appended(request, made);
      }
      const { occupant } = outcome;
      if (occupant?.writeId === this.#attempt.writeId) {
        if (request.expected.seq === 0) await this.#assertMayStay(request);
        return this.#settled(request, occupant, { ...openHeader(occupant), bytes: made.bytes });
      }
      expected = await this.#reconsider(expected, outcome);
    }
  }

  #firstExpectation(): Expectation | undefined | Promise<Expectation | undefined> {
    const { expectedHead } = this.#options;
    const position = this.#position;
    if (expectedHead === undefined || expectedHead === position?.checkpointId) {
      return position && expectationOf(position);
    }
    return expectedHead === null ? undefined : expectationOfHead(this.#context, this.#threadId, expectedHead);
  }

  /** A lease that was seen may have ended since, so it is read again before it refuses a save. */
  async #heedLease(expected: Expectation | undefined): Promise<Expectation | undefined> {
    const { lease } = this.#options;
    if ((await leaseFault(this.#context, expected, lease)) === undefined) return expected;
    const found = await this.#ask((log) => log.tail(this.#threadId));
    const { entry: tail, generation } = found ?? {};
    const fresh = await this.#reconsider(expected, { tail, generation });
    const fault = await leaseFault(this.#context, fresh, lease);
    if (fault !== undefined) throw leaseConflict(this.#context, this.#threadId, fault);
    return fresh;
  }

  /**
   * After a refusal. Records that are not checkpoints (a deletion of old ones, a
   * lease) may have been added while the head is still the expected one. Then
   * nothing moved on, and the save goes behind them.
   */
  async #reconsider(
    expected: Expectation | undefined,
    { tail, generation }: Pick<Refusal, "tail" | "generation">,
  ): Promise<Expectation | undefined> {
    if (tail !== undefined) assertAgents(tail);
    const isHead = tail !== undefined && tail.head === tail.seq;
    const there =
      tail && generation !== undefined ? expectationAt(generation, tail, isHead ? tail : undefined) : undefined;
    if (this.#options.expectedHead === uncheckedHead) return there;
    const sameThread = expected === undefined || generation === expected.generation;
    if (tail !== undefined && there !== undefined && sameThread && (await this.#isHead(expected, tail))) {
      return { ...there, headWriteId: expected?.headWriteId, headId: expected?.headId ?? null };
    }
    const actual = tail === undefined ? null : (tail.checkpointId ?? `record ${tail.head}`);
    throw movedOn(this.#context, this.#threadId, expected?.headId ?? null, actual);
  }

  async #isHead(expected: Expectation | undefined, tail: LogEntry): Promise<boolean> {
    const { head = 0, headWriteId } = expected ?? {};
    if (headWriteId === undefined) return tail.head === head;
    return isStillHead(this.#context, this.#threadId, { seq: head, writeId: headWriteId }, tail);
  }

  #planFor(expected: Expectation | undefined): Plan {
    const position = this.#position;
    assertNotMoved(this.#context, this.#threadId, expected?.thread);
    assertNothingErased(this.#context, this.#threadId, position, expected);
    const origin = buildableOn(position, expected);
    const looked = position && assertUnchanged(position.bytes, () => this.#state.fields);
    const planned = this.#planBody(origin);
    return { planned, builtOn: planned.kind === "delta" ? origin : undefined, looked, edits: undefined };
  }

  async #freeName(plan: Plan, expected: Expectation): Promise<Plan> {
    const { checkpointId } = this.#attempt;
    const builtOn = asOf(plan.builtOn, expected.tail.seq);
    const named = await freeName(this.#context, this.#threadId, checkpointId, this.#held, plan.planned, builtOn);
    return { ...plan, ...named };
  }

  #sealed(
    { planned, builtOn, looked, edits }: Plan,
    expected: Expectation | undefined,
  ): { readonly request: AppendRequest; readonly made: MadeRecord } {
    const isEdit = edits !== undefined && Object.keys(edits).length > 0;
    const seq = (expected?.tail.seq ?? 0) + 1;
    this.#attempt = placedAt(this.#attempt, seq, this.#options);
    const tail = expected?.tail ?? beginningOf(newGeneration(this.#attempt, this.#options));
    const fields = this.#fieldsOf(planned, builtOn, { generation: tail.generation, thread: expected?.thread }, isEdit);
    const sealed = withChecksum({
      seq,
      writeId: this.#attempt.writeId,
      base: builtOn?.base ?? seq,
      head: seq,
      checkpointId: this.#attempt.checkpointId,
      metadata: this.#metadata,
      body: planned.body,
      words: wordsToAppend(this.#context.log, planned.newMessages),
      fields,
    });
    const { redactor, log } = this.#context;
    const record = redactor === undefined ? sealed : redactedRecord(sealed, log, redactor);
    if (log.capabilities.sealing !== undefined) handOverContent(planned.body, planned.content);
    const { chain, schema, thread } = fields;
    const bytes = watchBytes((builtOn && looked) ?? NO_BYTES, planned.bytes);
    const kept = this.#options.checkpointId === undefined ? undefined : record;
    const made = { chain, schema, thread, bytes, record: kept };
    return { request: requestFor(tail, record, isEdit ? edits : undefined, this.#options), made };
  }

  #fieldsOf(planned: PlannedBody, builtOn: Position | undefined, known: KnownThread, isEdit: boolean): RecordFields {
    return {
      kind: planned.kind,
      createdAt: this.#context.now(),
      buildsOn: builtOn?.seq ?? 0,
      // A program without a schema passes on the version of what it adds to.
      schema: this.#context.schema?.version ?? this.#position?.schema ?? 0,
      messageCount: conversationOf(this.#held).length,
      chain: planned.chain,
      freshMessages: planned.freshMessages,
      standing: standingOf(this.#held),
      thread: factsAfter(this.#context, known, this.#options, isEdit),
    };
  }

  #planBody(origin: Position | undefined): PlannedBody {
    const { capabilities } = this.#context.log;
    if (origin === undefined && !mayFit(this.#held, capabilities)) {
      throw tooLarge(this.#context, this.#threadId, `at least ${leastBytesOf(this.#state.fields)}`);
    }
    const planned = planBody(this.#held, origin && { fields: origin.stored, chain: origin.chain }, capabilities);
    if (fits(planned, capabilities)) return planned;
    throw tooLarge(this.#context, this.#threadId, String(planned.body.byteLength));
  }

  async #append(request: AppendRequest): Promise<AppendOutcome> {
    const { log } = this.#context;
    let mayBe = this.#attempt.isRepeated;
    try {
      const place = { operation: "save", threadId: this.#threadId };
      const outcome = await this.#context.call(
        place,
        () => log.append(this.#threadId, request),
        (error) => {
          mayBe ||= mayBeWritten(log, error);
        },
      );
      if (mayBe && !outcome.appended && outcome.occupant === undefined) this.#isUnseen = true;
      return outcome;
    } catch (error) {
      const isLost = request.expected.seq === 0 && mayBe;
      const creation = isLost ? { creation: await creationSeen(this.#context, this.#threadId, request) } : {};
      leaveUnsettled(this.#context, this.#state, this.#threadId, { ...this.#attempt, ...creation });
      throw sayingWhetherWritten(error, mayBe);
    }
  }

  get #position(): Position | undefined {
    return positionOf(this.#context, this.#state, this.#threadId);
  }

  async #assertMayStay({ expected, record }: AppendRequest): Promise<void> {
    await assertNewThreadMayStay(this.#context, "save", this.#threadId, expected.generation, [record]);
  }

  #appended(request: AppendRequest, made: MadeRecord): string {
    const checkpointId = this.#settled(request, request.record, made);
    const position = this.#position;
    // What a redactor wrote is not what this state holds.
    if (position !== undefined && this.#context.redactor === undefined) {
      this.#context.warm.keep(this.#threadId, { position, storedSchema: made.schema });
    }
    return checkpointId;
  }

  #settled({ expected }: AppendRequest, entry: LogEntry, made: MadeRecord): string {
    return settled(this.#context, this.#state, this.#threadId, expected.generation, entry, made);
  }

  #ask<T>(work: (log: ThreadLog) => Promise<T>): Promise<T> {
    return this.#context.call({ operation: "save", threadId: this.#threadId }, work);
  }
}
