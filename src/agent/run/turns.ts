import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import type { RunEvent, RunResult } from "../events.ts";

/** A run's place among the runs of one thread in this process. */
export interface Turn {
  readonly messageId: string | undefined;
  /** Tells it that something was sent to its thread; absent until it has begun. */
  look?: () => Promise<void>;
  /** Words that it took in, by their ids. */
  readonly heard: Set<string>;
  /** How it ends, for the callers whose words it took in. */
  result?: Promise<RunResult>;
  readonly listeners: Set<(event: RunEvent) => void>;
  readonly ended: Promise<void>;
  end(): void;
}

interface TurnTerms {
  readonly rejects: boolean;
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
  readonly messageId: string | undefined;
  readonly onWait: () => void;
}

const lines = new WeakMap<object, Map<string, Turn[]>>();

/** The run of this process that is under way on the thread. */
export const currentTurn = (checkpointer: object, threadId: string): Turn | undefined =>
  lines.get(checkpointer)?.get(threadId)?.[0];

/** Whether a run of this process waits behind the one that is under way. */
export const hasFollower = (checkpointer: object, threadId: string): boolean =>
  (lines.get(checkpointer)?.get(threadId)?.length ?? 0) > 1;

/**
 * Waits until no earlier run is in progress on the thread, in this process and with
 * this checkpointer. The limit applies to each run that is ahead: they are served in
 * order, so that no run waits for ever.
 */
export async function takeTurn(checkpointer: object, threadId: string, terms: TurnTerms): Promise<Turn> {
  const line = lineOf(checkpointer, threadId);
  const { messageId, rejects, signal, waitMs } = terms;
  const isRepeated = messageId !== undefined && line.some((other) => other.messageId === messageId);
  if (line.length > 0 && rejects && !isRepeated) throw busyHere(threadId, "");
  const turn = newTurn(checkpointer, threadId, messageId);
  if (line.length > 0) terms.onWait();
  line.push(turn);
  try {
    for (let first = line[0]; first !== undefined && first !== turn; first = line[0]) {
      await within(waitMs, first.ended, signal, () => busyHere(threadId, ` and did not end within ${waitMs} ms`));
    }
  } catch (error) {
    turn.end();
    throw error;
  }
  return turn;
}

function lineOf(checkpointer: object, threadId: string): Turn[] {
  const threads = lines.get(checkpointer) ?? new Map<string, Turn[]>();
  lines.set(checkpointer, threads);
  const line = threads.get(threadId) ?? [];
  threads.set(threadId, line);
  return line;
}

function newTurn(checkpointer: object, threadId: string, messageId: string | undefined): Turn {
  let resolve: () => void = () => undefined;
  const ended = new Promise<void>((done) => {
    resolve = done;
  });
  const turn: Turn = {
    messageId,
    heard: new Set(),
    listeners: new Set(),
    ended,
    end: () => {
      const line = lines.get(checkpointer)?.get(threadId) ?? [];
      const place = line.indexOf(turn);
      if (place >= 0) line.splice(place, 1);
      if (line.length === 0) lines.get(checkpointer)?.delete(threadId);
      resolve();
    },
  };
  return turn;
}

/** Waits for `work`, no longer than `ms` and until the signal aborts. */
export async function within(
  ms: number,
  work: Promise<void>,
  signal: AbortSignal | undefined,
  tooLong: () => Error,
): Promise<void> {
  const over = new AbortController();
  const stop = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
  const timeUp = sleep(Math.min(ms, LONGEST_TIMER_MS), stop).then(() => {
    throw tooLong();
  });
  try {
    await Promise.race([work, timeUp]);
  } finally {
    over.abort();
    timeUp.catch(() => undefined);
  }
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

const busyHere = (threadId: string, how: string): StateError =>
  new StateError(
    "CONFLICT",
    `another run of this process is under way on thread ${JSON.stringify(threadId)}${how}; nothing was written`,
    { threadId, written: "no" },
  );
