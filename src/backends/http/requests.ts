import { type ErrorContext, reasonOf, StateError } from "../../errors.ts";
import { withDeadline } from "../../internal/time.ts";
import { Fields, MalformedMessage } from "../../wire/fields.ts";
import { codeOfForeignStatus, errorFromProblem } from "../../wire/problems.ts";
import { FRAME_TYPE, JSON_TYPE, PROTOCOL_HEADER, PROTOCOL_VERSION } from "../../wire/protocol.ts";
import { type Operation, type PathIds, pathOf, ROUTES } from "../../wire/routes.ts";
import { classify } from "./classify.ts";
import { type AnswerHead, type Exchange, headOf, type OutgoingRequest, overFetch } from "./exchange.ts";

export interface Connection {
  readonly base: URL;
  /** Where the service is mounted, without a trailing slash. */
  readonly path: string;
  readonly token: string | undefined;
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined`: the platform's own way. */
  readonly fetch: typeof globalThis.fetch | undefined;
}

export interface Question {
  readonly ids?: PathIds;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON. */
  readonly body?: Uint8Array | object;
}

/** An answer of the service: it carries the service's mark, and one of the statuses that the route table lists. */
export interface ServiceAnswer {
  readonly status: number;
  readonly isFrame: boolean;
  readonly bytes: Buffer;
}

/**
 * Sends a request and reads the whole answer, both within the deadline. Throws for
 * everything that is not the service's answer.
 */
export async function ask(
  connection: Connection,
  operation: Operation,
  question: Question,
  closing: AbortSignal,
): Promise<ServiceAnswer> {
  try {
    return await withDeadline(connection.timeoutMs, closing, async (signal) => {
      const exchange = exchangeOf(connection) ?? (await platformExchange());
      const limitOf = (head: AnswerHead): number =>
        isAnswer(head, operation) ? connection.maxAnswerBytes : MAX_PROBLEM_BYTES;
      const answer = await exchange(requestFor(connection, operation, question), limitOf, signal);
      const { status, bytes } = answer;
      assertOurs(answer, operation, bytes ?? new Uint8Array());
      if (bytes === undefined) {
        const message = `the answer is larger than ${limitOf(answer)} bytes; the option maxAnswerBytes sets the limit`;
        throw new StateError("TOO_LARGE", message);
      }
      return { status, isFrame: typeOf(answer) === FRAME_TYPE, bytes };
    });
  } catch (error) {
    if (closing.aborted) throw new StateError("CLOSED", "the connection was closed while the service was asked");
    if (StateError.is(error)) throw error;
    throw new StateError(classify(error) ?? "UNKNOWN", reasonIn(error, connection.timeoutMs), { cause: error });
  }
}

/** A problem report is short. A longer page of another server is not read to its end. */
const MAX_PROBLEM_BYTES = 64 * 1024;

/** Known once it is loaded; other runtimes have a `fetch` that is their own HTTP client, and no reason to go around it. */
let platform: Exchange | undefined;

const isNode = process.versions.node !== undefined && !("bun" in process.versions) && !("deno" in process.versions);
/** Then Node's `fetch` goes by the proxy that the environment names. */
const hasEnvironmentProxy = process.env["NODE_USE_ENV_PROXY"] === "1";

const exchangeOf = ({ fetch }: Connection): Exchange | undefined => (fetch === undefined ? platform : overFetch(fetch));

async function platformExchange(): Promise<Exchange> {
  const goesAround = isNode && !hasEnvironmentProxy;
  const chosen = goesAround ? (await import("./node-exchange.ts")).overNode : overFetch(globalFetch);
  platform = chosen;
  return chosen;
}

/** The one that is there now: programs replace it. */
const globalFetch: typeof globalThis.fetch = (...given) => globalThis.fetch(...given);

/** fetch says "fetch failed"; the reason is in a nested cause, and the deepest is the most precise. */
function reasonIn(error: unknown, timeoutMs: number): string {
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return `no whole answer within ${timeoutMs} ms; the option timeoutMs sets the deadline`;
  }
  // It was reached, and answered something else.
  if (error instanceof MalformedMessage) return error.message;
  let reason = reasonOf(error);
  for (let inner = error, depth = 0; inner instanceof Error && depth < 5; inner = inner.cause, depth++) {
    const { errors } = inner as Partial<AggregateError>;
    reason = reasonOf(errors?.[0] ?? inner) || reason;
  }
  if (reason.includes("wrong version number")) {
    return "the service cannot be reached: it does not speak TLS; does baseUrl say https:// where http:// is meant?";
  }
  return `the service cannot be reached: ${reason}`;
}

function requestFor(
  { base, path, token, headers }: Connection,
  operation: Operation,
  { ids, query = {}, headers: own = {}, body }: Question,
): OutgoingRequest {
  const { method, request } = ROUTES[operation];
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  const suffix = search.size === 0 ? "" : `?${search}`;
  return {
    base,
    path: `${path}${pathOf(operation, ids)}${suffix}`,
    method,
    headers: {
      ...headers,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(request !== undefined && { "content-type": request.type }),
      ...own,
    },
    body: body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body),
  };
}

/** The response of a request whose answer never ends, as soon as its headers have arrived. */
export async function open(
  connection: Connection,
  operation: Operation,
  question: Question,
  signal: AbortSignal,
): Promise<Response> {
  const { base, path, method, headers } = requestFor(connection, operation, question);
  const fetch = connection.fetch ?? globalFetch;
  // Following a redirect would send the token wherever it points.
  const response = await fetch(`${base.origin}${path}`, { method, headers, redirect: "manual", signal });
  if (!response.ok) await response.body?.cancel();
  assertOurs(headOf(response), operation, new Uint8Array());
  return response;
}

/** Whether the answer is listed in the route table and carries the service's mark. */
const isAnswer = (head: AnswerHead, operation: Operation): boolean =>
  head.header(PROTOCOL_HEADER) === PROTOCOL_VERSION &&
  ROUTES[operation].answers.some(({ status, type }) => status === head.status && type === typeOf(head));

/** Throws unless the answer is listed in the route table and comes from the service itself. */
function assertOurs(head: AnswerHead, operation: Operation, bytes: Uint8Array): void {
  if (isAnswer(head, operation)) return;
  const version = head.header(PROTOCOL_HEADER);
  const wait = waitOf(head);
  if (version === null) throw foreign(head.status, wait);
  if (version !== PROTOCOL_VERSION) {
    throw new StateError(
      "INCOMPATIBLE",
      `the service speaks protocol ${version.slice(0, 20)}; this build speaks ${PROTOCOL_VERSION}`,
    );
  }
  throw problemIn(bytes, wait) ?? foreign(head.status, wait);
}

/** The server's Retry-After, in seconds or as a date, which is compared with the server's own clock. */
function waitOf({ header }: AnswerHead): { readonly retryAfterMs?: number } {
  const asked = header("retry-after") ?? "";
  const date = Date.parse(asked) - Date.parse(header("date") ?? "");
  const retryAfterMs = /^\d+$/.test(asked) ? Number(asked) * 1000 : Math.max(0, date);
  return Number.isNaN(retryAfterMs) ? {} : { retryAfterMs };
}

function problemIn(bytes: Uint8Array, wait: ErrorContext): StateError | undefined {
  try {
    return errorFromProblem(JSON.parse(Buffer.from(bytes).toString("utf8")), wait);
  } catch {
    return undefined;
  }
}

/** Another server answered: a proxy, a login page, another service. Its text is not repeated. */
function foreign(status: number, wait: ErrorContext): StateError {
  const hint = status === 401 || status === 403 ? "check the token" : "check baseUrl and what stands in between";
  return new StateError(
    codeOfForeignStatus(status),
    `status ${status} came back, and not from a holdfast service; ${hint}`,
    wait,
  );
}

const typeOf = ({ header }: AnswerHead): string => header("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";

/** The fields of a JSON answer. */
export function fieldsOf({ isFrame, bytes }: ServiceAnswer): Fields {
  if (isFrame) throw new MalformedMessage(`the answer should be ${JSON_TYPE}`);
  return Fields.parse(bytes.toString("utf8"), "the answer");
}
