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
