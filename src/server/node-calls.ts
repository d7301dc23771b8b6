import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { BytesOfRequest } from "./pending-bytes.ts";
import type { SentAnswer } from "./request/answers.ts";
import type { Principal } from "./request/authentication.ts";
import { tooLarge } from "./request/bodies.ts";
import { partsOf, type ReadHeaders, type ServiceCall } from "./request/calls.ts";

export const headersOf = ({ headers }: Pick<IncomingMessage, "headers">): ReadHeaders => ({
  get: (name) => headers[name.toLowerCase()]?.toString() ?? null,
});

/** A request to Node's own server. Web-standard objects around it would cost more than the rest of the service. */
export function callOf(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  held: BytesOfRequest,
  onAdmitted: (principal: Principal) => void,
): ServiceCall {
  return {
    method: incoming.method ?? "",
    ...partsOf(incoming.url ?? ""),
    headers: headersOf(incoming),
    collectBody: (limit) => collectFrom(incoming, limit, held),
    gone: () => closed(outgoing),
    onAdmitted: (principal) => {
      held.belongsTo(principal.owner);
      onAdmitted(principal);
    },
    hold: (bytes) => held.take(bytes),
  };
}

function closed(outgoing: ServerResponse): AbortSignal {
  const gone = new AbortController();
  if (outgoing.closed || outgoing.destroyed) gone.abort();
  else outgoing.once("close", () => gone.abort());
  return gone.signal;
}

function collectFrom(incoming: IncomingMessage, limit: number, held: BytesOfRequest): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.byteLength;
      try {
        if (size > limit) throw tooLarge(limit);
        held.take(chunk.byteLength);
        chunks.push(chunk);
      } catch (refusal) {
        chunks.length = 0;
        // What is left stays unread: the answer ends the connection.
        incoming.pause().removeAllListeners("data");
        reject(refusal);
      }
    });
    incoming.on("end", () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size)));
    incoming.on("error", reject);
    incoming.on("close", () => reject(new Error("the client went away before its request was whole")));
  });
}

export interface Sending {
  readonly method: string;
  readonly socket: Socket;
  /** For the client to take one piece. */
  readonly writeMs: number;
}

/** An answer goes out in pieces of this size, each within the time for one: so a client that does not read is noticed. */
const PIECE = 64 * 1024;

/** Writes an answer; resolves when all of it was taken, or the client is gone. */
export async function sendTo(
  outgoing: ServerResponse,
  { status, headers, body }: SentAnswer,
  sending: Sending,
): Promise<void> {
  outgoing.writeHead(status, headers);
  if (body instanceof ReadableStream && sending.method !== "HEAD") return sendStream(outgoing, body, sending);
  const bytes = body instanceof Uint8Array && sending.method !== "HEAD" ? body : new Uint8Array();
  let at = 0;
  for (; at + PIECE < bytes.byteLength && !outgoing.destroyed; at += PIECE) {
    const piece = bytes.subarray(at, at + PIECE);
    await taken(outgoing, sending, (done) => outgoing.write(piece, done));
  }
  if (!outgoing.destroyed)
    await taken(outgoing, sending, (done) =>
      at === bytes.byteLength ? outgoing.end(done) : outgoing.end(bytes.subarray(at), done),
    );
}

async function sendStream(outgoing: ServerResponse, body: ReadableStream<Uint8Array>, sending: Sending): Promise<void> {
  const reader = body.getReader();
  const onClose = (): void => void reader.cancel().catch(() => undefined);
  if (outgoing.closed || outgoing.destroyed) onClose();
  outgoing.once("close", onClose);
  outgoing.flushHeaders();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const { value } = part;
    await taken(outgoing, sending, (done) => outgoing.write(value, done));
  }
  outgoing.end();
}

/** Writes one piece and waits until it was taken. A client that takes too long over it loses its connection. */
function taken(
  outgoing: ServerResponse,
  { socket, writeMs }: Sending,
  write: (done: () => void) => void,
): Promise<void> {
  return new Promise((resolve) => {
    let isInTurn = outgoing.socket !== null;
    const onTimeout = (): void => {
      // Behind other answers on its connection it has to wait for those, and its own time begins when they are out.
      const mayWait = !isInTurn && !socket.destroyed;
      isInTurn = outgoing.socket !== null;
      if (mayWait) timer = setTimeout(onTimeout, writeMs);
      else {
        socket.destroy();
        done();
      }
    };
    let timer = setTimeout(onTimeout, writeMs);
    const done = (): void => {
      clearTimeout(timer);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.once("close", done);
    write(done);
  });
}
