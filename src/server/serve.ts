import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import { StateError } from "../errors.ts";
import { Service } from "./app.ts";
import { Connections } from "./connections.ts";
import { callOf, headersOf, sendTo } from "./node-calls.ts";
import { PendingBytes } from "./pending-bytes.ts";
import { assertPlainTarget, assertWelcome } from "./request/admission.ts";
import { failureAnswer, type SentAnswer, sendable } from "./request/answers.ts";
import { corsHeaders } from "./request/cors.ts";
import { assertKnown, invalid } from "./request/option-rules.ts";
import {
  LOOPBACK_HOSTS,
  owners,
  type ServiceOptions,
  type ServiceSettings,
  settingsOf,
  shareOf,
} from "./request/options.ts";
import { Refusal } from "./request/refusal.ts";

export interface ServeOptions extends ServiceOptions {
  /** The address to listen on. Any other than loopback needs `auth`, and TLS in front. @default "127.0.0.1" */
  readonly host?: string;
  /** 0 for any that is free. @default 8420 */
  readonly port?: number;
  readonly timeouts?: {
    /** For the headers of a request to arrive. @default 10000 */
    readonly headersMs?: number;
    /** For a whole request to arrive. @default 60000 */
    readonly requestMs?: number;
    /** How long an idle connection is kept. @default 65000 */
    readonly idleMs?: number;
    /**
     * How long a client may take for 64 KiB of its answer, or for the rest of it; then the connection is ended.
     * @default 30000
     */
    readonly writeMs?: number;
    /** How long `close()` waits for what runs. @default 10000 */
    readonly closeMs?: number;
  };
  /** Where there is no room left, the connection that was idle longest is ended. @default 1000 */
  readonly maxConnections?: number;
  /** How many of them may be one tenant's, or one token's where tokens name no tenants. @default a quarter of maxConnections; all of them where there is one token or none */
  readonly maxConnectionsPerTenant?: number;
  /** How much is held in memory of bodies that arrive and of answers that are not taken yet. @default 256 MiB */
  readonly maxPendingBytes?: number;
  /** How much of it may be one tenant's, or one token's where tokens name no tenants. One request alone always has room. @default a quarter of maxPendingBytes; all of it where there is one token or none */
  readonly maxPendingBytesPerTenant?: number;
}

export interface RunningService {
  /** `http://127.0.0.1:8420` */
  readonly url: string;
  readonly port: number;
  /** Takes no new requests, finishes those that run, ends the watches. The checkpointer stays open. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Headers that a request may have once: a second one is an attempt to be read in two ways. */
const SINGLE_HEADERS = ["authorization", "host", "content-length", "transfer-encoding", "if-match", "idempotency-key"];

/** More than any client and everything in between send. */
const MAX_HEADERS = 100;

const KINDS = {
  host: "string",
  port: "number",
  timeouts: "object",
  maxConnections: "number",
  maxConnectionsPerTenant: "number",
  maxPendingBytes: "number",
  maxPendingBytesPerTenant: "number",
};
const TIMEOUTS = { headersMs: "number", requestMs: "number", idleMs: "number", writeMs: "number", closeMs: "number" };

/** Puts a checkpointer on HTTP: on loopback unless told otherwise, and never in public without tokens. */
export async function serve(options: ServeOptions): Promise<RunningService> {
  if (typeof options !== "object" || options === null) throw new TypeError("serve() takes an options object");
  const {
    host = "127.0.0.1",
    port = 8420,
    timeouts = {},
    maxConnections = 1000,
    maxPendingBytes = 256 * 1024 * 1024,
  } = options;
  assertKnown(timeouts, TIMEOUTS, "timeouts");
  const { headersMs = 10_000, requestMs = 60_000, idleMs = 65_000, writeMs = 30_000, closeMs = 10_000 } = timeouts;
  const given = { ...options, allowedHosts: allowedHostsFor(host, options) };
  const settings = settingsOf(given, KINDS, requestMs);
  // A body that is too slow is answered by the service; this is for what never gets that far.
  const limits = { headersTimeout: headersMs, requestTimeout: headersMs + requestMs + 1000, keepAliveTimeout: idleMs };
  const server = createServer({
    ...limits,
    connectionsCheckingInterval: Math.min(headersMs, 5000),
    noDelay: true,
    maxHeaderSize: 16 * 1024,
  });
  // Node would leave out those beyond a limit and carry on; they are counted below.
  server.maxHeadersCount = 0;
  const sharing = owners(settings.tokens);
  const connections = new Connections(server, {
    most: maxConnections,
    mostPerOwner: options.maxConnectionsPerTenant ?? shareOf(maxConnections, sharing),
  });
  const pending = new PendingBytes({
    most: maxPendingBytes,
    mostPerOwner: options.maxPendingBytesPerTenant ?? shareOf(maxPendingBytes, sharing),
  });
  const service = new Service(settings);
  server.on("request", (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { method = "", socket } = incoming;
    const held = pending.ofRequest();
    const entry = connections.enter(socket, outgoing, () => held.release());
    if (entry === "ignored") return;
    const refusal = entry ?? refusalOf(incoming, settings);
    const call = callOf(incoming, outgoing, held, ({ owner }) => connections.claim(socket, owner));
    const answered =
      refusal === undefined
        ? service.answer(call)
        : refuse(refusal, corsHeaders(call.headers, settings.allowedOrigins));
    answered
      .then((answer) => {
        held.answered(method === "HEAD" || !(answer.body instanceof Uint8Array) ? 0 : answer.body.byteLength);
        return sendTo(outgoing, answer, { method, socket, writeMs });
      })
      .catch(() => outgoing.destroy());
  });
  await listening(server, port, host);
  const bound = server.address() as AddressInfo;
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= shutDown(server, connections, service, closeMs);
    return closed;
  };
  return { url: `http://${nameOf(host)}:${bound.port}`, port: bound.port, close, [Symbol.asyncDispose]: close };
}

async function listening(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const at = `port ${port} of ${host}`;
    if (code === "EADDRINUSE") {
      const advice = "end that program, or give another port (0 takes any that is free)";
      throw new StateError("UNAVAILABLE", `serve(): another program listens on ${at}; ${advice}`, { cause });
    }
    if (code === "EACCES") {
      const advice = "give a port from 1024 on, or let a proxy listen there";
      throw new StateError("PERMISSION_DENIED", `serve(): this process may not listen on ${at}; ${advice}`, { cause });
    }
    throw invalid(`cannot listen on ${at}: ${message}; host must be an address of this machine`);
  }
}

function allowedHostsFor(host: string, { auth, allowedHosts }: ServeOptions): readonly string[] {
  if (typeof host !== "string" || host === "") throw invalid("host must be an address or a name");
  const isLoopback = host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
  if (!isLoopback && auth === undefined) {
    throw invalid(`${host} can be reached from elsewhere, and there is no auth: give tokens, or listen on 127.0.0.1`);
  }
  if (allowedHosts !== undefined) return allowedHosts;
  if (isLoopback) return [...LOOPBACK_HOSTS, host];
  if (host === "0.0.0.0" || host === "::") {
    throw invalid("allowedHosts must list the names that clients use, because this listens on every address");
  }
  return [nameOf(host)];
}

const nameOf = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host);

/** Looks at the request as it came, before any library has made it prettier. */
function refusalOf({ url = "", headers, rawHeaders }: IncomingMessage, settings: ServiceSettings): Refusal | undefined {
  if (rawHeaders.length > 2 * MAX_HEADERS) {
    return new Refusal("TOO_LARGE", `a request has at most ${MAX_HEADERS} headers`, { status: 431 });
  }
  try {
    assertPlainTarget(url);
    assertWelcome(headersOf({ headers }), settings);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  const twice = SINGLE_HEADERS.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
  return twice === undefined ? undefined : new Refusal("INVALID_ARGUMENT", `the header ${twice} must stand once`);
}

async function refuse(refusal: Refusal, extra: Readonly<Record<string, string>>): Promise<SentAnswer> {
  const answer = failureAnswer(refusal, "unknown", () => undefined);
  return sendable({ ...answer, headers: { ...answer.headers, connection: "close" } }, new Headers(), extra);
}

async function shutDown(server: Server, connections: Connections, service: Service, closeMs: number): Promise<void> {
  const closed = once(server, "close");
  server.close();
  service.close();
  connections.drain();
  const tooLong = setTimeout(() => server.closeAllConnections(), closeMs);
  await closed;
  clearTimeout(tooLong);
}
