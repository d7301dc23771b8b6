import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import type { Message, UserMessage } from "../../state/message.ts";
import type { RunEvent, RunResult } from "../events.ts";

/** A run's place among the runs of one thread in this process. */
export interface Turn {
  readonly messageId: string | undefined;
  /** What is said to it while it is under way; absent until it has begun. */
  inbox?: Inbox;
  /** How it ends, for those whose words it took along. */
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

/** What users say to a run in progress. It includes their messages in its next model call. */
export class Inbox {
  #waiting: { readonly message: UserMessage; readonly answer: (isTaken: boolean) => void }[] = [];
  #isClosed = false;

  /** Whether the run included the message. If not, it is said in a run of its own. */
  add(message: UserMessage): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    return new Promise((answer) => this.#waiting.push({ message, answer }));
  }

  /** A message that was said before, or twice just now, is left to a run of its own: that one gets the answer to the first. */
  take(said: readonly Message[]): readonly UserMessage[] {
    const waiting = this.#waiting;
    if (waiting.length === 0) return [];
    this.#waiting = [];
    const known = new Set(said.map(({ id }) => id));
    const taken: UserMessage[] = [];
    for (const { message, answer } of waiting) {
      const isNew = message.id === undefined || !known.has(message.id);
      known.add(message.id);
      if (isNew) taken.push(message);
      answer(isNew);
    }
    return taken;
  }

  close(): void {
    this.#isClosed = true;
    for (const { answer } of this.#waiting) answer(false);
    this.#waiting = [];
  }
}
