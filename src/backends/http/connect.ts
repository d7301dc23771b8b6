import { StateError } from "../../errors.ts";
import type { Connection } from "./requests.ts";

/** The address of a service and how to call it. */
export interface HTTPConnectionOptions {
  /** The URL of the service: `"https://state.example.com"`, with the path that it is mounted at, if any. */
  readonly baseUrl: string;
  /** The bearer token that you got from the service's operator. */
  readonly token?: string;
  /** The deadline of one request, from the first byte sent to the last received. @default 30000 */
  readonly timeoutMs?: number;
  /** Sent with every request, for a proxy in between. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Allows sending the token over `http://` to another machine, where anyone on the network path can read it. @default
   * false
   */
  readonly allowPlainHttp?: boolean;
  /** The largest accepted answer, counted while it arrives. @default 256 MiB */
  readonly maxAnswerBytes?: number;
  /** Another way to send: a client certificate, a proxy. @default Node's own HTTP client; `fetch` on other runtimes */
  readonly fetch?: typeof globalThis.fetch;
}

export const CONNECTION_OPTIONS: Readonly<
  Record<keyof HTTPConnectionOptions, "string" | "number" | "object" | "boolean" | "function">
> = {
  baseUrl: "string",
  token: "string",
  timeoutMs: "number",
  headers: "object",
  allowPlainHttp: "boolean",
  maxAnswerBytes: "number",
  fetch: "function",
};

/** More than any state with all that it builds on, and less than the memory. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/** A timer that is set for longer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What the client says of its own request: another value would make it another request, or one that never ends. */
const OWN_HEADERS: readonly string[] = [
  ...["content-type", "content-length", "content-encoding", "transfer-encoding", "expect", "upgrade"],
  ...["if-match", "if-none-match", "idempotency-key"],
];

/** A header that cannot be sent would fail every call, as if the service could not be reached. Values may be secret, and are not repeated. */
function assertHeaders(headers: Readonly<Record<string, unknown>>): void {
  if (Array.isArray(headers) || headers instanceof Headers || headers instanceof Map) {
    const message = 'headers must be an object of names and values, such as { "x-team": "blue" }';
    throw new StateError("INVALID_ARGUMENT", message);
  }
  for (const [name, value] of Object.entries(headers)) {
    const fault = faultInHeader(name, value);
    if (fault !== undefined) throw new StateError("INVALID_ARGUMENT", `headers[${JSON.stringify(name)}]: ${fault}`);
  }
}

function faultInHeader(name: string, value: unknown): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
    return "the name of a header has letters, digits and hyphens, and no spaces";
  }
  if (OWN_HEADERS.includes(name.toLowerCase())) return "the client sets this header itself; leave it out";
  if (typeof value !== "string") return `its value must be a string, not ${value === null ? "null" : typeof value}`;
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
    return "its value has a line break or a character that no header can hold; encode it, with encodeURIComponent for instance";
  }
  return undefined;
}

const isLoopback = (hostname: string): boolean => /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);

/** What every request needs, from the options; refuses invalid ones. Opens nothing. */
export function connectionOf(options: HTTPConnectionOptions): Connection {
  const { baseUrl, token, timeoutMs = 30_000, headers = {}, maxAnswerBytes = MAX_ANSWER_BYTES } = options;
  if (typeof baseUrl !== "string" || !URL.canParse(baseUrl)) throw invalidUrl();
  const url = new URL(baseUrl);
  if (!/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") throw invalidUrl();
  if (url.username !== "" || url.password !== "") {
    throw new StateError("INVALID_ARGUMENT", "baseUrl must hold no credentials; the token is an option of its own");
  }
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw new StateError("INVALID_ARGUMENT", "the token must be printable ASCII without spaces");
  }
  if (!(timeoutMs > 0 && timeoutMs <= LONGEST_TIMER_MS)) {
    throw new StateError(
      "INVALID_ARGUMENT",
      `timeoutMs must be a number greater than 0 and at most ${LONGEST_TIMER_MS}`,
    );
  }
  assertHeaders(headers);
  if (!(Number.isFinite(maxAnswerBytes) && maxAnswerBytes > 0)) {
    throw new StateError("INVALID_ARGUMENT", "maxAnswerBytes must be a number greater than 0");
  }
  const hasSecret =
    token !== undefined || Object.keys(headers).some((name) => /^(?:authorization|cookie)$/i.test(name));
  if (hasSecret && url.protocol === "http:" && !isLoopback(url.hostname) && options.allowPlainHttp !== true) {
    throw new StateError(
      "INVALID_ARGUMENT",
      "over http:// to another machine anyone on the network path can read the token; use https://, or set allowPlainHttp: true if the network itself is private",
    );
  }
  // On the same machine, compressing answers costs more than sending them.
  const packing = isLoopback(url.hostname) ? { "accept-encoding": "identity" } : {};
  return {
    base: url,
    path: url.pathname.replace(/(?<!\/)\/+$/, ""),
    token,
    timeoutMs,
    maxAnswerBytes,
    headers: { ...packing, ...headers },
    fetch: options.fetch,
  };
}

/** The URL is not repeated in the error: a malformed URL may hold a password anywhere. */
export const invalidUrl = (): StateError =>
  new StateError("INVALID_ARGUMENT", 'baseUrl must look like "https://state.example.com" or "http://127.0.0.1:8420"');
