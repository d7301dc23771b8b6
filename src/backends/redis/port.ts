import { StateError } from "../../errors.ts";
import { lateAfter } from "../../internal/time.ts";
import { mayPass } from "./listening.ts";
import type { Address } from "./url.ts";

export type Argument = string | Buffer;

export type Command = readonly [name: string, ...args: Argument[]];

/** Sends a command to one server. */
export type Send = (command: Command) => Promise<unknown>;

export interface Waiting {
  readonly connectTimeoutMs: number;
  readonly commandTimeoutMs: number;
}

/** What is used of either client library. Replies hold strings as Buffers, because bodies are bytes. */
export interface RedisPort {
  readonly isCluster: boolean;
  /**
   * True if a client that was made here has lost its connection: it needs a
   * successor. A client that was handed in reconnects itself.
   */
  readonly hasEnded: boolean;
  /** Whether a command can be sent now. */
  readonly isReady: boolean;
  /** Resolves when a command can be sent. Connects if that has not been started. */
  ready(): Promise<void>;
  /** `key` selects the node of a cluster; without a key, any node is used. */
  send(key: string | undefined, command: Command): Promise<unknown>;
  /** A sender to each server that takes writes: in a cluster, to every known primary. */
  primaries(): Promise<readonly Send[]>;
  /** A new client of our own to the same place, not connected yet. */
  successor(): Promise<RedisPort>;
  /**
   * Ends a client that was made here, with calls in progress: it did not answer. A
   * handed-in client keeps its listener until `close`.
   */
  abandon(): void;
  /** Lets go of the client: ends a connection that was made here, leaves one that was handed in open. */
  close(): Promise<void>;
}

/**
 * A client that was made here. It makes one connection and never reconnects by itself: the retries of a call do that,
 * so that a closed port fails as soon as it does elsewhere, and no reconnect timer keeps an idle process alive.
 */
export interface OwnClient {
  wasReady: boolean;
}

/** Where a port's client came from, and how to get another one. */
export interface Origin {
  /** Present for a client that was made here; absent for one that was handed in. */
  readonly own?: OwnClient;
  readonly renew: Renew;
}

/** Makes a port to the same place. `usable` are the cluster nodes to start with; if empty, the original ones. */
export type Renew = (usable: readonly Address[]) => Promise<RedisPort>;

/**
 * The result of `work`, or TIMEOUT. A result that comes later is ignored. The timer
 * also keeps the process alive meanwhile, which the sockets of clients that were
 * made here do not.
 */
export function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = lateAfter(ms, () => reject(late(ms)));
    work.then(
      (answer) => {
        stop();
        resolve(answer);
      },
      (error: unknown) => {
        stop();
        reject(error);
      },
    );
  });
}

const late = (ms: number): StateError =>
  new StateError(
    "TIMEOUT",
    `no answer within ${ms} ms; repeating the same call is safe, and commandTimeoutMs allows more`,
  );

/** A live server answers this soon, even when busy. We wait no longer to learn that one is dead. */
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
