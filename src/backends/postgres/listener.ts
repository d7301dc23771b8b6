import { sleep } from "../../internal/time.ts";
import type { ListeningClient } from "./open-client.ts";

/** How often registrations are renewed. Every subscriber is notified then too, in case a notification was lost. */
const HEARTBEAT_MS = 5_000;
export const REGISTRATION_MS: number = 12 * HEARTBEAT_MS;
/** How often every subscriber is notified instead while there is no connection to listen on. */
const RECONNECT_MS = 1_000;
const END_PATIENCE_MS = 1_000;

export interface ListenerOptions {
  readonly channel: string;
  readonly open: () => Promise<ListeningClient>;
  /** Makes saves of these threads notify, for a limited time. */
  readonly register: (threadIds: readonly string[]) => Promise<unknown>;
  readonly unregister: (threadIds: readonly string[]) => Promise<unknown>;
}

/**
 * Listens for changes on a dedicated connection, which is open while there are
 * subscribers and is opened again when it is lost. Correctness does not depend on
 * it: without it every subscriber is notified once a second, and a heartbeat
 * notifies in any case.
 *
 * It listens only when connected to the server directly. Behind a pooler, `LISTEN`
 * would stay on the pooler's connection after we are gone, and others would get our
 * notifications.
 */
export class ChangeListener {
  readonly #options: ListenerOptions;
  readonly #subscribers = new Map<string, Set<() => void>>();
  #listening: Promise<void> | undefined;
  #isLive = false;
  #isPooled = false;
  #stopWaiting: () => void = () => undefined;
  #leaving: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  subscribe(threadId: string, onChange: () => void): () => void {
    // A new function for each call, so that one callback can be subscribed twice.
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

  /** A registration that could not be deleted expires by itself. */
  #leave(threadIds: readonly string[]): void {
    const left = this.#options.unregister(threadIds).catch(() => undefined);
    this.#leaving = Promise.all([this.#leaving, left]);
  }

  async #listen(): Promise<void> {
    const heartbeat = setInterval(() => {
      if (this.#isLive) void this.#register([...this.#subscribers.keys()]);
    }, HEARTBEAT_MS);
    while (this.#subscribers.size > 0) {
      if (!this.#isPooled) await this.#session().catch(() => undefined);
      this.#isLive = false;
      for (const threadId of [...this.#subscribers.keys()]) this.#ring(threadId);
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
    const listening = async (): Promise<void> => {
      await client.connect();
      this.#isPooled = !(await isTheServers(client));
      if (this.#isPooled) return;
      await client.query(`LISTEN ${this.#options.channel}`);
      this.#isLive = true;
      await this.#register([...this.#subscribers.keys()]);
      await lost;
    };
    try {
      await Promise.race([over, listening()]);
    } finally {
      const ended = new AbortController();
      const patience = sleep(END_PATIENCE_MS, ended.signal).catch(() => undefined);
      await Promise.race([client.end().catch(() => undefined), patience]);
      ended.abort();
    }
  }

  async #pause(): Promise<void> {
    const over = new AbortController();
    this.#stopWaiting = () => over.abort();
    await sleep(RECONNECT_MS, over.signal).catch(() => undefined);
  }

  /** Changes made before the registration sent no notification, so subscribers must look once afterwards. */
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

/** A pooler reports process ids of its own instead of the server's. */
async function isTheServers(client: ListeningClient): Promise<boolean> {
  const { rows } = await client.query("SELECT pg_backend_pid()::text AS pid");
  return (rows[0] as { readonly pid?: string } | undefined)?.pid === String(client.processID);
}
