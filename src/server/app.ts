import type { IncomingMessage } from "node:http";
import type { Context, Hono } from "hono";
import { assertCheckpointId, assertThreadId } from "../driver/ids.ts";
import { StateError } from "../errors.ts";
import { withDeadline } from "../internal/deadline.ts";
import { importPeer } from "../internal/import-peer.ts";
import { untilAborted } from "../internal/until-aborted.ts";
import { decodeSegment } from "../wire/names.ts";
import type { Facet, Route } from "../wire/route.ts";
import { OPERATIONS, type Operation, ROUTES, routesAt } from "../wire/routes.ts";
import { assertPlainTarget, assertWelcome } from "./admission.ts";
import { type Answer, failureAnswer, respond } from "./answers.ts";
import { Authentication, type Principal } from "./authentication.ts";
import { type BodySource, readBody } from "./bodies.ts";
import { corsHeaders, isPreflight, PREFLIGHT } from "./cors.ts";
import { CursorSeal } from "./cursors.ts";
import { OPERATE_ON_ITEMS } from "./item-operations.ts";
import { type AdmittedRequest, OPERATE_ON_SERVICE, OPERATE_ON_THREADS } from "./operations.ts";
import { type ServiceOptions, type ServiceSettings, settingsOf } from "./options.ts";
import { HONO_RANGE } from "./peers.ts";
import { assertAppendCondition, conditional, type Preconditions, preconditionsIn } from "./preconditions.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { asRefusal, Refusal } from "./refusal.ts";
import { TenantLog } from "./tenant-log.ts";
import { TenantStore } from "./tenant-store.ts";
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

/** Told who a request comes from before it is carried out; refuses by throwing. */
export type OnAdmitted = (principal: Principal, bindings: object) => void;

export async function createAppWith(settings: ServiceSettings, onAdmitted: OnAdmitted = () => undefined): Promise<App> {
  const { Hono: HonoApp } = await importPeer("hono", HONO_RANGE, () => import("hono"));
  const service = new Service(settings, onAdmitted);
  const app: Hono = new HonoApp();
  for (const operation of OPERATIONS) {
    const { method, path } = ROUTES[operation];
    app.on(method, path.replace(/\{(\w+)\}/g, ":$1"), (call) => service.run(operation, call));
  }
  app.on("OPTIONS", "*", (call) => service.runOptions(call));
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
  readonly #onAdmitted: OnAdmitted;
  readonly #authentication: Authentication;
  readonly #limiter: RateLimiter;
  readonly #watches: Watches;
  readonly #seal: CursorSeal;
  readonly #logs = new Map<string | undefined, TenantLog>();
  #closing = false;
  #readiness: { readonly until: number; readonly ready: Promise<boolean> } | undefined;

  constructor(settings: ServiceSettings, onAdmitted: OnAdmitted) {
    this.#settings = settings;
    this.#onAdmitted = onAdmitted;
    this.#authentication = new Authentication(settings.tokens);
    this.#limiter = new RateLimiter(settings.rateLimit);
    this.#watches = new Watches(settings);
    this.#seal = new CursorSeal(settings.tokens);
  }

  run(operation: Operation, call: Context): Promise<Response> {
    const route = ROUTES[operation];
    return this.#answering(operation, call, async () => {
      const principal = this.#admitted(call, route);
      const { headers, method, signal: gone } = call.req.raw;
      const preconditions = route.isTagged || route.precondition ? preconditionsIn(headers) : NO_PRECONDITIONS;
      if (route.precondition === "required") assertAppendCondition(preconditions);
      const admitted = {
        principal,
        watches: this.#watches,
        thread: idIn(call, "thread", (id) => assertThreadId(id, this.#logOf(principal).maxThreadIdBytes)),
        checkpoint: idIn(call, "checkpoint", assertCheckpointId),
        query: queryIn(call, route),
        headers,
        preconditions,
        isHead: method === "HEAD",
        body: await this.#body(call, route),
        isReady: () => this.#isReady(),
      };
      const answer = await withDeadline(this.#settings.answerTimeoutMs, undefined, (late) => {
        const signal = AbortSignal.any([gone, late]);
        return untilAborted(this.#carryOut(operation, { ...admitted, signal }), late);
      });
      return route.isTagged ? conditional(answer, preconditions) : answer;
    });
  }

  #carryOut(operation: Operation, request: AdmittedRequest): Promise<Answer> {
    if (isOneOf(OPERATE_ON_SERVICE, operation)) return OPERATE_ON_SERVICE[operation](request);
    const { principal } = request;
    if (isOneOf(OPERATE_ON_ITEMS, operation)) {
      return OPERATE_ON_ITEMS[operation]({ ...request, store: this.#storeOf(principal) });
    }
    return OPERATE_ON_THREADS[operation]({ ...request, log: this.#logOf(principal) });
  }

  /** Refuses strangers before it tells them which routes there are. */
  runUnknown(call: Context): Promise<Response> {
    return this.#answering("unknown", call, async () => {
      const { method, url } = call.req.raw;
      const known = routesAt(new URL(url).pathname);
      this.#admitted(
        call,
        known.find(({ access }) => access === "public"),
      );
      if (known.length === 0) throw new Refusal("INVALID_ARGUMENT", "there is no such route", { status: 404 });
      const allow = known.flatMap((route) => (route.method === "GET" ? ["GET", "HEAD"] : [route.method])).join(", ");
      const message = `${method} does nothing here; ${allow} does`;
      throw new Refusal("INVALID_ARGUMENT", message, { status: 405, headers: { allow } });
    });
  }

  /** A browser asks without the token, which it sends with the request itself. */
  runOptions(call: Context): Promise<Response> {
    const { headers, method } = call.req.raw;
    if (!isPreflight(method, headers)) return this.runUnknown(call);
    return this.#answering("preflight", call, async () => {
      this.#assertWelcome(call);
      return PREFLIGHT;
    });
  }

  close(): void {
    this.#closing = true;
    this.#watches.close();
  }

  /** The one door: every request comes through here, and nothing is done before it. */
  #admitted(call: Context, route: Route | undefined): Principal {
    this.#assertWelcome(call);
    if (route?.access === "public") return NOBODY;
    const principal = this.#authentication.principalOf(call.req.raw.headers.get("authorization"));
    this.#limiter.take(principal.key);
    this.#onAdmitted(principal, (call.env ?? {}) as object);
    const needed = route?.access ?? "any token";
    if (needed !== "any token" && !principal.scopes.has(needed)) {
      throw new Refusal("PERMISSION_DENIED", `this needs a token with the scope ${needed}`);
    }
    if (route?.facet !== undefined)
      this.#assertKept(route.facet, needed.endsWith(":write") || needed.endsWith(":delete"));
    return principal;
  }

  /** After the token: what a service keeps is nothing for strangers. */
  #assertKept(facet: Facet, writes: boolean): void {
    const { context, items } = this.#settings;
    const kept = facet === "threads" ? context : items;
    if (kept === undefined) throw new Refusal("UNSUPPORTED", `this service keeps no ${facet}`);
    if (writes && kept.access === "read") {
      throw new Refusal("PERMISSION_DENIED", 'this service only reads: its storage was opened with access: "read"');
    }
  }

  #assertWelcome(call: Context): void {
    const { headers, url } = call.req.raw;
    assertPlainTarget(url.slice(new URL(url).origin.length));
    assertWelcome(headers, this.#settings);
  }

  async #body(call: Context, { request }: Route): Promise<Uint8Array> {
    if (request === undefined) return new Uint8Array();
    const { headers } = call.req.raw;
    assertType(headers, request.type);
    const { maxBodyBytes, requestMs: ms } = this.#settings;
    return readBody(bodySource(call), headers, { bytes: Math.min(request.maxBytes ?? maxBodyBytes, maxBodyBytes), ms });
  }

  async #answering(
    operation: string,
    call: Context,
    work: () => Promise<Parameters<typeof respond>[0]>,
  ): Promise<Response> {
    const { headers } = call.req.raw;
    const cors = corsHeaders(headers, this.#settings.allowedOrigins);
    try {
      return await respond(await work(), headers, cors);
    } catch (error) {
      return respond(failureAnswer(withoutTimeout(error), operation, this.#settings.onFailure), headers, cors);
    }
  }

  #logOf({ tenant }: Principal): TenantLog {
    const { context, maxBodyBytes } = this.#settings;
    if (context === undefined) throw new Refusal("UNSUPPORTED", "this service keeps no threads");
    const log = this.#logs.get(tenant) ?? new TenantLog(context, tenant, this.#seal, maxBodyBytes);
    this.#logs.set(tenant, log);
    return log;
  }

  #storeOf({ tenant }: Principal): TenantStore {
    const { items, maxBodyBytes } = this.#settings;
    if (items === undefined) throw new Refusal("UNSUPPORTED", "this service keeps no items");
    return new TenantStore(items, tenant, maxBodyBytes);
  }

  /** Anybody may ask, so the storage is asked at most once a second. */
  async #isReady(): Promise<boolean> {
    if (this.#closing) return false;
    const now = performance.now();
    if (this.#readiness === undefined || this.#readiness.until < now) {
      const { context, items } = this.#settings;
      const operation = "readiness";
      const asked = Promise.all([
        context?.call({ operation }, (log) => log.tail("readiness")),
        items?.call({ operation }, (driver) => driver.now()),
      ]);
      const ready = asked.then(
        () => true,
        () => false,
      );
      this.#readiness = { until: now + 1000, ready };
    }
    return this.#readiness.ready;
  }
}

/** May look at nothing: the operations that anybody may ask for touch no thread. */
const NOBODY: Principal = { key: "nobody", scopes: new Set(), tenant: undefined };

const NO_PRECONDITIONS: Preconditions = { ifMatch: undefined, ifNoneMatch: undefined };

/** The parameters of a request, each of them known and there once: one that is misspelt must not be ignored in silence. */
function queryIn(call: Context, { query = [] }: Route): URLSearchParams {
  const given = new URL(call.req.url).searchParams;
  for (const name of given.keys()) {
    if (!query.some((known) => known.name === name)) {
      const names = query.map((known) => known.name).join(", ") || "nothing";
      throw new Refusal("INVALID_ARGUMENT", `a parameter is not known; this route takes ${names}`);
    }
    if (given.getAll(name).length > 1) throw new Refusal("INVALID_ARGUMENT", `${name} must stand once`);
  }
  return given;
}

function assertType(headers: Headers, wanted: string): void {
  const given = headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (given !== wanted)
    throw new Refusal("INVALID_ARGUMENT", `the Content-Type must be ${wanted}`, {
      status: 415,
      headers: { accept: wanted },
    });
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

const isOneOf = <Name extends Operation>(table: Readonly<Record<Name, unknown>>, name: Operation): name is Name =>
  Object.hasOwn(table, name);
