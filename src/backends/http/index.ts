import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { assertOptions } from "../../checkpoint/options.ts";
import { assertAddress, assertParameters } from "../../checkpoint/url.ts";
import { StateError } from "../../errors.ts";
import { connectionOf, invalidUrl } from "./connect.ts";
import { HttpLog } from "./log.ts";

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
  assertAddress(url);
  if (!URL.canParse(url)) throw invalidUrl();
  const parsed = new URL(url);
  assertParameters(url, Object.fromEntries(parsed.searchParams), []);
  if (parsed.username !== "") {
    throw new StateError("INVALID_ARGUMENT", "a token stands behind a colon: https://:<token>@state.example.com");
  }
  const token = unescaped(parsed.password);
  const baseUrl = `${parsed.origin}${parsed.pathname}`;
  return new HTTPCheckpointer({ ...options, baseUrl, ...(token !== "" && { token }) });
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidUrl();
  }
}
