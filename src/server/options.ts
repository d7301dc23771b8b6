import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { type CheckpointContext, contextOf } from "../checkpoint/context.ts";
import { StateError } from "../errors.ts";
import type { TokenEntry } from "./authentication.ts";

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
  /** Where the threads are. It stays yours: closing the service leaves it open. */
  readonly checkpointer: BaseCheckpointer;
  /** Who may do what. Without it everybody may everything, which is allowed on loopback only. */
  readonly auth?: { readonly tokens: readonly TokenEntry[] };
  /**
   * The names that clients may use in `Host`; a page of a stranger that points
   * its own name here is refused. @default the loopback names, and `host` where that is an address
   */
  readonly allowedHosts?: readonly string[];
  /** Origins of web pages that may call, as in "https://studio.example.com". @default none */
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
  /** Failures that are not the client's fault. @default nothing is written */
  readonly onFailure?: (failure: ReportedFailure) => void;
}

export interface ServiceSettings extends Required<Omit<ServiceOptions, "auth" | "checkpointer">> {
  readonly context: CheckpointContext;
  readonly tokens: readonly TokenEntry[] | undefined;
}

export const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

const NAMES: Readonly<Record<keyof ServiceOptions, string>> = {
  checkpointer: "object",
  auth: "object",
  allowedHosts: "object",
  allowedOrigins: "object",
  maxBodyBytes: "number",
  rateLimit: "object",
  answerTimeoutMs: "number",
  watchPollMs: "number",
  maxWatches: "number",
  onFailure: "function",
};

/** Everything a service needs, with the defaults filled in. A misspelt option must not be ignored in silence: it may be the one that locks the door. */
export function settingsOf(given: ServiceOptions, alsoKnown: readonly string[] = []): ServiceSettings {
  if (typeof given !== "object" || given === null) throw new TypeError("the service takes an options object");
  for (const [name, value] of Object.entries(given)) {
    if (alsoKnown.includes(name) || value === undefined) continue;
    const kind = Object.hasOwn(NAMES, name) ? NAMES[name as keyof ServiceOptions] : undefined;
    if (kind === undefined) throw invalid(`there is no option ${JSON.stringify(name)}`);
    const isOff = name === "rateLimit" && value === false;
    if (!isOff && typeof value !== kind) throw invalid(`${name} must be a ${kind}, not a ${typeof value}`);
  }
  const context = typeof given.checkpointer === "object" ? contextOf(given.checkpointer) : undefined;
  if (context === undefined) {
    throw new TypeError("serve({ checkpointer }) takes one that stands on a log, as every factory of holdfast returns");
  }
  return {
    context,
    tokens: given.auth?.tokens,
    allowedHosts: given.allowedHosts ?? LOOPBACK_HOSTS,
    allowedOrigins: given.allowedOrigins ?? [],
    maxBodyBytes: given.maxBodyBytes ?? 16 * 1024 * 1024,
    rateLimit: given.rateLimit ?? { perSecond: 1000, burst: 5000 },
    answerTimeoutMs: given.answerTimeoutMs ?? 60_000,
    watchPollMs: given.watchPollMs ?? 250,
    maxWatches: given.maxWatches ?? 1000,
    onFailure: given.onFailure ?? (() => undefined),
  };
}

export const invalid = (message: string): StateError => new StateError("INVALID_ARGUMENT", `serve(): ${message}`);
