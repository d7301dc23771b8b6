import { StateError } from "../../errors.ts";
import { classify } from "./classify.ts";
import type { Address } from "./url.ts";

export type Argument = string | Buffer;

export type Command = readonly [name: string, ...args: Argument[]];

/** How a command is sent to one server. */
export type Send = (command: Command) => Promise<unknown>;

export interface Waiting {
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
}

/** What either client library is used for here. Replies hold texts as Buffers: bodies are bytes. */
export interface RedisPort {
  readonly isCluster: boolean;
  /** True of a client that was made here when its connection broke: a successor is needed. One that was handed in mends itself. */
  readonly hasEnded: boolean;
  /** Resolves when a command can be sent now. Starts connecting where nobody has. */
  ready(): Promise<void>;
  /** `key` says which node of a cluster; without one, any. */
  send(key: string | undefined, command: Command): Promise<unknown>;
  /** Ways to each server that takes writes: in a cluster, to every primary that is known. */
  primaries(): Promise<readonly Send[]>;
  /** A client of our own to the same place, over new connections; not connected yet. */
  successor(): Promise<RedisPort>;
  /** Ends a client that was made here, whatever is under way: it did not answer. One that was handed in is listened to until `close`. */
  abandon(): void;
  /** Lets go of the client: ends a connection that was made here, leaves one that was handed in. */
  close(): Promise<void>;
}

/** Both libraries' clients tell of themselves in this way. */
export interface Emitter {
  on(event: string, listener: (detail?: unknown) => void): unknown;
  off(event: string, listener: (detail?: unknown) => void): unknown;
}

/**
 * When a client that was made here tries again by itself: until its first
 * connection stands, and never after that. Its sockets do not keep the process
 * alive while nothing is asked; a timer for the next attempt would.
 */
export class Reconnecting {
  wasReady = false;
  /** `attempt` counts from 1. */
  delayMs(attempt: number): number | undefined {
    return this.wasReady ? undefined : Math.min(attempt * 50, 500);
  }
}

/** How a port came to its client, and how it comes to another one. */
export interface Origin {
  /** What a client that was made here looks at; absent for one that was handed in. */
  readonly own?: Reconnecting;
  readonly renew: Renew;
}

/** Makes a port to the same place. `usable` are nodes of a cluster to begin with; without any, those it began with before. */
export type Renew = (usable: readonly Address[]) => Promise<RedisPort>;

/**
 * Keeps an `error` listener on a client for as long as it is used here: without
 * one, a connection that breaks while idle would end the process. Remembers
 * the last error, which is the reason when the client does not get ready.
 */
export class Listening {
  readonly #client: Emitter;
  #lastError: unknown;
  #waiting: Promise<void> | undefined;
  readonly #onError = (error?: unknown): void => {
    this.#lastError = error;
  };
  readonly #onReady = (): void => {
    this.#lastError = undefined;
  };

  constructor(client: Emitter) {
    this.#client = client;
    client.on("error", this.#onError);
    client.on("ready", this.#onReady);
  }

  /** Waits for the client to get ready; not for what will not pass, such as a wrong password. All who wait, wait together. */
  untilReady(isReady: () => boolean, connect: (() => Promise<unknown>) | undefined, ms: number): Promise<void> {
    this.#waiting ??= this.#wait(isReady, connect, ms).finally(() => {
      this.#waiting = undefined;
    });
    return this.#waiting;
  }

  #wait(isReady: () => boolean, connect: (() => Promise<unknown>) | undefined, ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (end: () => void): void => {
        clearTimeout(timer);
        this.#client.off("ready", onReady);
        this.#client.off("error", onError);
        this.#client.off("end", onEnd);
        end();
      };
      const onReady = (): void => {
        if (isReady()) settle(resolve);
      };
      const onError = (error?: unknown): void => {
        if (!mayPass(error)) settle(() => reject(error));
      };
      const onEnd = (): void => settle(() => reject(this.#lastError ?? new Error("Connection is closed.")));
      const timer = setTimeout(() => settle(() => reject(this.#lastError ?? notReady(ms))), ms);
      this.#client.on("ready", onReady);
      this.#client.on("error", onError);
      this.#client.on("end", onEnd);
      connect?.().then(onReady, onError);
    });
  }

  stop(): void {
    this.#client.off("error", this.#onError);
    this.#client.off("ready", this.#onReady);
  }
}

function mayPass(error: unknown): boolean {
  const code = classify(error);
  return code === "UNAVAILABLE" || code === "TIMEOUT";
}

const notReady = (ms: number): StateError =>
  new StateError(
    "TIMEOUT",
    `no connection within ${ms} ms; see that the server runs, can be reached, and speaks TLS if the URL says so`,
  );

/**
 * What `work` ends with, unless that takes too long. What comes later is heard by
 * nobody. The timer also keeps the process alive meanwhile, which the sockets of
 * clients that were made here do not.
 */
export function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = `no answer within ${ms} ms; repeating the same call is safe, and commandTimeoutMs allows more`;
    const timer = setTimeout(() => reject(new StateError("TIMEOUT", late)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** A server that is there answers this soon, busy or not; nobody is made to wait longer to find out that one is not. */
const ALIVE_WITHIN_MS = 500;

/** Whether a server answers at all. A refusal is an answer. */
export async function isAlive(send: Send): Promise<boolean> {
  try {
    await within(ALIVE_WITHIN_MS, send(["PING"]));
    return true;
  } catch (error) {
    return !mayPass(error);
  }
}
