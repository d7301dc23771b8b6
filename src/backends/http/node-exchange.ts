import { Agent, type IncomingMessage, request as sendPlain } from "node:http";
import { Socket } from "node:net";
import { pipeline, type Readable } from "node:stream";
import { urlToHttpOptions } from "node:url";
import { createGunzip } from "node:zlib";
import { MalformedMessage } from "../../wire/fields.ts";
import type { AnswerHead, Exchange, OutgoingRequest, WholeAnswer } from "./exchange.ts";

/** How long an idle connection is kept where the other side does not say how long it keeps it. */
const IDLE_MS = 4_000;
/** It is given up so much earlier than the other side does, so that no request meets its end. */
const EARLIER_MS = 1_000;
const LONGEST_IDLE_MS = 600_000;

/** How long each connection may stay idle, as its last answer said. */
const idleMsOf = new WeakMap<object, number>();

/** Connections are kept for the next request, as long as the other side keeps them. Idle ones let the process end. */
function keeping<Kept extends Agent>(agent: Kept): Kept {
  const [keep, reuse] = [agent.keepSocketAlive.bind(agent), agent.reuseSocket.bind(agent)];
  agent.keepSocketAlive = (socket) => {
    const isKept = keep(socket);
    if (socket instanceof Socket) socket.setTimeout(idleMsOf.get(socket) ?? IDLE_MS);
    return isKept;
  };
  agent.reuseSocket = (socket, request) => {
    // While a request is under way, its own deadline holds.
    if (socket instanceof Socket) socket.setTimeout(0);
    reuse(socket, request);
  };
  return agent;
}

interface Sender {
  readonly send: typeof sendPlain;
  readonly agent: Agent;
}

const plain: Sender = { send: sendPlain, agent: keeping(new Agent({ keepAlive: true })) };
let secure: Sender | undefined;

async function openSecure(): Promise<Sender> {
  const { Agent: SecureAgent, request: send } = await import("node:https");
  secure ??= { send, agent: keeping(new SecureAgent({ keepAlive: true })) };
  return secure;
}

/** By Node's own client: it takes about a third of the time of its `fetch`. */
export const overNode: Exchange = async (request, limitOf, signal) => {
  const sender = request.base.protocol === "http:" ? plain : (secure ?? (await openSecure()));
  return exchanged(sender, request, limitOf, signal);
};

function exchanged(
  { send, agent }: Sender,
  { base, path, method, headers, body }: OutgoingRequest,
  limitOf: (head: AnswerHead) => number,
  signal: AbortSignal,
): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const { hostname, port } = urlToHttpOptions(base);
    const length = body === undefined ? undefined : String(Buffer.byteLength(body));
    const request = send({
      ...{ host: hostname, port, path, method, agent },
      headers: { "accept-encoding": "gzip", ...headers, ...(length !== undefined && { "content-length": length }) },
    });
    const onAbort = (): void => {
      request.destroy();
      fail(signal.reason);
    };
    const fail = (error: unknown): void => {
      signal.removeEventListener("abort", onAbort);
      reject(error);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    request.on("error", fail);
    // An answer that switches to another protocol would otherwise end the request without an event.
    request.on("upgrade", (_head, socket) => {
      socket.destroy();
      fail(new MalformedMessage("the answer switches to a protocol that was not asked for"));
    });
    request.on("response", (incoming) => {
      const head = headOf(incoming);
      noteIdleTime(incoming);
      readUpTo(
        limitOf(head),
        incoming,
        (bytes) => {
          signal.removeEventListener("abort", onAbort);
          resolve({ ...head, bytes });
        },
        fail,
      );
    });
    request.end(body);
  });
}

const headOf = ({ statusCode: status = 0, headers }: IncomingMessage): AnswerHead => ({
  status,
  header: (name) => headers[name]?.toString() ?? null,
});

function noteIdleTime({ headers, socket }: IncomingMessage): void {
  const [, seconds] = /\btimeout=(\d{1,6})/.exec(headers["keep-alive"]?.toString() ?? "") ?? [];
  if (seconds === undefined) idleMsOf.delete(socket);
  else idleMsOf.set(socket, Math.min(Math.max(1, Number(seconds) * 1000 - EARLIER_MS), LONGEST_IDLE_MS));
}

function readUpTo(
  limit: number,
  incoming: IncomingMessage,
  done: (bytes: Buffer | undefined) => void,
  fail: (error: unknown) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const body = unpacked(incoming, fail);
  const whole = body === incoming ? spaceFor(incoming, limit) : undefined;
  body.on("data", (chunk: Buffer) => {
    const at = size;
    size += chunk.byteLength;
    if (size > limit) {
      done(undefined);
      incoming.destroy();
    } else if (whole === undefined) chunks.push(chunk);
    else whole.set(chunk, at);
  });
  // An answer without a body may still tell a length.
  body.on("end", () =>
    done(whole?.subarray(0, size) ?? (chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, size))),
  );
  body.on("error", fail);
}

/** Up to this size an answer is put together while it arrives; what claims to be longer is believed when it is there. */
const MOST_AT_ONCE = 16 * 1024 * 1024;

/** Room for an answer of a known length; Node ensures that no more arrives, and fails if less does. */
function spaceFor({ headers }: IncomingMessage, limit: number): Buffer | undefined {
  const length = Number(headers["content-length"] ?? Number.NaN);
  return length <= Math.min(limit, MOST_AT_ONCE) ? Buffer.allocUnsafeSlow(length) : undefined;
}

/** The body without its Content-Encoding. */
function unpacked(incoming: IncomingMessage, fail: (error: unknown) => void): Readable {
  const encoding = incoming.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity") return incoming;
  if (encoding === "gzip") return pipeline(incoming, createGunzip(), (error) => error && fail(error));
  fail(new MalformedMessage("the answer has a Content-Encoding that was not asked for"));
  return incoming.destroy();
}
