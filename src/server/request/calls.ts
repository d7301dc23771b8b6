import type { SentAnswer } from "./answers.ts";
import type { Principal } from "./authentication.ts";
import { type CollectBody, collect } from "./bodies.ts";

/** Headers by their names, however those are spelt. */
export type ReadHeaders = Pick<Headers, "get">;

/** A request to the service, from whatever kind of server. */
export interface ServiceCall {
  readonly method: string;
  readonly path: string;
  /** What stands behind the question mark; empty where there is none. */
  readonly query: string;
  readonly headers: ReadHeaders;
  /** Reads the body; `undefined` for a request that has none. */
  readonly collectBody: CollectBody | undefined;
  /** Aborts when the client is gone. */
  gone(): AbortSignal;
  /** Told who a request comes from before it is carried out; refuses by throwing. */
  readonly onAdmitted?: (principal: Principal) => void;
  /**
   * Called with the bytes that this request will hold beside its body as it came; refuses by
   * throwing.
   */
  readonly hold?: (bytes: number) => void;
}

/** The path and the query of a request's target. */
export function partsOf(target: string): { readonly path: string; readonly query: string } {
  const at = target.indexOf("?");
  return at < 0 ? { path: target, query: "" } : { path: target.slice(0, at), query: target.slice(at + 1) };
}

/**
 * A web-standard request. One that a program makes has no `Host`, which the fetch
 * standard leaves to the network: it goes by the name in its URL.
 */
export function callFrom({ url, method, headers, body, signal }: Request): ServiceCall {
  const { origin, host } = new URL(url);
  const named: ReadHeaders = { get: (name) => headers.get(name) ?? (name.toLowerCase() === "host" ? host : null) };
  return {
    method,
    ...partsOf(url.slice(origin.length)),
    headers: named,
    collectBody: body === null ? undefined : (limit) => collect(body as AsyncIterable<Uint8Array>, limit),
    gone: () => signal,
  };
}

export const responseOf = ({ status, headers, body }: SentAnswer, method: string): Response =>
  new Response(method === "HEAD" ? null : (body ?? null), { status, headers });
