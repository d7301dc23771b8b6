import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { DeferredLog } from "../../checkpoint/deferred-log.ts";
import { assertOptions } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import { connectionOf, invalidUrl } from "./connect.ts";
import { FACTS } from "./facts.ts";

export interface HTTPCheckpointerOptions extends CheckpointerOptions {
  /** Where the service is: `"https://state.example.com"`, with the path it is mounted at if any. */
  readonly baseUrl: string;
  /** The bearer token that the service's operator gave you. */
  readonly token?: string;
  /** The deadline of one request, from the first byte sent to the last received. @default 30000 */
  readonly timeoutMs?: number;
  /** Sent with every request, for something that stands in between. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Lets the token go over `http://` to another machine, where everybody on the way can read it. @default false */
  readonly allowPlainHttp?: boolean;
  /** The largest answer that is taken, counted while it arrives. @default 256 MiB */
  readonly maxAnswerBytes?: number;
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
      allowPlainHttp: "boolean",
      maxAnswerBytes: "number",
      fetch: "function",
    });
    const connection = connectionOf(options);
    super(new DeferredLog(FACTS, async () => new (await import("./log.ts")).HttpLog(connection)), options);
  }
}

/**
 * `https://state.example.com`, or with its token: `https://:<token>@state.example.com`.
 * No error shows anything of it: a token may have been put anywhere.
 */
export function openUrl(url: string, options: CheckpointerOptions = {}): Checkpointer {
  if (!URL.canParse(url)) throw misread();
  const { origin, pathname, username, password, hash, searchParams } = new URL(url);
  // What a raw slash, question mark or hash cut off a token would go out as a part of the path.
  if (hash !== "" || pathname.includes("@")) throw misread();
  for (const [name, value] of searchParams) {
    if (name === "allowPlainHttp" && value === "true") continue;
    throw new StateError(
      "INVALID_ARGUMENT",
      `the URL of a service has an unknown parameter; it takes allowPlainHttp=true alone. ${HOW_TO_WRITE_IT}`,
    );
  }
  if (username !== "") throw new StateError("INVALID_ARGUMENT", HOW_TO_WRITE_IT);
  const token = unescaped(password);
  const allowPlainHttp = searchParams.has("allowPlainHttp");
  return new HTTPCheckpointer({
    ...options,
    baseUrl: `${origin}${pathname}`,
    ...(token !== "" && { token }),
    ...(allowPlainHttp && { allowPlainHttp }),
  });
}

const HOW_TO_WRITE_IT =
  "A token stands behind a colon, https://:<token>@state.example.com, with its / ? # and @ written as %2F %3F %23 and %40";

const misread = (): StateError => new StateError("INVALID_ARGUMENT", `${invalidUrl().message}. ${HOW_TO_WRITE_IT}`);

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw misread();
  }
}
