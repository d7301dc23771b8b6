import type { Access } from "../../driver/access.ts";
import { StateError } from "../../errors.ts";
import { lateAfter } from "../../internal/time.ts";
import { boundedQuery } from "./bounded-query.ts";
import { cancelStatement } from "./cancel.ts";
import type { PostgresClient, PostgresPool } from "./connect.ts";
import { neverSent } from "./declined.ts";
import { explained } from "./explain.ts";

/** A row as it arrives: text or null, whatever type parsers the program has registered with `pg`. */
export type TextRow = Readonly<Record<string, string | null>>;

export interface Bounds {
  /** How long to wait for a connection. */
  readonly connectTimeoutMs: number;
  /** The server aborts a statement after this time. */
  readonly statementTimeoutMs: number;
  /** With "read" every transaction is read-only. @default "write" */
  readonly access?: Access;
  /** Whether a commit may wait for a standby. */
  readonly isReplicated?: () => boolean;
  /**
   * Whether the pool belongs to this package alone, so that a limit can be set once for each connection. @default false
   */
  readonly isOurs?: boolean;
}

/** How much longer to wait for the server's own timeout error: it proves that nothing was written. */
const GRACE_MS = 500;

/** Runs one statement on any connection of the pool. Values are sent as parameters, never in the text. */
export function ask(
  pool: PostgresPool,
  bounds: Bounds,
  text: string,
  values: readonly unknown[] = [],
  asking: Asking = {},
): Promise<readonly TextRow[]> {
  return onConnection(pool, bounds, (connection) => connection.ask(text, values, asking));
}

export interface Asking {
  readonly signal?: AbortSignal | undefined;
  /** Whether the server may keep the statement: bounded-query.ts. Not within a transaction that is longer than it. */
  readonly isKept?: boolean;
  /** The columns of the answer, so that the server need not tell. Only where each value is a text, a number, bytes or null. */
  readonly columns?: readonly string[];
}

/** A connection borrowed from the pool. */
export interface Connection {
  ask(text: string, values?: readonly unknown[], asking?: Asking): Promise<readonly TextRow[]>;
}

/** A connection on which something failed is discarded, so the server rolls back its transaction. */
export async function onConnection<T>(
  pool: PostgresPool,
  bounds: Bounds,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const borrowed = new Borrowed(await borrow(pool, bounds.connectTimeoutMs), bounds);
  try {
    return await work(borrowed);
  } catch (error) {
    borrowed.failed(error);
    throw error;
  } finally {
    borrowed.giveBack();
  }
}

class Borrowed implements Connection {
  readonly #client: PostgresClient;
  readonly #bounds: Bounds;
  readonly #onError = (error: unknown): void => this.failed(error);
  #failure: Error | undefined;
  #leaving: Promise<void> | undefined;

  constructor(client: PostgresClient, bounds: Bounds) {
    this.#client = client;
    this.#bounds = bounds;
    // While we hold the connection the pool does not listen to it, and an unhandled "error" event would end the process.
    client.on("error", this.#onError);
  }

  failed(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
  }

  giveBack(): void {
    // A pooler can pass the cancel request on only while the connection is open. The caller does not wait for it.
    if (this.#leaving === undefined) this.#release();
    else void this.#leaving.then(() => this.#release());
  }

  #release(): void {
    this.#client.removeListener("error", this.#onError);
    this.#client.release(this.#failure);
  }

  /**
   * The server's answer, or TIMEOUT when there is no answer. By then the server has
   * aborted the statement by itself, unless it is committing.
   */
  ask(text: string, values: readonly unknown[] = [], asking: Asking = {}): Promise<readonly TextRow[]> {
    const { signal, isKept, columns } = asking;
    const { statementTimeoutMs } = this.#bounds;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = lateAfter(statementTimeoutMs + GRACE_MS, () =>
        abandon(new StateError("TIMEOUT", `no answer within ${statementTimeoutMs} ms`)),
      );
      const onAbort = signal && ((): void => abandon(signal.reason));
      const settle = (): void => {
        stop();
        if (onAbort !== undefined) signal?.removeEventListener("abort", onAbort);
      };
      const abandon = (error: unknown): void => {
        this.#giveUp();
        settle();
        reject(error);
      };
      if (onAbort !== undefined) signal?.addEventListener("abort", onAbort, { once: true });
      boundedQuery(this.#client, this.#bounds, { text, values, isKept, columns }, (error, rows) => {
        settle();
        if (rows === undefined) reject(explained(error));
        else resolve(rows);
      });
    });
  }

  /** A commit that waits for a standby must not be cancelled: it would then be made without the standby. */
  #giveUp(): void {
    this.#leaving = this.#bounds.isReplicated?.() ? Promise.resolve() : cancelStatement(this.#client);
  }
}

const waiting = new WeakMap<PostgresPool, Set<Promise<PostgresClient>>>();

/** A pool that was handed in may have no limit for the wait. We always have one. */
function borrow(pool: PostgresPool, timeoutMs: number): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(neverSent(explained(error)));
    let connecting: Promise<PostgresClient>;
    try {
      connecting = pool.connect();
    } catch (error) {
      // A file that its settings name cannot be read.
      return fail(error);
    }
    const others = othersWaitingFor(pool).add(connecting);
    let isLate = false;
    const stop = lateAfter(timeoutMs + GRACE_MS, () => {
      isLate = true;
      fail(new StateError("TIMEOUT", `no connection within ${timeoutMs} ms`));
    });
    connecting.then(
      (client) => {
        stop();
        others.delete(connecting);
        // A connection that arrives after the timeout goes back to the pool.
        if (isLate) client.release();
        else resolve(client);
      },
      (error: unknown) => {
        stop();
        others.delete(connecting);
        fail(error);
      },
    );
  });
}

function othersWaitingFor(pool: PostgresPool): Set<Promise<PostgresClient>> {
  const known = waiting.get(pool);
  if (known !== undefined) return known;
  const others = new Set<Promise<PostgresClient>>();
  waiting.set(pool, others);
  return others;
}

/** A pool that is told to end forgets who waits for a connection, and never answers them. */
export async function nobodyWaitsFor(pool: PostgresPool): Promise<void> {
  await Promise.allSettled(waiting.get(pool) ?? []);
}
