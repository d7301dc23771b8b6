import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { assertOptions } from "../../checkpoint/options.ts";
import { assertParameters } from "../../checkpoint/url.ts";
import { StateError } from "../../errors.ts";
import { HttpLog } from "./log.ts";
import type { Connection } from "./requests.ts";

export { HttpLog } from "./log.ts";

export interface HTTPCheckpointerOptions extends CheckpointerOptions {
  /** Where the service is: `"https://state.example.com"`, with the path it is mounted at if any. */
  readonly baseUrl: string;
  /** The bearer token that the service's operator gave you. */
  readonly token?: string;
  /** The deadline of one request, from the first byte sent to the last received. @default 30000 */
  readonly timeoutMs?: number;
  /** Sent with every request, for something that stands in between. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Another way to send: a client certificate, a proxy. @default the platform's `fetch` */
  readonly fetch?: typeof globalThis.fetch;
}

/** Threads that another machine keeps: a holdfast service, whatever storage it stands in front of. */
export class HTTPCheckpointer extends Checkpointer {
  constructor(options: HTTPCheckpointerOptions) {
    assertOptions("HTTPCheckpointer", options, {
      baseUrl: "string",
      token: "string",
      timeoutMs: "number",
      headers: "object",
      fetch: "function",
    });
    super(new HttpLog(connectionOf(options)), options);
  }
}

/** `https://state.example.com`, or with its token: `https://:<token>@state.example.com`. */
export function openUrl(url: string, options: CheckpointerOptions = {}): Checkpointer {
  if (!URL.canParse(url)) throw invalidUrl();
  const parsed = new URL(url);
  assertParameters(url, Object.fromEntries(parsed.searchParams), []);
  const token = decodeURIComponent(parsed.password);
  const baseUrl = `${parsed.origin}${parsed.pathname}`;
  return new HTTPCheckpointer({ ...options, baseUrl, ...(token !== "" && { token }) });
}

export function connectionOf(options: HTTPCheckpointerOptions): Connection {
  const { baseUrl, token, timeoutMs = 30_000, headers = {} } = options;
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
  // On the same machine, packing and unpacking answers costs more than moving them.
  const packing = /^(?:localhost|127\.|\[::1\])/.test(url.hostname) ? { "accept-encoding": "identity" } : {};
  return {
    baseUrl: `${url.origin}${url.pathname.replace(/\/+$/, "")}`,
    token,
    timeoutMs,
    headers: { ...packing, ...headers },
    fetch: options.fetch ?? ((...request) => globalThis.fetch(...request)),
  };
}

/** The URL itself is not repeated: what is not understood may hold a password anywhere. */
const invalidUrl = (): StateError =>
  new StateError("INVALID_ARGUMENT", 'baseUrl must look like "https://state.example.com" or "http://127.0.0.1:8420"');
