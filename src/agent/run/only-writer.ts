import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { contextOf } from "../../checkpoint/context.ts";
import type { Lease } from "../../checkpoint/lease/lease.ts";
import { type CurrentHolder, holderAt, holderNow, RidingLease } from "../../checkpoint/lease/riding-lease.ts";
import { loadState } from "../../checkpoint/thread/loaded-state.ts";
import { positionOf } from "../../checkpoint/thread/position.ts";
import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { UserMessage } from "../../state/message.ts";
import type { RunEvent, RunResult } from "../events.ts";
import { currentTurn, type Turn, takeTurn, within } from "./turns.ts";
import { settleThread } from "./unsettled.ts";

/** What a run does whose thread another run has. */
export type WhenBusy = "wait" | "reject" | "enqueue";

/** How long after its last sign of life a run counts as dead, if its process cannot be checked. */
export const LEASE_MS = 15_000;
/** Longer than a lease: a run that waits for a dead process gets its turn. */
export const WAIT_MS = 60_000;

interface WriterTerms {
  readonly whenBusy: WhenBusy;
  readonly waitMs: number;
  readonly ttlMs: number;
  readonly owner: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly messageId: string | undefined;
  readonly emit: (event: RunEvent) => void;
  /** Called where the storage has no leases. */
  readonly warn: () => void;
}

/** A thread as a run finds it, when it is its turn. */
export interface Place {
  readonly checkpointer: BaseCheckpointer;
  readonly threadId: string;
  readonly stored: AgentState | undefined;
  /** Taken, renewed and given back with the run's own saves. */
  readonly riding?: RidingLease;
  /** Held around the run, by a checkpointer that has leases of its own making. */
  readonly lease?: Lease;
  readonly turn?: Turn;
  /** Others want the thread, too: this run asks no model before it has it. */
  readonly isContended?: boolean;
}

/** How often to repeat an attempt that was refused although the thread has not changed. */
const MOST_REFUSALS = 3;

/** The first save of a run was refused because another run was faster: nothing of it was shown, and it begins again. */
export class Overtaken extends Error {
  readonly failure: StateError;

  constructor(failure: StateError) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Runs `work` as the thread's only writer, as soon as there is no other. */
export async function asOnlyWriter<T>(
  checkpointer: BaseCheckpointer,
  threadId: string,
  terms: WriterTerms,
  work: (place: Place) => Promise<T>,
): Promise<T> {
  const onWait = (): void => terms.emit({ type: "waiting", holder: "another run of this process", until: undefined });
  const turn = await takeTurn(checkpointer, threadId, { ...terms, rejects: terms.whenBusy === "reject", onWait });
  try {
    // In its turn, and not before: the run ahead may have ended with something that it could not save.
    await settleThread(checkpointer, threadId);
    if (contextOf(checkpointer) === undefined) return await besideOwnLeases(checkpointer, threadId, terms, work, turn);
    return await ridingOnSaves(checkpointer, threadId, terms, work, turn);
  } finally {
    turn.end();
  }
}

async function besideOwnLeases<T>(
  checkpointer: BaseCheckpointer,
  threadId: string,
  terms: WriterTerms,
  work: (place: Place) => Promise<T>,
  turn: Turn,
): Promise<T> {
  const begin = async (lease?: Lease): Promise<T> => {
    const stored = await loadState(checkpointer, threadId);
    return work({ checkpointer, threadId, stored, turn, ...(lease !== undefined && { lease }) });
  };
  if (!checkpointer.capabilities.lease) {
    terms.warn();
    return begin();
  }
  const { owner, signal, ttlMs, whenBusy } = terms;
  return checkpointer.withLease(threadId, begin, {
    ttlMs,
    waitMs: whenBusy === "reject" ? 0 : terms.waitMs,
    ...(owner !== undefined && { owner }),
    ...(signal !== undefined && { signal }),
  });
}

async function ridingOnSaves<T>(
  checkpointer: BaseCheckpointer,
  threadId: string,
  terms: WriterTerms,
  work: (place: Place) => Promise<T>,
  turn: Turn,
): Promise<T> {
  const context = contextOf(checkpointer);
  if (context === undefined) throw new TypeError("a checkpointer without a log has no leases that ride on saves");
  const deadline = performance.now() + terms.waitMs;
  const overtaken: (string | undefined)[] = [];
  let hasWaited = false;
  for (;;) {
    const [stored] = await Promise.all([loadState(checkpointer, threadId), context.clock.ready()]);
    if (!checkpointer.capabilities.lease) {
      terms.warn();
      return work({ checkpointer, threadId, stored, turn });
    }
    const holder = await holderAt(context, stored, threadId);
    if (holder !== undefined) {
      if (terms.whenBusy === "reject" && !knows(stored, terms.messageId)) throw holder.conflict;
      hasWaited = true;
      await whileHeld(holder, () => holderNow(context, threadId), { ...terms, deadline });
      continue;
    }
    const riding = new RidingLease(context, threadId, terms);
    try {
      return await work({
        checkpointer,
        threadId,
        stored,
        riding,
        turn,
        isContended: hasWaited || overtaken.length > 0,
      });
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
      const head = stored && positionOf(context, stored, threadId)?.checkpointId;
      const refusals = overtaken.filter((other) => other === head).length;
      if (performance.now() >= deadline || refusals >= MOST_REFUSALS) throw error.failure;
      overtaken.push(head);
      await sleep(Math.random() * 20, terms.signal);
    } finally {
      riding.end();
    }
  }
}

/** A caller who repeats a message that is being answered is not refused: it gets that answer. */
const knows = (state: AgentState | undefined, messageId: string | undefined): boolean =>
  messageId !== undefined && (state?.messages ?? []).some(({ id }) => id === messageId);

const FIRST_LOOK_MS = 20;
const LONGEST_LOOK_MS = 250;

/** Waits until that holder no longer has the thread: it released it, its lease expired, or its process is dead. */
async function whileHeld(
  holder: CurrentHolder,
  look: () => Promise<CurrentHolder | undefined>,
  { emit, signal, deadline }: WriterTerms & { readonly deadline: number },
): Promise<void> {
  emit({ type: "waiting", holder: holder.owner, until: holder.until });
  let current: CurrentHolder | undefined = holder;
  for (let pause = FIRST_LOOK_MS; current?.leaseId === holder.leaseId; pause = Math.min(2 * pause, LONGEST_LOOK_MS)) {
    const { conflict, leftMs, ended } = current;
    if (performance.now() >= deadline) throw conflict;
    const atMost = Math.min(pause, leftMs + 1);
    if (ended === undefined) await sleep(atMost, signal);
    else await within(atMost, ended, signal, () => LOOK_AGAIN).catch(unlessLookingAgain);
    current = await look();
  }
}

const LOOK_AGAIN = new Error("look again");

function unlessLookingAgain(error: unknown): void {
  if (error !== LOOK_AGAIN) throw error;
}

/**
 * Sends words to the run that is under way on the thread, in whatever process. A run of this process shows its events
 * meanwhile, and its result is theirs where it took them in. Nothing is sent where no run is under way, or where the
 * thread takes nothing.
 */
export async function joinRun(
  checkpointer: BaseCheckpointer,
  threadId: string,
  message: UserMessage,
  emit: (event: RunEvent) => void,
): Promise<{ readonly isSent: false } | { readonly isSent: true; readonly id: string; readonly result?: RunResult }> {
  const context = contextOf(checkpointer);
  const turn = currentTurn(checkpointer, threadId);
  if (context === undefined || !checkpointer.capabilities.conditionalSave) return { isSent: false };
  if (turn === undefined && (await holderNow(context, threadId)) === undefined) return { isSent: false };
  turn?.listeners.add(emit);
  let { id } = message;
  try {
    ({ id } = await checkpointer.send(threadId, { message }));
    await turn?.look?.();
    const result = await (turn?.result ?? turn?.ended);
    if (result !== undefined && turn?.heard.has(id) === true) return { isSent: true, id, result };
  } catch (error) {
    // The thread is not there yet: its first run has not saved. Or the run begins again, and may not take them in.
    const isHeard = id !== undefined && turn?.heard.has(id) === true;
    const isMissing = StateError.is(error, "NOT_FOUND") && !isHeard;
    if (!isMissing && !(error instanceof Overtaken)) throw error;
    if (isMissing || id === undefined) return { isSent: false };
  } finally {
    turn?.listeners.delete(emit);
  }
  return { isSent: true, id };
}

/** Shows a run's events also to the callers whose words it takes along. */
export const heardBy =
  (turn: Turn | undefined, emit: (event: RunEvent) => void) =>
  (event: RunEvent): void => {
    emit(event);
    for (const listener of turn?.listeners ?? []) listener(event);
  };
