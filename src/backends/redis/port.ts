import { StateError } from "../../errors.ts";
import { mayPass } from "./listening.ts";
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
