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

const eventOf = (chunk: UIMessageChunk): string => `data: ${JSON.stringify(chunk)}\n\n`;
const LAST_EVENT = "data: [DONE]\n\n";

/** Server-sent events, as the AI SDK's transports read them. */
export function sseResponse(stream: ReadableStream<UIMessageChunk>, options: UIResponseOptions): Response {
  const encoder = new TextEncoder();
  const body = stream.pipeThrough(
    new TransformStream<UIMessageChunk, Uint8Array>({
      transform: (chunk, controller) => controller.enqueue(encoder.encode(eventOf(chunk))),
      flush: (controller) => controller.enqueue(encoder.encode(LAST_EVENT)),
    }),
  );
  return new Response(body, { status: options.status ?? 200, headers: { ...HEADERS, ...options.headers } });
}

/** The part of `node:http`'s response, and so of Express's, that is used. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  write(text: string): boolean;
  end(text?: string): unknown;
  once(event: "drain" | "close", listener: () => void): unknown;
  off(event: "drain" | "close", listener: () => void): unknown;
  readonly destroyed: boolean;
}

/** The same events for Node's own response: as fast as the client reads, and no longer than it stays. */
export async function pipeEvents(
  stream: ReadableStream<UIMessageChunk>,
  response: NodeResponse,
  options: UIResponseOptions,
): Promise<void> {
  response.writeHead(options.status ?? 200, { ...HEADERS, ...options.headers });
  const reader = stream.getReader();
  const onClose = (): void => void reader.cancel().catch(() => undefined);
  response.once("close", onClose);
  try {
    for (let next = await reader.read(); next.done !== true && !response.destroyed; next = await reader.read()) {
      if (!response.write(eventOf(next.value))) await untilDrained(response);
    }
    if (!response.destroyed) response.end(LAST_EVENT);
  } finally {
    response.off("close", onClose);
  }
}

function untilDrained(response: NodeResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
  });
}

/** What a transport is told that asks for a stream where nothing is under way. */
export const nothingUnderWay = (): Response => new Response(null, { status: 204 });
