import { untilAborted } from "../internal/time.ts";
import type { ModelPart } from "./model.ts";

/** The parts of a stream until the signal aborts, also when the model does not listen to it. */
export async function* heeding(stream: AsyncIterable<ModelPart>, signal: AbortSignal): AsyncGenerator<ModelPart> {
  const iterator = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await untilAborted(iterator.next(), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a model that hangs must not hold up the run.
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}
