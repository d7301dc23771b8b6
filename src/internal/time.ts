/** Resolves after `ms`, or rejects with the signal's reason when it aborts first. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/**
 * How many turns of the event loop read what has arrived. An answer needs more than one where a client reads it in
 * parts, or decrypts it.
 */
const TURNS = 3;

/** A timer that is set for longer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Calls `onLate` after `ms`, unless the returned function is called first. A
 * process that was held up past that time finds its timer due and the answer in
 * its socket at once, and timers fire first. What has arrived is therefore read
 * before anything is given up.
 */
export function lateAfter(ms: number, onLate: () => void): () => void {
  let turn: NodeJS.Immediate | undefined;
  const read = (turns: number): void => {
    turn = setImmediate(turns === 0 ? onLate : () => read(turns - 1));
  };
  const timer = setTimeout(() => read(TURNS - 1), Math.min(ms, LONGEST_TIMER_MS));
  return () => {
    clearTimeout(timer);
    clearImmediate(turn);
  };
}

/**
 * Runs `work` with a signal that aborts after `ms` with a TimeoutError, or when
 * `outer` aborts. Unlike `AbortSignal.timeout`, its timer is cleared when the
 * work is done: a busy program would otherwise keep thousands of timers.
 */
export async function withDeadline<T>(
  ms: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const onOuter = (): void => controller.abort(outer?.reason);
  const stop = lateAfter(ms, () => controller.abort(new DOMException(`not done within ${ms} ms`, "TimeoutError")));
  if (outer?.aborted) onOuter();
  outer?.addEventListener("abort", onOuter, { once: true });
  try {
    return await work(controller.signal);
  } finally {
    stop();
    outer?.removeEventListener("abort", onOuter);
  }
}

/** The result of `work`, or a TimeoutError after `ms`. `withDeadline` is for work that listens to a signal. */
export function inTime<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onLate = (): void => reject(new DOMException(`not done within ${ms} ms`, "TimeoutError"));
    const stop = lateAfter(ms, onLate);
    work.then(
      (value) => {
        stop();
        resolve(value);
      },
      (error: unknown) => {
        stop();
        reject(error);
      },
    );
  });
}

/**
 * The result of `work`, or the signal's reason if it aborts first. Not everything
 * that takes a signal listens to it.
 */
export function untilAborted<T>(work: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal?.reason);
    const settle = <V>(settled: (value: V) => void, value: V): void => {
      signal?.removeEventListener("abort", onAbort);
      settled(value);
    };
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    work.then(
      (value) => settle(resolve, value),
      (error: unknown) => settle(reject, error),
    );
  });
}

/** Taken now: the fake timers of a test replace the globals. `node:perf_hooks` would be loaded for it alone. */
const { performance, setImmediate: atEndOfTurn } = globalThis;

/** How long calls that never really wait (SQLite, memory) may hold up timers and sockets. */
const LONGEST_MS = 10;

let turnBegan: number | undefined;
let nextTurn: Promise<void> | undefined;

/**
 * Resolves after a turn of the event loop if the present turn has lasted too long,
 * otherwise at once. A storage that answers synchronously turns a loop of awaits into
 * one long turn in which no timer fires; awaiting this before each call prevents that.
 * All callers that wait for the same turn continue together, so that writes of one
 * moment still meet and share a transaction.
 */
export function endOfLongTurn(): Promise<void> | undefined {
  const now = performance.now();
  if (turnBegan === undefined) {
    turnBegan = now;
    atEndOfTurn(() => {
      turnBegan = undefined;
    });
    return undefined;
  }
  if (now - turnBegan <= LONGEST_MS) return undefined;
  nextTurn ??= new Promise((resolve) => {
    atEndOfTurn(() => {
      nextTurn = undefined;
      resolve();
    });
  });
  return nextTurn;
}
