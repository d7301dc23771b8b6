import type { IncomingMessage } from "node:http";
import { assertThreadId } from "../driver/ids.ts";
import { assertPlainTarget, assertWelcome } from "../server/request/admission.ts";
import type { Authentication } from "../server/request/authentication.ts";
import { Refusal } from "../server/request/refusal.ts";
import { decodeSegment } from "../wire/names.ts";
import { StudioRequest } from "./request.ts";
import { ROUTES, type RouteName, type StudioRoute } from "./routes.ts";

export interface DoorRules {
  readonly allowedHosts: readonly string[];
  /** Studio's own: a page of any other may not call. */
  readonly allowedOrigins: readonly string[];
  readonly authentication: Authentication;
  readonly mayWrite: boolean;
  readonly mayDelete: boolean;
}

const MOST_BODY_BYTES = 1024 * 1024;
const MOST_TARGET = 16 * 1024;
const ROUTES_BY_NAME = Object.entries(ROUTES) as [RouteName, StudioRoute][];

/** Whether a request is for the API; everything else is the page, which holds no data. */
export const isForApi = (target: string): boolean => /^\/api(?:\/|\?|$)/.test(target);

/** Names that this address goes by; a name that was pointed here from outside is refused, for the page too. */
export function assertHost(incoming: IncomingMessage, { allowedHosts }: DoorRules): void {
  assertWelcome(
    { get: (name) => (name === "host" ? (incoming.headers.host ?? null) : null) },
    { allowedHosts, allowedOrigins: [] },
  );
}

/**
 * Every check that comes before an operation, in one place: who asks, from
 * where, by which route, and whether this Studio was started for it.
 */
export async function admit(
  incoming: IncomingMessage,
  rules: DoorRules,
  signal: AbortSignal,
): Promise<{ readonly name: RouteName; readonly request: StudioRequest }> {
  const target = incoming.url ?? "";
  if (target.length > MOST_TARGET) throw new Refusal("INVALID_ARGUMENT", "the address is too long", { status: 414 });
  assertPlainTarget(target);
  const headers = { get: (name: string): string | null => incoming.headers[name]?.toString() ?? null };
  assertWelcome(headers, rules);
  rules.authentication.principalOf(headers.get("authorization"));
  const url = new URL(target, "http://studio");
  const { name, route, thread } = routeOf(incoming.method ?? "", url.pathname.replace(/^\/api\/?/, ""));
  assertMay(route, rules);
  for (const key of url.searchParams.keys()) {
    if (!route.query.includes(key)) throw new Refusal("INVALID_ARGUMENT", `this route knows no ${JSON.stringify(key)}`);
  }
  const body = route.method === "POST" ? await bodyOf(incoming) : {};
  return { name, request: new StudioRequest(thread, url.searchParams, body, signal) };
}

function routeOf(
  method: string,
  path: string,
): { readonly name: RouteName; readonly route: StudioRoute; readonly thread: string } {
  const given = path.split("/");
  const matches = ROUTES_BY_NAME.filter(([, route]) => fits(route.path.split("/"), given));
  if (matches.length === 0) throw new Refusal("NOT_FOUND", "there is no such route");
  const found = matches.find(([, route]) => route.method === method);
  if (found === undefined) {
    const allow = matches.map(([, route]) => route.method).join(", ");
    throw new Refusal("INVALID_ARGUMENT", `this route takes ${allow}`, { status: 405, headers: { allow } });
  }
  const [name, route] = found;
  const at = route.path.split("/").indexOf("{thread}");
  if (at === -1) return { name, route, thread: "" };
  const thread = decodeSegment(given[at] ?? "");
  if (thread === undefined) throw new Refusal("INVALID_ARGUMENT", "the thread's id must be in base64url");
  assertThreadId(thread);
  return { name, route, thread };
}

const fits = (wanted: readonly string[], given: readonly string[]): boolean =>
  wanted.length === given.length && wanted.every((part, index) => part === "{thread}" || part === given[index]);

function assertMay({ access }: StudioRoute, { mayWrite, mayDelete }: DoorRules): void {
  if (access !== "read" && !mayWrite) {
    throw new Refusal("PERMISSION_DENIED", "this Studio only looks; start it with --write to change anything");
  }
  if (access === "delete" && !mayDelete) {
    throw new Refusal(
      "PERMISSION_DENIED",
      "this Studio deletes nothing; start it with --write --allow-delete for that",
    );
  }
}

/** JSON and nothing else: a form, or a page of another site, cannot send that type without being asked first. */
async function bodyOf(incoming: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  if (!/^application\/json\s*(?:;.*)?$/i.test(incoming.headers["content-type"] ?? "")) {
    throw new Refusal("INVALID_ARGUMENT", "the body must be application/json", { status: 415 });
  }
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of incoming as AsyncIterable<Buffer>) {
    bytes += part.byteLength;
    if (bytes > MOST_BODY_BYTES) throw new Refusal("TOO_LARGE", "a request has at most 1 MiB");
    parts.push(part);
  }
  try {
    const body: unknown = JSON.parse(Buffer.concat(parts).toString("utf8"));
    if (typeof body === "object" && body !== null && !Array.isArray(body)) return { ...body };
  } catch {
    // Told below.
  }
  throw new Refusal("INVALID_ARGUMENT", "the body must be a JSON object");
}
