import type { UIMessageChunk, UIStreamOptions } from "./ui-stream.ts";

export interface UIResponseOptions extends UIStreamOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  "x-vercel-ai-ui-message-stream": "v1",
  // A proxy that collects what it passes on would show nothing until the end.
  "x-accel-buffering": "no",
} as const;

/** Reads only as fast as the consumer. A consumer that stops reading stops listening, and nothing else. */
export function streamOf<T>(chunks: AsyncGenerator<T, void, undefined>): ReadableStream<T> {
  return new ReadableStream<T>({
    async pull(controller) {
      const next = await chunks.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    cancel() {
      // Not awaited: the generator may wait for an event that comes much later.
      void chunks.return().catch(() => undefined);
    },
  });
}

/** Server-sent events, as the AI SDK's transports read them. */
export function sseResponse(stream: ReadableStream<UIMessageChunk>, options: UIResponseOptions): Response {
  const encoder = new TextEncoder();
  const body = stream.pipeThrough(
    new TransformStream<UIMessageChunk, Uint8Array>({
      transform: (chunk, controller) => controller.enqueue(encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`)),
      flush: (controller) => controller.enqueue(encoder.encode("data: [DONE]\n\n")),
    }),
  );
  return new Response(body, { status: options.status ?? 200, headers: { ...HEADERS, ...options.headers } });
}

/** What a transport is told that asks for a stream where nothing is under way. */
export const nothingUnderWay = (): Response => new Response(null, { status: 204 });
