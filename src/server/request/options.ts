import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { type CheckpointContext, contextOf } from "../../checkpoint/context.ts";
import type { BaseStore } from "../../store/base-store.ts";
import { accessOf, type StoreAccess } from "../../store/items/store-access.ts";
import type { TokenEntry } from "./authentication.ts";
import { assertKnown, assertLimits, invalid } from "./option-rules.ts";

/** A failure as the operator sees it; the client is told its code and this id, and nothing else. */
export interface ReportedFailure {
  readonly instance: string;
  readonly operation: string;
  readonly error: unknown;
}

export interface RateLimit {
  /** How many requests a token may make in the long run. */
  readonly perSecond: number;
  /** How many at once, after a pause. */
  readonly burst: number;
}

export interface ServiceOptions {
  /** Where the threads are. It stays yours: closing the service leaves it open. Without it the service keeps items alone. */
  readonly checkpointer?: BaseCheckpointer;
  /** Where the items are, beside the threads or instead of them. It stays yours too. */
  readonly store?: BaseStore;
  /**
   * Who may do what. Without it every caller may do everything, which is allowed on loopback
   * only.
   */
  readonly auth?: { readonly tokens: readonly TokenEntry[] };
  /**
   * The names that clients may use in `Host`; a page of a stranger that points
   * its own name here is refused. @default the loopback names, and `host` where that is an address
   */
  readonly allowedHosts?: readonly string[];
  /** Origins of web pages that may call, as in "https://studio.example.com"; they are answered with CORS headers. @default none */
  readonly allowedOrigins?: readonly string[];
  /** The largest request body, counted while it arrives and after decompression. @default 16 MiB */
  readonly maxBodyBytes?: number;
  /** For each token; `false` for none. @default { perSecond: 1000, burst: 5000 } */
  readonly rateLimit?: RateLimit | false;
  /** How long the storage may take before the client is told TIMEOUT. @default 60000 */
  readonly answerTimeoutMs?: number;
  /** How often a watched thread is looked at where the storage cannot call back. @default 250 */
  readonly watchPollMs?: number;
  /** How many watches may be open at once. @default 1000 */
  readonly maxWatches?: number;
  /** How many of them may be one tenant's, or one token's where tokens name no tenants. @default a quarter of maxWatches; all of them where there is one token or none */
  readonly maxWatchesPerTenant?: number;
  /** After so long a watch ends, and its client opens another. @default 3600000 */
  readonly maxWatchMs?: number;
  /** Failures that are not the client's fault. @default nothing is written */
  readonly onFailure?: (failure: ReportedFailure) => void;
}

export interface ServiceSettings extends Required<Omit<ServiceOptions, "auth" | "checkpointer" | "store">> {
  readonly context: CheckpointContext | undefined;
  readonly items: StoreAccess | undefined;
  readonly tokens: readonly TokenEntry[] | undefined;
  /** How long a body may take to arrive. */
  readonly requestMs: number;
}

export const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** For a whole request to arrive. */
export const REQUEST_MS = 60_000;

const KINDS: Readonly<Record<keyof ServiceOptions, string>> = {
  checkpointer: "object",
  store: "object",
  auth: "object",
  allowedHosts: "object",
  allowedOrigins: "object",
  maxBodyBytes: "number",
  rateLimit: "object",
  answerTimeoutMs: "number",
  watchPollMs: "number",
  maxWatches: "number",
  maxWatchesPerTenant: "number",
  maxWatchMs: "number",
  onFailure: "function",
};

/**
 * Everything a service needs, with the defaults filled in. A misspelt option must not be ignored silently: it may be
 * the one that locks the door.
 */
export function settingsOf(
  given: ServiceOptions,
  alsoKnown: Readonly<Record<string, string>> = {},
  requestMs: number = REQUEST_MS,
): ServiceSettings {
  assertKnown(given, { ...KINDS, ...alsoKnown });
  assertKnown(given.auth ?? {}, { tokens: "object" }, "auth");
  // Without tokens every caller is let in, which is not what an `auth` option is
  // written for.
  if (given.auth !== undefined && !Array.isArray(given.auth.tokens)) throw invalid("auth.tokens must list the tokens");
  if (given.rateLimit) assertKnown(given.rateLimit, { perSecond: "number", burst: "number" }, "rateLimit");
  assertLimits(given);
  for (const origin of given.allowedOrigins ?? []) assertOrigin(origin);
  const context = given.checkpointer && contextOf(given.checkpointer);
  if (context === undefined && (given.checkpointer !== undefined || given.store === undefined)) {
    throw new TypeError("serve({ checkpointer }) takes one that stands on a log, as every factory of holdfast returns");
  }
  const items = given.store && accessOf(given.store);
  if (items === undefined && given.store !== undefined) {
    throw new TypeError("serve({ store }) takes one that stands on a driver, as every factory of holdfast returns");
  }
  const maxWatches = given.maxWatches ?? 1000;
  const sharing = owners(given.auth?.tokens);
  return {
    context,
    items,
    tokens: given.auth?.tokens,
    allowedHosts: given.allowedHosts ?? LOOPBACK_HOSTS,
    allowedOrigins: given.allowedOrigins ?? [],
    maxBodyBytes: given.maxBodyBytes ?? 16 * 1024 * 1024,
    rateLimit: given.rateLimit ?? { perSecond: 1000, burst: 5000 },
    answerTimeoutMs: given.answerTimeoutMs ?? 60_000,
    watchPollMs: given.watchPollMs ?? 250,
    maxWatches,
    maxWatchesPerTenant: given.maxWatchesPerTenant ?? shareOf(maxWatches, sharing),
    maxWatchMs: given.maxWatchMs ?? 3_600_000,
    onFailure: given.onFailure ?? (() => undefined),
    requestMs,
  };
}

/** How many share the service: tenants, or tokens where they name none. */
export const owners = (tokens: readonly TokenEntry[] = []): number =>
  new Set(tokens.map((entry) => entry?.tenant ?? entry?.sha256)).size;

/** What one of them may have of something that all of them share. */
export const shareOf = (total: number, sharing: number): number =>
  sharing > 1 ? Math.max(1, Math.floor(total / 4)) : total;

/** A browser sends scheme, name and port, and nothing else: anything longer would never match. */
function assertOrigin(origin: unknown): void {
  const isOrigin = typeof origin === "string" && URL.canParse(origin) && new URL(origin).origin === origin;
  if (!isOrigin || origin === "null") {
    throw invalid(
      'allowedOrigins must list origins as browsers send them, such as "https://studio.example.com": no path, no slash at the end, no *',
    );
  }
}
