import type { IncomingMessage, ServerResponse } from "node:http";
import type { SentAnswer } from "./answers.ts";
import type { Principal } from "./authentication.ts";
import { tooLarge } from "./bodies.ts";
import { partsOf, type ReadHeaders, type ServiceCall } from "./calls.ts";

export const headersOf = ({ headers }: Pick<IncomingMessage, "headers">): ReadHeaders => ({
  get: (name) => headers[name.toLowerCase()]?.toString() ?? null,
});

/** A request to Node's own server. Web-standard objects around it would cost more than the rest of the service. */
export function callOf(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  onAdmitted: (principal: Principal) => void,
): ServiceCall {
  return {
    method: incoming.method ?? "",
    ...partsOf(incoming.url ?? ""),
    headers: headersOf(incoming),
    collectBody: (limit) => collectFrom(incoming, limit),
    gone: () => closed(outgoing),
    onAdmitted,
  };
}

function closed(outgoing: ServerResponse): AbortSignal {
  const gone = new AbortController();
  if (outgoing.closed || outgoing.destroyed) gone.abort();
  else outgoing.once("close", () => gone.abort());
  return gone.signal;
}

function collectFrom(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.byteLength;
      if (size <= limit) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      // What is left stays unread: the answer ends the connection.
      incoming.pause().removeAllListeners("data");
      reject(tooLarge(limit));
    });
    incoming.on("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size)));
    incoming.on("error", reject);
    incoming.on("close", () => reject(new Error("the client went away before its request was whole")));
  });
}

/** Writes an answer; resolves when all of it was handed over, or the client is gone. */
export async function sendTo(
  outgoing: ServerResponse,
  { status, headers, body }: SentAnswer,
  method: string,
): Promise<void> {
  outgoing.writeHead(status, headers);
  if (body === undefined || method === "HEAD") outgoing.end();
  else if (body instanceof ReadableStream) await sendStream(outgoing, body);
  else outgoing.end(body);
}

async function sendStream(outgoing: ServerResponse, body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const onClose = (): void => void reader.cancel().catch(() => undefined);
  if (outgoing.closed || outgoing.destroyed) onClose();
  outgoing.once("close", onClose);
  outgoing.flushHeaders();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (!outgoing.write(part.value)) await drained(outgoing);
  }
  outgoing.end();
}

const drained = (outgoing: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const onEither = (): void => {
      outgoing.off("drain", onEither).off("close", onEither);
      resolve();
    };
    outgoing.once("drain", onEither).once("close", onEither);
  });
