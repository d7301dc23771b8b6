import { assertCheckpointId, assertThreadId } from "../driver/ids.ts";
import { StateError } from "../errors.ts";
import { inTime } from "../internal/time.ts";
import { decodeSegment } from "../wire/names.ts";
import type { Facet, Route } from "../wire/route.ts";
import { type MatchedRoute, type Operation, ROUTES, routeOf, routesAt } from "../wire/routes.ts";
import { OPERATE_ON_ITEMS } from "./item-operations.ts";
import { type AdmittedRequest, OPERATE_ON_SERVICE, OPERATE_ON_THREADS } from "./operations.ts";
import { assertPlainTarget, assertWelcome } from "./request/admission.ts";
import { type Answer, failureAnswer, type SentAnswer, sendable } from "./request/answers.ts";
import { Authentication, type Principal } from "./request/authentication.ts";
import { readBody } from "./request/bodies.ts";
import { callFrom, type ReadHeaders, responseOf, type ServiceCall } from "./request/calls.ts";
import { corsHeaders, isPreflight, PREFLIGHT } from "./request/cors.ts";
import { type ServiceOptions, type ServiceSettings, settingsOf } from "./request/options.ts";
import { assertAppendCondition, conditional, type Preconditions, preconditionsIn } from "./request/preconditions.ts";
import { RateLimiter } from "./request/rate-limiter.ts";
import { asRefusal, Refusal } from "./request/refusal.ts";
import { CursorSigner } from "./tenants/cursors.ts";
import { TenantLog } from "./tenants/tenant-log.ts";
import { TenantStore } from "./tenants/tenant-store.ts";
import { Watches } from "./watches.ts";

export interface App {
  /** Answers one request: for any server that speaks web-standard requests, and for tests. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Ends the watches and says "not ready" from now on. What runs is finished; the checkpointer stays open. */
  close(): void;
}

/** The service without a socket. `serve()` puts it on one. */
export async function createApp(options: ServiceOptions): Promise<App> {
  const service = new Service(settingsOf(options));
  return {
    fetch: async (request) => responseOf(await service.answer(callFrom(request)), request.method),
    close: () => service.close(),
  };
}

/** Everything behind the socket. */
export class Service {
  readonly #settings: ServiceSettings;
  readonly #authentication: Authentication;
  readonly #limiter: RateLimiter;
  readonly #watches: Watches;
  readonly #cursors: CursorSigner;
  readonly #logs = new Map<string | undefined, TenantLog>();
  #closing = false;
  #readiness: { readonly until: number; readonly ready: Promise<boolean> } | undefined;

  constructor(settings: ServiceSettings) {
    this.#settings = settings;
    this.#authentication = new Authentication(settings.tokens);
    this.#limiter = new RateLimiter(settings.rateLimit);
    this.#watches = new Watches(settings);
    this.#cursors = new CursorSigner(settings.tokens);
  }

  /** Never fails: what goes wrong is an answer too. */
  answer(call: ServiceCall): Promise<SentAnswer> {
    if (call.method === "OPTIONS") return this.#preflight(call);
    const matched = routeOf(call.method, call.path);
    return matched === undefined ? this.#unknown(call) : this.#run(matched, call);
  }

  #run({ operation, segments }: MatchedRoute, call: ServiceCall): Promise<SentAnswer> {
    const route = ROUTES[operation];
    return this.#answering(operation, call, async () => {
      const principal = this.#admitted(call, route);
      const { headers, method } = call;
      const preconditions = route.isTagged || route.precondition ? preconditionsIn(headers) : NO_PRECONDITIONS;
      if (route.precondition === "required") assertAppendCondition(preconditions);
      const admitted = {
        principal,
        watches: this.#watches,
        thread: idIn(segments, "thread", (id) => assertThreadId(id, this.#logOf(principal).maxThreadIdBytes)),
        checkpoint: idIn(segments, "checkpoint", assertCheckpointId),
        query: queryIn(call, route),
        headers,
        preconditions,
        isHead: method === "HEAD",
        body: await this.#body(call, route),
        isReady: () => this.#isReady(),
      };
      const late = new AbortController();
      const signal = (): AbortSignal => AbortSignal.any([call.gone(), late.signal]);
      const work = this.#carryOut(operation, { ...admitted, signal });
      const answer = await inTime(this.#settings.answerTimeoutMs, work).catch((error: unknown) => {
        late.abort(error);
        throw error;
      });
      const conditioned = route.isTagged ? conditional(answer, preconditions) : answer;
      // What was written is answered in any case; what was only read can be read again.
      if (route.access.endsWith(":read")) call.hold?.(bytesIn(conditioned));
      return conditioned;
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
  #unknown(call: ServiceCall): Promise<SentAnswer> {
    return this.#answering("unknown", call, async () => {
      const { method, path } = call;
      const known = routesAt(path);
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
  #preflight(call: ServiceCall): Promise<SentAnswer> {
    if (!isPreflight(call.method, call.headers)) return this.#unknown(call);
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
  #admitted(call: ServiceCall, route: Route | undefined): Principal {
    this.#assertWelcome(call);
    if (route?.access === "public") return NO_ACCESS;
    const principal = this.#authentication.principalOf(call.headers.get("authorization"));
    this.#limiter.take(principal.key);
    call.onAdmitted?.(principal);
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

  #assertWelcome({ path, headers }: ServiceCall): void {
    assertPlainTarget(path);
    assertWelcome(headers, this.#settings);
  }

  async #body({ headers, collectBody, hold }: ServiceCall, { request }: Route): Promise<Uint8Array> {
    if (request === undefined) return new Uint8Array();
    assertType(headers, request.type);
    const { maxBodyBytes, requestMs: ms } = this.#settings;
    const bytes = Math.min(request.maxBytes ?? maxBodyBytes, maxBodyBytes);
    const body = await readBody(collectBody, headers, { bytes, ms });
    if (headers.get("content-encoding") !== null) hold?.(body.byteLength);
    return body;
  }

  async #answering(operation: string, { headers }: ServiceCall, work: () => Promise<Answer>): Promise<SentAnswer> {
    const cors = corsHeaders(headers, this.#settings.allowedOrigins);
    try {
      return await sendable(await work(), headers, cors);
    } catch (error) {
      return sendable(failureAnswer(withoutTimeout(error), operation, this.#settings.onFailure), headers, cors);
    }
  }

  #logOf({ tenant }: Principal): TenantLog {
    const { context, maxBodyBytes } = this.#settings;
    if (context === undefined) throw new Refusal("UNSUPPORTED", "this service keeps no threads");
    const log = this.#logs.get(tenant) ?? new TenantLog(context, tenant, this.#cursors, maxBodyBytes);
    this.#logs.set(tenant, log);
    return log;
  }

  #storeOf({ tenant }: Principal): TenantStore {
    const { items, maxBodyBytes } = this.#settings;
    if (items === undefined) throw new Refusal("UNSUPPORTED", "this service keeps no items");
    return new TenantStore(items, tenant, maxBodyBytes);
  }

  /** Needs no token, so the storage is asked at most once a second. */
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

/** For public operations, which touch no thread. */
const NO_ACCESS: Principal = { key: "public", scopes: new Set(), tenant: undefined, owner: "public" };

const NO_PRECONDITIONS: Preconditions = { ifMatch: undefined, ifNoneMatch: undefined };

/** The parameters of a request. Each must be known and given once: a misspelt one must not be ignored silently. */
function queryIn(call: ServiceCall, { query = [] }: Route): URLSearchParams {
  const given = new URLSearchParams(call.query);
  for (const name of given.keys()) {
    if (!query.some((known) => known.name === name)) {
      const names = query.map((known) => known.name).join(", ") || "nothing";
      throw new Refusal("INVALID_ARGUMENT", `a parameter is not known; this route takes ${names}`);
    }
    if (given.getAll(name).length > 1) throw new Refusal("INVALID_ARGUMENT", `${name} must stand once`);
  }
  return given;
}

function bytesIn({ body }: Answer): number {
  if (typeof body === "string") return Buffer.byteLength(body);
  return body instanceof Uint8Array ? body.byteLength : 0;
}

function assertType(headers: ReadHeaders, wanted: string): void {
  const given = headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();
  if (given !== wanted)
    throw new Refusal("INVALID_ARGUMENT", `the Content-Type must be ${wanted}`, {
      status: 415,
      headers: { accept: wanted },
    });
}

function idIn(segments: MatchedRoute["segments"], name: string, check: (id: string) => void): string {
  const segment = segments[name];
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
