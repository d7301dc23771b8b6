import { StateError } from "../errors.ts";
import { sleep } from "../internal/sleep.ts";
import { entityTag } from "../wire/names.ts";
import { EVENTS_TYPE, HEARTBEAT_MS } from "../wire/protocol.ts";
import type { Answer } from "./answers.ts";
import type { TenantLog } from "./tenant-log.ts";

const encoder = new TextEncoder();
const CHANGE = encoder.encode("event: change\ndata:\n\n");
const HEARTBEAT = encoder.encode(": still here\n\n");

/** The watches that are open: a limited number of them, and all end when the service closes. */
export class Watches {
  readonly #open = new Set<() => void>();
  readonly #limit: number;
  readonly #pollMs: number;
  #closed = false;

  constructor(limit: number, pollMs: number) {
    this.#limit = limit;
    this.#pollMs = pollMs;
  }

  /** A stream of events. The first comes at once: whatever happened while nobody listened is covered by it. */
  watch(log: TenantLog, threadId: string, asked: AbortSignal): Answer {
    if (this.#closed) throw new StateError("UNAVAILABLE", "the service is closing");
    if (this.#open.size >= this.#limit) throw new StateError("RATE_LIMITED", "too many watches are open");
    const stop = new AbortController();
    const end = (): void => stop.abort();
    this.#open.add(end);
    asked.addEventListener("abort", end, { once: true });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const send = (bytes: Uint8Array): void => {
          // A reader that does not keep up needs no second notice of the same kind.
          if (!stop.signal.aborted && (controller.desiredSize ?? 0) > -8) controller.enqueue(bytes);
        };
        const change = (): void => send(CHANGE);
        const unsubscribe = log.subscribe(threadId, change);
        if (log.tellsOfChanges) change();
        else void poll(log, threadId, this.#pollMs, stop.signal, change);
        const heartbeat = setInterval(() => send(HEARTBEAT), HEARTBEAT_MS);
        stop.signal.addEventListener("abort", () => {
          this.#open.delete(end);
          clearInterval(heartbeat);
          unsubscribe();
          closeQuietly(controller);
        });
      },
      cancel: end,
    });
    return { status: 200, type: EVENTS_TYPE, body };
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
      (tail) => (tail === undefined ? "absent" : entityTag({ generation: tail.generation, seq: tail.entry.seq })),
      () => undefined,
    );
    if (place !== seen || place === undefined) change();
    seen = place;
    await sleep(pollMs, signal).catch(() => undefined);
  }
}

function closeQuietly(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch {
    // The reader was gone first.
  }
}
