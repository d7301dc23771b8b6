import { assertSignalId, newId, newIdFor } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import { AgentState } from "../../state/agent-state.ts";
import { isPlainObject } from "../../state/values/doorway.ts";
import type { CheckpointContext } from "../context.ts";
import { leaseConflict, movedFault } from "../lease/lease-rules.ts";
import { redactedRecord } from "../log/redacting.ts";
import { ERASING, isHeldOff, writtenFacts } from "../people/erasure-mark.ts";
import { assertAgents, isGraphs, signalRecord } from "../record/record.ts";
import { saveState } from "../thread/saving.ts";
import { droppingMark, mayBeThereAlready, type Plan, type Tail, Thread } from "../thread/thread.ts";
import {
  isKnownSignal,
  MOST_WAITING,
  MOST_WAITING_BYTES,
  mailWith,
  straySignals,
  waitingAt,
  waitingRecords,
} from "./mailbox.ts";
import {
  bodyOfSignal,
  factsOfSignal,
  type SentSignal,
  type Signal,
  type StoredSignal,
  signalIn,
  storedSignal,
} from "./signal.ts";

export interface SendOptions {
  /** Names the signal: sent again under the same id, it is the same signal. @default the message's own id, or a new one */
  readonly id?: string;
  /** Makes the thread where it is not there. @default false: `NOT_FOUND` */
  readonly create?: boolean;
}

/** A signal that is durable in its thread. */
export interface Sent {
  readonly id: string;
  /** A signal of this id was there before, or was taken in already: nothing was written. */
  readonly isRepeated: boolean;
}

const IF_MAY_BE = "It may have been sent; sending it again under the same id sends it once";

/** Appends a signal, without a lease, behind whatever is there. */
export async function sendSignal(
  context: CheckpointContext,
  threadId: string,
  signal: Signal,
  { id: given, create = false }: SendOptions,
): Promise<Sent> {
  const id = given ?? ownIdOf(signal) ?? newIdFor(bodyOfSignal(storedSignal(signal, UNNAMED)));
  assertSignalId(id);
  const stored = { ...storedSignal(signal, id), id };
  if (create && !((await new Thread(context, threadId, "send").tail())?.head ?? 0)) await makeThread(context, threadId);
  return sendStored(context, threadId, stored);
}

/** In the place of an id that is still to be drawn. */
const UNNAMED = "-";

/** A message that has an id is a signal of that id: sent again, it is the same one. */
function ownIdOf(signal: Signal): string | undefined {
  const message = isPlainObject(signal) && "message" in signal ? signal.message : undefined;
  return isPlainObject(message) && typeof message["id"] === "string" ? message["id"] : undefined;
}

/** An empty one. Where another process was faster, that is the thread. */
async function makeThread(context: CheckpointContext, threadId: string): Promise<void> {
  try {
    await saveState(context, AgentState.create(), threadId, { expectedHead: null });
  } catch (error) {
    if (!StateError.is(error, "CONFLICT") || mayBeThereAlready(error)) throw error;
  }
}

/** The same with a signal that another store holds already. */
export async function sendStored(
  context: CheckpointContext,
  threadId: string,
  stored: StoredSignal & { readonly id: string },
): Promise<Sent> {
  const { id } = stored;
  const thread = new Thread(context, threadId, "send");
  const body = bodyOfSignal(stored);
  const most = Math.min(MOST_WAITING_BYTES, Math.floor(context.log.capabilities.maxRecordBytes / 8));
  let lost = 0;
  const plan = async (tail: Tail | undefined, isRetry: boolean): Promise<Plan | undefined> => {
    const newest = isRetry ? await tailAfterOthers(thread, id, ++lost) : tail;
    const behind = await mayReceive(context, threadId, newest);
    if (isKnownSignal(behind, id)) return undefined;
    assertRoom(context, threadId, behind, body.byteLength, most);
    const [seq, now] = [behind.seq + 1, context.now()];
    const { base, head } = behind;
    const facts = { ...writtenFacts(behind.thread), mail: mailWith(behind, seq, body.byteLength, id, now) };
    const parts = { seq, writeId: newId(), base, head, body };
    const made = signalRecord(parts, now, factsOfSignal(stored, id), facts);
    const { log, redactor } = context;
    const record = redactor === undefined ? made : { ...redactedRecord(made, log, redactor), words: undefined };
    const stray = straySignals(behind);
    const drop = droppingMark(behind, stray.length > 0 ? stray : undefined);
    return { behind, append: { record, ...(drop && { drop }) } };
  };
  const attempts = {
    request: undefined,
    sent: [],
    isInDoubt: false,
    isUnseen: false,
    isFailed: false,
    ifMayBe: IF_MAY_BE,
  };
  const sent = await thread.append(await tailAfterOthers(thread, id, 0), plan, attempts);
  return { id, isRepeated: sent === undefined };
}

/**
 * A sender waits for at most the time of this many requests, and never longer than the limit: a stalled storage must
 * not set the pace.
 */
const MOST_WAITS = 16;
const LONGEST_WAIT_MS = 2_000;
/** So few signals are no crowd. */
const NO_CROWD = 2;

/**
 * The tail to send behind. Each signal makes a save of the thread's holder start over, so a sender gives way: where
 * signals wait already, and after each race that it lost, it waits before it looks, at random and in proportion to what
 * a request takes here. The holder does not wait, so that it succeeds within a few attempts, however slow the storage
 * is.
 */
async function tailAfterOthers(thread: Thread, id: string, lost: number): Promise<Tail | undefined> {
  const began = performance.now();
  const tail = await thread.tail();
  const waiting = waitingAt(tail).length;
  if (tail === undefined || (lost === 0 && waiting < NO_CROWD) || isKnownSignal(tail, id)) return tail;
  const requests = Math.min(waiting + 2 ** lost, MOST_WAITS);
  const most = Math.min((performance.now() - began) * requests, LONGEST_WAIT_MS);
  await sleep(most * Math.random(), thread.context.closing);
  return thread.tail();
}

/** The tail of a thread that takes signals; refuses the others. */
async function mayReceive(context: CheckpointContext, threadId: string, tail: Tail | undefined): Promise<Tail> {
  if (tail === undefined || (tail.head === 0 && !isGraphs(tail.thread))) {
    const what = `${context.log.name}: there is no thread ${JSON.stringify(threadId)} to send to: it was deleted, or nothing was saved in it yet`;
    throw new StateError("NOT_FOUND", what, { threadId, written: "no" });
  }
  assertAgents(tail.thread);
  const moved = movedFault(tail.thread);
  if (moved !== undefined) throw leaseConflict(context, threadId, moved);
  if (await isHeldOff(context, tail.thread?.erasing)) throw leaseConflict(context, threadId, ERASING);
  return tail;
}

function assertRoom(context: CheckpointContext, threadId: string, tail: Tail, bytes: number, most: number): void {
  const waiting = waitingAt(tail);
  const total = waiting.reduce((sum, [, size]) => sum + size, bytes);
  if (waiting.length < MOST_WAITING && total <= most) return;
  const bounds = `${MOST_WAITING} signals and ${most} bytes`;
  const found = `${waiting.length} wait in it, and with this one they would be ${total} bytes`;
  throw new StateError(
    "TOO_LARGE",
    `${context.log.name}: thread ${JSON.stringify(threadId)} takes no more signals until a run has taken some in: ${found}; at most ${bounds} may wait. Nothing was written`,
    { backend: context.log.name, operation: "send", threadId, written: "no" },
  );
}

/** What waits in a thread, oldest first. */
export async function signalsWaiting(context: CheckpointContext, threadId: string): Promise<readonly SentSignal[]> {
  const thread = new Thread(context, threadId, "signals");
  return thread.guard(async () => (await waitingRecords(thread, await thread.tail())).map(signalIn));
}
