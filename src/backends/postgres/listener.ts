import { sleep } from "../../internal/sleep.ts";
import type { ListeningClient } from "./connect.ts";

/** Registrations are renewed, and everybody is rung in case a notification was lost. */
const HEARTBEAT_MS = 5_000;
export const REGISTRATION_MS: number = 12 * HEARTBEAT_MS;
const RECONNECT_MS = 1_000;

export interface ListenerOptions {
  readonly channel: string;
  readonly open: () => Promise<ListeningClient>;
  /** Makes saves of these threads notify, for a while. */
  readonly register: (threadIds: readonly string[]) => Promise<unknown>;
  readonly unregister: (threadIds: readonly string[]) => Promise<unknown>;
}

/**
 * Hears of changes on one connection of its own, which is there while somebody
 * is subscribed and comes back when it is lost. Nobody depends on it: the
 * heartbeat rings too, so a pooler that swallows notifications makes a watch
 * slower and not deaf.
 */
export class ChangeListener {
  readonly #options: ListenerOptions;
  readonly #subscribers = new Map<string, Set<() => void>>();
  #listening: Promise<void> | undefined;
  #isLive = false;
  #stopWaiting: () => void = () => undefined;
  #leaving: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  subscribe(threadId: string, onChange: () => void): () => void {
    // A function of its own, so that one callback may be subscribed twice.
    const ring = (): void => onChange();
    const rings = this.#subscribers.get(threadId) ?? new Set();
    this.#subscribers.set(threadId, rings.add(ring));
    if (this.#isLive) void this.#register([threadId]);
    else this.#listening ??= this.#listen();
    return () => this.#unsubscribe(threadId, ring);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const ids = [...this.#subscribers.keys()];
    this.#subscribers.clear();
    this.#stopWaiting();
    if (ids.length > 0) this.#leave(ids);
    await this.#listening;
    await this.#leaving;
  }

  #unsubscribe(threadId: string, ring: () => void): void {
    const rings = this.#subscribers.get(threadId);
    if (!rings?.delete(ring) || rings.size > 0) return;
    this.#subscribers.delete(threadId);
    this.#leave([threadId]);
    if (this.#subscribers.size === 0) this.#stopWaiting();
  }

  /** A registration that could not be taken back runs out by itself. */
  #leave(threadIds: readonly string[]): void {
    const left = this.#options.unregister(threadIds).catch(() => undefined);
    this.#leaving = Promise.all([this.#leaving, left]);
  }

  async #listen(): Promise<void> {
    const heartbeat = setInterval(() => void this.#register([...this.#subscribers.keys()]), HEARTBEAT_MS);
    while (this.#subscribers.size > 0) {
      await this.#session().catch(() => undefined);
      this.#isLive = false;
      if (this.#subscribers.size > 0) await this.#pause();
    }
    clearInterval(heartbeat);
    this.#listening = this.#subscribers.size > 0 ? this.#listen() : undefined;
  }

  async #session(): Promise<void> {
    const over = new Promise<void>((resolve) => (this.#stopWaiting = resolve));
    const client = await this.#options.open();
    const lost = new Promise<void>((resolve) => {
      client.on("end", resolve);
      client.on("error", () => resolve());
    });
    client.on("notification", ({ payload }) => this.#ring(payload ?? ""));
    try {
      await client.connect();
      await client.query(`LISTEN ${this.#options.channel}`);
      this.#isLive = true;
      await this.#register([...this.#subscribers.keys()]);
      await Promise.race([over, lost]);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async #pause(): Promise<void> {
    const over = new AbortController();
    this.#stopWaiting = () => over.abort();
    await sleep(RECONNECT_MS, over.signal).catch(() => undefined);
  }

  /** What happened before the registration was not heard of, so there is something to look at afterwards. */
  async #register(threadIds: readonly string[]): Promise<void> {
    await this.#options.register(threadIds).catch(() => undefined);
    for (const threadId of threadIds) this.#ring(threadId);
    const gone = threadIds.filter((threadId) => !this.#subscribers.has(threadId));
    if (gone.length > 0 && !this.#closed) this.#leave(gone);
  }

  #ring(threadId: string): void {
    for (const ring of this.#subscribers.get(threadId) ?? []) ring();
  }
}
