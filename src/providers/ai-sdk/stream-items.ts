import { untilAborted } from "../../internal/time.ts";

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
