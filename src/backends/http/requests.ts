import { type ErrorContext, StateError } from "../../errors.ts";
import { withDeadline } from "../../internal/deadline.ts";
import { reasonOf } from "../../internal/reason-of.ts";
import { Fields, MalformedMessage } from "../../wire/fields.ts";
import { codeOfForeignStatus, errorFromProblem } from "../../wire/problems.ts";
import { FRAME_TYPE, JSON_TYPE, PROTOCOL_HEADER, PROTOCOL_VERSION } from "../../wire/protocol.ts";
import { type Operation, type PathIds, pathOf, ROUTES } from "../../wire/routes.ts";
import { classify } from "./classify.ts";

export interface Connection {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly token: string | undefined;
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof globalThis.fetch;
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
      const response = await send(connection, operation, question, signal);
      const limit = isAnswer(response, operation) ? connection.maxAnswerBytes : MAX_PROBLEM_BYTES;
      const bytes = await readUpTo(limit, response);
      assertOurs(response, operation, bytes ?? new Uint8Array());
      if (bytes === undefined) {
        const message = `the answer is larger than ${limit} bytes; the option maxAnswerBytes sets the limit`;
        throw new StateError("TOO_LARGE", message);
      }
      return { status: response.status, isFrame: typeOf(response) === FRAME_TYPE, bytes };
    });
  } catch (error) {
    if (closing.aborted) throw new StateError("CLOSED", "the connection was closed while the service was asked");
    if (StateError.is(error)) throw error;
    throw new StateError(classify(error) ?? "UNKNOWN", reasonIn(error, connection.timeoutMs), { cause: error });
  }
}

/** A problem report is short. A longer page of another server is not read to its end. */
const MAX_PROBLEM_BYTES = 64 * 1024;

/** The whole body, or `undefined` if it is longer; never holds more than the limit in memory. */
async function readUpTo(limit: number, { body }: Response): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** fetch says "fetch failed"; the reason is in a nested cause, and the deepest is the most precise. */
function reasonIn(error: unknown, timeoutMs: number): string {
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return `no whole answer within ${timeoutMs} ms; the option timeoutMs sets the deadline`;
  }
  let reason = reasonOf(error);
  for (let inner = error, depth = 0; inner instanceof Error && depth < 5; inner = inner.cause, depth++) {
    const { errors } = inner as Partial<AggregateError>;
    reason = reasonOf(errors?.[0] ?? inner) || reason;
  }
  return `the service cannot be reached: ${reason}`;
}

/** The response to a request, as soon as its headers have arrived. */
export function send(
  { baseUrl, token, headers, fetch }: Connection,
  operation: Operation,
  { ids, query = {}, headers: own = {}, body }: Question,
  signal: AbortSignal,
): Promise<Response> {
  const { method, request } = ROUTES[operation];
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  const suffix = search.size === 0 ? "" : `?${search}`;
  return fetch(`${baseUrl}${pathOf(operation, ids)}${suffix}`, {
    method,
    headers: {
      ...headers,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(request !== undefined && { "content-type": request.type }),
      ...own,
    },
    ...(body !== undefined && { body: body instanceof Uint8Array ? body : JSON.stringify(body) }),
    // Following a redirect would send the token, and a write, wherever it points.
    redirect: "manual",
    signal,
  });
}

/** Whether the answer is listed in the route table and carries the service's mark. */
const isAnswer = (response: Response, operation: Operation): boolean =>
  response.headers.get(PROTOCOL_HEADER) === PROTOCOL_VERSION &&
  ROUTES[operation].answers.some(({ status, type }) => status === response.status && type === typeOf(response));

/** Throws unless the answer is listed in the route table and comes from the service itself. */
export function assertOurs(response: Response, operation: Operation, bytes: Uint8Array): void {
  if (isAnswer(response, operation)) return;
  const version = response.headers.get(PROTOCOL_HEADER);
  const wait = waitOf(response.headers);
  if (version === null) throw foreign(response.status, wait);
  if (version !== PROTOCOL_VERSION) {
    throw new StateError(
      "INCOMPATIBLE",
      `the service speaks protocol ${version.slice(0, 20)}; this build speaks ${PROTOCOL_VERSION}`,
    );
  }
  throw problemIn(bytes, wait) ?? foreign(response.status, wait);
}

/** The server's Retry-After, in seconds or as a date, which is compared with the server's own clock. */
function waitOf(headers: Headers): { readonly retryAfterMs?: number } {
  const asked = headers.get("retry-after") ?? "";
  const date = Date.parse(asked) - Date.parse(headers.get("date") ?? "");
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

const typeOf = (response: Response): string =>
  response.headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";

/** The fields of a JSON answer. */
export function fieldsOf({ isFrame, bytes }: ServiceAnswer): Fields {
  if (isFrame) throw new MalformedMessage(`the answer should be ${JSON_TYPE}`);
  return Fields.parse(bytes.toString("utf8"), "the answer");
}
