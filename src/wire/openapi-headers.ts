import { PROTOCOL_HEADER, PROTOCOL_VERSION } from "./protocol.ts";
import type { Route } from "./route.ts";

/** Headers as OpenAPI describes them: those of responses, and the conditional ones of requests. */

/** `*`, or entity tags as defined in RFC 9110. */
const TAGS = { type: "string", format: "holdfast-entity-tags" };
const KEY = { type: "string", format: "holdfast-idempotency-key" };

export const SHARED_HEADERS: Readonly<Record<string, object>> = {
  Protocol: {
    description: "An answer without it did not come from the service",
    required: true,
    schema: { type: "string", const: PROTOCOL_VERSION },
  },
  ETag: {
    description:
      'The place of the thread, "<generation>:<position>:<write id>" of its newest record; missing where there is no thread',
    schema: { type: "string", pattern: '^"[^":\\s]+:[0-9]+:[^":\\s]*"$' },
  },
  RetryAfter: { description: "Seconds to wait, if known", schema: { type: "string", pattern: "^[0-9]+$" } },
  Challenge: { description: "Bearer", required: true, schema: { type: "string" } },
  Accept: { description: "The expected Content-Type, if the request had another", schema: { type: "string" } },
  AcceptEncoding: {
    description: "The accepted Content-Encodings, if the request had another",
    schema: { type: "string" },
  },
};

const ref = (name: string): object => ({ $ref: `#/components/headers/${name}` });

/** The headers of a response with this status. */
export function headersFor(status: number, route?: Route): Readonly<Record<string, object>> {
  const isTagged = route?.isTagged === true ? status < 400 : route?.precondition === "required";
  return {
    [PROTOCOL_HEADER]: ref("Protocol"),
    ...(isTagged && { ETag: ref("ETag") }),
    ...(status === 401 && { "WWW-Authenticate": ref("Challenge") }),
    ...(status === 415 && { Accept: ref("Accept"), "Accept-Encoding": ref("AcceptEncoding") }),
    ...(status === 429 && { "Retry-After": ref("RetryAfter") }),
  };
}

export function preconditionsOf({ precondition, isTagged, request }: Route): readonly object[] {
  if (precondition === undefined && !isTagged) return [];
  const header = (name: string, description: string, schema: object): object => ({
    name,
    in: "header",
    required: false,
    description,
    schema,
  });
  if (precondition !== "required") {
    return [
      header("If-Match", "* or ETags: only if the thread is at one of these places", TAGS),
      header("If-None-Match", "* or ETags: only if the thread is at none of these places", TAGS),
    ];
  }
  return [
    header(
      "If-Match",
      'The place that the body expects, as the ETag gives it: "<generation>:<position>:<write id>"',
      TAGS,
    ),
    header("If-None-Match", "*, instead of If-Match, to make the thread", TAGS),
    ...(request === undefined
      ? []
      : [header("Idempotency-Key", "The record's writeId, percent-encoded and in quotes", KEY)]),
  ];
}
