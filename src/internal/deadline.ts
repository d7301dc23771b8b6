import { lateAfter } from "./late-after.ts";

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
