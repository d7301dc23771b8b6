import type { RunEvent, RunResult } from "./events.ts";
import { type NodeResponse, pipeEvents, sseResponse, streamOf, type UIResponseOptions } from "./page/ui-response.ts";
import type { UIMessageChunk, UIStreamOptions } from "./page/ui-stream.ts";
import type { NamedTool } from "./tool-call/tool.ts";

/**
 * One run: an async iterable of its events and a promise of its result, at once. It
 * continues with or without a listener; leaving the iteration early only stops
 * listening. Events that came before the iteration began are not lost.
 */
export class Run<Output = unknown, Tools extends NamedTool = NamedTool>
  implements AsyncIterable<RunEvent<Tools>>, Promise<RunResult<Output>>
{
  readonly [Symbol.toStringTag] = "Run";
  readonly #events: RunEvent[] = [];
  readonly #result: Promise<RunResult<Output>>;
  #ended = false;
  #wake: () => void = () => undefined;
  #changed: Promise<void> = this.#nextChange();

  constructor(start: (emit: (event: RunEvent) => void) => Promise<RunResult<Output>>) {
    this.#result = start((event) => {
      this.#events.push(event);
      this.#wake();
    }).finally(() => {
      this.#ended = true;
      this.#wake();
    });
  }

  // biome-ignore lint/suspicious/noThenProperty: being awaitable is the point
  then<Fulfilled = RunResult<Output>, Rejected = never>(
    onFulfilled?: ((result: RunResult<Output>) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.#result.then(onFulfilled, onRejected);
  }

  catch<Rejected = never>(
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<RunResult<Output> | Rejected> {
    return this.#result.catch(onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<RunResult<Output>> {
    return this.#result.finally(onFinally);
  }

  /** Ends when the run does; throws what the run throws. */
  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent<Tools>, void, undefined> {
    // A failure is thrown to the iterating caller, so it must not count as unhandled too.
    this.#result.catch(() => undefined);
    for (let next = 0; ; ) {
      const changed = this.#changed;
      while (next < this.#events.length) {
        const event = this.#events[next++];
        // Calls are begun, and succeed, only by the agent's own tools.
        if (event !== undefined) yield event as RunEvent<Tools>;
      }
      if (this.#ended && next === this.#events.length) break;
      await changed;
    }
    await this.#result;
  }

  /**
   * The events in the AI SDK's UI message protocol. The run continues when the reader stops.
   */
  toUIMessageStream(options: UIStreamOptions = {}): ReadableStream<UIMessageChunk> {
    // The page reports a failure; until it reads the result, the rejection must not
    // count as unhandled.
    this.#result.catch(() => undefined);
    return streamOf(this.#uiChunks(options));
  }

  async *#uiChunks(options: UIStreamOptions): AsyncGenerator<UIMessageChunk, void, undefined> {
    const { uiChunks } = await import("./page/ui-stream.ts");
    yield* uiChunks(this, options);
  }

  /** The same as an answer to an HTTP request, as `useChat` reads it. */
  toResponse(options: UIResponseOptions = {}): Response {
    return sseResponse(this.toUIMessageStream(options), options);
  }

  /** The same for `node:http` and Express: resolves when all is written, or when the client has left. The run goes on then. */
  pipe(response: NodeResponse, options: UIResponseOptions = {}): Promise<void> {
    return pipeEvents(this.toUIMessageStream(options), response, options);
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#changed = this.#nextChange();
        resolve();
      };
    });
  }
}
