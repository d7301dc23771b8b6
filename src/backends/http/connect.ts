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
  /** Allows sending the token over `http://` to another machine, where everybody on the way can read it. @default false */
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
  if (!(Number.isFinite(timeoutMs) && timeoutMs > 0)) {
    throw new StateError("INVALID_ARGUMENT", "timeoutMs must be a number greater than 0");
  }
  if (!(Number.isFinite(maxAnswerBytes) && maxAnswerBytes > 0)) {
    throw new StateError("INVALID_ARGUMENT", "maxAnswerBytes must be a number greater than 0");
  }
  const hasSecret =
    token !== undefined || Object.keys(headers).some((name) => /^(?:authorization|cookie)$/i.test(name));
  if (hasSecret && url.protocol === "http:" && !isLoopback(url.hostname) && options.allowPlainHttp !== true) {
    throw new StateError(
      "INVALID_ARGUMENT",
      "over http:// to another machine anybody on the way can read the token; use https://, or say allowPlainHttp: true where the network itself is private",
    );
  }
  // On the same machine, compressing answers costs more than sending them.
  const packing = isLoopback(url.hostname) ? { "accept-encoding": "identity" } : {};
  return {
    base: url,
    path: url.pathname.replace(/\/+$/, ""),
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
