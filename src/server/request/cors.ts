import { PROTOCOL_HEADER } from "../../wire/protocol.ts";
import { OPERATIONS, ROUTES } from "../../wire/routes.ts";
import type { Answer } from "./answers.ts";

/**
 * The headers that a browser needs before it lets a page of another origin call and
 * read. Only pages of an allowed origin come this far (`assertWelcome`). No cookies: a
 * token is a header that the page sets itself.
 */
export function corsHeaders(
  asked: Pick<Headers, "get">,
  allowedOrigins: readonly string[],
): Readonly<Record<string, string>> {
  const origin = asked.get("origin");
  if (origin === null || !allowedOrigins.includes(origin)) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": ["ETag", "Retry-After", "Allow", PROTOCOL_HEADER].join(", "),
    "cross-origin-resource-policy": "cross-origin",
  };
}

const METHODS = [...new Set(OPERATIONS.map((operation) => ROUTES[operation].method)), "HEAD"].join(", ");
const HEADERS = "Authorization, Content-Type, Content-Encoding, If-Match, If-None-Match, Idempotency-Key";
/** As long as Chromium keeps it. */
const KEPT_SECONDS = 7200;

/** Whether a browser asks, before it sends the request itself, which methods and headers it may use. */
export const isPreflight = (method: string, asked: Pick<Headers, "get">): boolean =>
  method === "OPTIONS" && asked.get("origin") !== null && asked.get("access-control-request-method") !== null;

/** The same for every path: a stranger does not learn here which routes there are. */
export const PREFLIGHT: Answer = {
  status: 204,
  type: undefined,
  body: undefined,
  headers: {
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": HEADERS,
    "access-control-max-age": String(KEPT_SECONDS),
  },
};
