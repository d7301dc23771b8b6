import type { IncomingMessage } from "node:http";
import type { Context, Hono } from "hono";
import { assertCheckpointId, assertThreadId, MAX_ID_BYTES, MAX_TENANT_PREFIX_BYTES } from "../checkpoint/ids.ts";
import { StateError } from "../errors.ts";
import { withDeadline } from "../internal/deadline.ts";
import { importPeer } from "../internal/import-peer.ts";
import { untilAborted } from "../internal/until-aborted.ts";
import { decodeSegment } from "../wire/names.ts";
import { OPERATIONS, type Operation, ROUTES, type Route } from "../wire/routes.ts";
import { assertPlainTarget, assertWelcome } from "./admission.ts";
import { failureAnswer, respond } from "./answers.ts";
import { Authentication, type Principal } from "./authentication.ts";
import { type BodySource, readBody } from "./bodies.ts";
import { CursorSeal } from "./cursors.ts";
import { asRefusal, OPERATE } from "./operations.ts";
import { type ServiceOptions, type ServiceSettings, settingsOf } from "./options.ts";
import { HONO_RANGE } from "./peers.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { Refusal } from "./refusal.ts";
import { TenantLog } from "./tenant-log.ts";
import { Watches } from "./watches.ts";

export interface App {
  /** Answers one request: for any server that speaks web-standard requests, and for tests. */
  readonly fetch: (request: Request, bindings?: object) => Promise<Response>;
  /** Ends the watches and says "not ready" from now on. What runs is finished; the checkpointer stays open. */
  close(): void;
}

/** The service without a socket. `serve()` puts it on one. */
export async function createApp(options: ServiceOptions): Promise<App> {
  return createAppWith(settingsOf(options));
}

export async function createAppWith(settings: ServiceSettings): Promise<App> {
  const { Hono: HonoApp } = await importPeer("hono", HONO_RANGE, () => import("hono"));
  const service = new Service(settings);
  const app: Hono = new HonoApp();
  for (const operation of OPERATIONS) {
    const { method, path } = ROUTES[operation];
    app.on(method, path.replace(/\{(\w+)\}/g, ":$1"), (call) => service.run(operation, call));
  }
  app.notFound((call) => service.runUnknown(call));
  return {
    fetch: async (request, bindings = {}) => app.fetch(request, bindings),
    close: () => service.close(),
  };
}

/** On Node, the body is read from the request itself: a web stream around it would cost a third of the time. */
function bodySource(call: Context): BodySource | null {
  const { incoming } = (call.env ?? {}) as { incoming?: IncomingMessage };
  if (incoming !== undefined) return incoming.iterator({ destroyOnReturn: false });
  return call.req.raw.body as BodySource | null;
}

class Service {
  readonly #settings: ServiceSettings;
  readonly #authentication: Authentication;
  readonly #limiter: RateLimiter;
  readonly #watches: Watches;
  readonly #seal: CursorSeal;
  readonly #logs = new Map<string | undefined, TenantLog>();
  #closing = false;
  #readiness: { readonly until: number; readonly ready: Promise<boolean> } | undefined;

  constructor(settings: ServiceSettings) {
    this.#settings = settings;
    this.#authentication = new Authentication(settings.tokens);
    this.#limiter = new RateLimiter(settings.rateLimit);
    this.#watches = new Watches(settings.maxWatches, settings.watchPollMs);
    this.#seal = new CursorSeal(settings.tokens);
  }

  run(operation: Operation, call: Context): Promise<Response> {
    const route = ROUTES[operation];
    return this.#answering(operation, call, async () => {
      const principal = this.#admitted(call, route);
      const { headers } = call.req.raw;
      const maxIdBytes = maxThreadIdBytes(principal);
      if (route.request !== undefined) assertType(headers, route.request.type);
      const admitted = {
        principal,
        log: this.#logOf(principal),
        watches: this.#watches,
        thread: idIn(call, "thread", (id) => assertThreadId(id, maxIdBytes)),
        maxThreadIdBytes: maxIdBytes,
        checkpoint: idIn(call, "checkpoint", assertCheckpointId),
        query: new URL(call.req.url).searchParams,
        headers,
        signal: call.req.raw.signal,
        body: () => readBody(bodySource(call), headers, this.#settings.maxBodyBytes),
        isReady: () => this.#isReady(),
      };
      const { answerTimeoutMs } = this.#settings;
      return withDeadline(answerTimeoutMs, undefined, (late) => untilAborted(OPERATE[operation](admitted), late));
    });
  }

  /** Refuses strangers before it tells them which routes there are. */
  runUnknown(call: Context): Promise<Response> {
    return this.#answering("unknown", call, async () => {
      this.#admitted(call, undefined);
      throw new Refusal("INVALID_ARGUMENT", "there is no such route", { status: 404 });
    });
  }

  close(): void {
    this.#closing = true;
    this.#watches.close();
  }

  /** The one door: every request comes through here, and nothing is done before it. */
  #admitted(call: Context, route: Route | undefined): Principal {
    const { headers, url } = call.req.raw;
    assertPlainTarget(url.slice(new URL(url).origin.length));
    assertWelcome(headers, this.#settings);
    if (route?.access === "public") return NOBODY;
    const principal = this.#authentication.principalOf(headers.get("authorization"));
    this.#limiter.take(principal.key);
    const needed = route?.access ?? "any token";
    if (needed === "any token" || principal.scopes.has(needed)) return principal;
    throw new Refusal("PERMISSION_DENIED", `this needs a token with the scope ${needed}`);
  }

  async #answering(
    operation: string,
    call: Context,
    work: () => Promise<Parameters<typeof respond>[0]>,
  ): Promise<Response> {
    const { headers } = call.req.raw;
    try {
      return await respond(await work(), headers);
    } catch (error) {
      return respond(failureAnswer(withoutTimeout(error), operation, this.#settings.onFailure), headers);
    }
  }

  #logOf({ tenant }: Principal): TenantLog {
    const { context, maxBodyBytes } = this.#settings;
    const log = this.#logs.get(tenant) ?? new TenantLog(context, tenant, this.#seal, maxBodyBytes);
    this.#logs.set(tenant, log);
    return log;
  }

  /** Anybody may ask, so the storage is asked at most once a second. */
  async #isReady(): Promise<boolean> {
    if (this.#closing) return false;
    const now = performance.now();
    if (this.#readiness === undefined || this.#readiness.until < now) {
      const { context } = this.#settings;
      const asked = context.call({ operation: "readiness" }, (log) => log.tail("readiness"));
      const ready = asked.then(
        () => true,
        () => false,
      );
      this.#readiness = { until: now + 1000, ready };
    }
    return this.#readiness.ready;
  }
}

/** Without tenants of its own, a service takes the ids of one that has them and stands in front of it. */
const maxThreadIdBytes = ({ tenant }: Principal): number =>
  tenant === undefined ? MAX_ID_BYTES + MAX_TENANT_PREFIX_BYTES : MAX_ID_BYTES;

/** May look at nothing: the operations that anybody may ask for touch no thread. */
const NOBODY: Principal = { key: "nobody", scopes: new Set(), tenant: undefined };

function assertType(headers: Headers, wanted: string): void {
  const given = headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (given !== wanted) throw new Refusal("INVALID_ARGUMENT", `the Content-Type must be ${wanted}`, { status: 415 });
}

function idIn(call: Context, name: string, check: (id: string) => void): string {
  const segment = call.req.param(name);
  if (segment === undefined) return "";
  const id = decodeSegment(segment);
  if (id === undefined) throw new Refusal("INVALID_ARGUMENT", `the ${name} in the path must be unpadded base64url`);
  asRefusal(() => check(id));
  return id;
}

const withoutTimeout = (error: unknown): unknown =>
  error instanceof DOMException && error.name === "TimeoutError"
    ? new StateError("TIMEOUT", "the storage did not answer in time", { written: "unknown", cause: error })
    : error;
