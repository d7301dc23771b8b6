import { placeOfTail } from "../checkpoint/log/driver-rules.ts";
import { StateError } from "../errors.ts";
import { sleep } from "../internal/time.ts";
import { entityTag } from "../wire/names.ts";
import { EVENTS_TYPE, HEARTBEAT_MS } from "../wire/protocol.ts";
import type { Answer } from "./request/answers.ts";
import { Refusal } from "./request/refusal.ts";
import type { TenantLog } from "./tenants/tenant-log.ts";

const encoder = new TextEncoder();
const CHANGE = encoder.encode("event: change\ndata:\n\n");
const HEARTBEAT = encoder.encode(": still here\n\n");

export interface WatchLimits {
  readonly maxWatches: number;
  readonly maxWatchesPerTenant: number;
  readonly maxWatchMs: number;
  readonly watchPollMs: number;
}

/** A client that leaves this many notices unread is taken to have stopped reading. */
const MOST_UNREAD = 8;

/** The watches that are open: a limited number of them, for a limited time, and all end when the service closes. */
export class Watches {
  readonly #open = new Set<() => void>();
  readonly #byOwner = new Map<string, number>();
  readonly #limits: WatchLimits;
  #closed = false;

  constructor(limits: WatchLimits) {
    this.#limits = limits;
  }

  /** A stream of events. The first comes at once and covers whatever happened before the client listened. */
  watch(log: TenantLog, threadId: string, owner: string, asked: AbortSignal): Answer {
    const { maxWatchMs, watchPollMs } = this.#limits;
    this.#assertRoom(owner);
    if (asked.aborted) throw new Refusal("UNAVAILABLE", "the client is gone");
    const stop = new AbortController();
    const end = (): void => stop.abort();
    this.#enter(end, owner, stop.signal);
    asked.addEventListener("abort", end, { once: true });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const isRead = (): boolean => (controller.desiredSize ?? 0) > -MOST_UNREAD;
        const send = (bytes: Uint8Array): void => {
          // A reader that does not keep up needs no second notice of the same kind.
          if (!stop.signal.aborted && isRead()) controller.enqueue(bytes);
        };
        const change = (): void => send(CHANGE);
        const unsubscribe = subscribed(log, threadId, change, end);
        if (log.tellsOfChanges) change();
        else void poll(log, threadId, watchPollMs, stop.signal, change);
        const heartbeat = setInterval(() => (isRead() ? send(HEARTBEAT) : end()), HEARTBEAT_MS);
        const lifetime = setTimeout(end, maxWatchMs);
        stop.signal.addEventListener("abort", () => {
          asked.removeEventListener("abort", end);
          clearInterval(heartbeat);
          clearTimeout(lifetime);
          unsubscribe();
          closeQuietly(controller);
        });
      },
      cancel: end,
    });
    return { status: 200, type: EVENTS_TYPE, body };
  }

  #assertRoom(owner: string): void {
    if (this.#closed) throw new StateError("UNAVAILABLE", "the service is closing");
    const { maxWatches, maxWatchesPerTenant } = this.#limits;
    if ((this.#byOwner.get(owner) ?? 0) >= maxWatchesPerTenant) throw tooMany("of this client");
    if (this.#open.size >= maxWatches) throw tooMany("in all");
  }

  #enter(end: () => void, owner: string, stopped: AbortSignal): void {
    this.#open.add(end);
    this.#byOwner.set(owner, (this.#byOwner.get(owner) ?? 0) + 1);
    stopped.addEventListener("abort", () => {
      this.#open.delete(end);
      const left = (this.#byOwner.get(owner) ?? 1) - 1;
      if (left === 0) this.#byOwner.delete(owner);
      else this.#byOwner.set(owner, left);
    });
  }

  close(): void {
    this.#closed = true;
    for (const end of [...this.#open]) end();
  }
}

/**
 * For changes that another process made in a storage that cannot call back: one
 * look every now and then here is cheaper than one from every client. The first call comes after the first look,
 * so that no change falls between the two.
 */
async function poll(
  log: TenantLog,
  threadId: string,
  pollMs: number,
  signal: AbortSignal,
  change: () => void,
): Promise<void> {
  let seen: string | undefined;
  while (!signal.aborted) {
    // A look that fails may have missed a change: the client is told to look for itself, and meets the failure.
    const place = await log.tail(threadId).then(
      (tail) => (tail === undefined ? "absent" : entityTag(placeOfTail(tail))),
      () => undefined,
    );
    if (place !== seen || place === undefined) change();
    seen = place;
    await sleep(pollMs, signal).catch(() => undefined);
  }
}

/** A subscription that fails leaves no watch behind that is counted and never ends. */
function subscribed(log: TenantLog, threadId: string, change: () => void, end: () => void): () => void {
  try {
    return log.subscribe(threadId, change);
  } catch (error) {
    end();
    throw error;
  }
}

const tooMany = (whose: string): Refusal =>
  new Refusal("RATE_LIMITED", `too many watches ${whose} are open; end some, or try again later`, {
    headers: { "retry-after": "5" },
  });

function closeQuietly(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch {
    // The reader was gone first.
  }
}
