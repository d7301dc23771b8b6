/** What `work` ends with, or the signal's reason when it aborts first. Not every provider listens to its signal. */
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

/** The items of a stream, until it ends or the signal aborts. However the reader leaves, the stream is let go. */
export async function* streamItems<T>(
  stream: ReadableStream<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await untilAborted(reader.read(), signal);
      if (done) return;
      yield value;
    }
  } finally {
    // Not awaited: a provider that hangs must not hold up the one who has gone.
    reader.cancel().catch(() => undefined);
  }
}
