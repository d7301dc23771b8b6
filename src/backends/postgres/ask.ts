import type { Access } from "../../driver/access.ts";
import { StateError } from "../../errors.ts";
import { lateAfter } from "../../internal/late-after.ts";
import { type BoundedStatement, boundedQuery } from "./bounded-query.ts";
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
  /** Whether a commit may wait for a standby: see `giveUp`. */
  readonly isReplicated?: () => boolean;
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
  const client = await borrow(pool, bounds.connectTimeoutMs);
  let failure: Error | undefined;
  // While we hold the connection the pool does not listen to it, and an unhandled "error" event would end the process.
  const onError = (error: Error): void => {
    failure ??= error;
  };
  client.on("error", onError);
  const release = (): void => {
    client.removeListener("error", onError);
    client.release(failure);
  };
  let leaving: Promise<void> | undefined;
  const ask: Connection["ask"] = (text, values = [], { signal, isKept = false } = {}) =>
    answer(client, bounds, { text, values, isKept }, signal, () => {
      leaving = bounds.isReplicated?.() ? Promise.resolve() : cancelStatement(client);
    });
  try {
    return await work({ ask });
  } catch (error) {
    failure ??= error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    // A pooler can pass the cancel request on only while the connection is open. The caller does not wait for it.
    if (leaving === undefined) release();
    else void leaving.then(release);
  }
}

/** A pool that was handed in may have no limit for the wait. We always have one. */
function borrow(pool: PostgresPool, timeoutMs: number): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const fail = (error: unknown): void => reject(neverSent(explained(error)));
    const stop = lateAfter(timeoutMs + GRACE_MS, () => {
      isLate = true;
      fail(new StateError("TIMEOUT", `no connection within ${timeoutMs} ms`));
    });
    connected(pool).then(
      (client) => {
        stop();
        // A connection that arrives after the timeout goes back to the pool.
        if (isLate) client.release();
        else resolve(client);
      },
      (error: unknown) => {
        stop();
        fail(error);
      },
    );
  });
}

const waiting = new WeakMap<PostgresPool, Set<Promise<PostgresClient>>>();

/** A pool throws at once where a file that its settings name cannot be read. */
async function connected(pool: PostgresPool): Promise<PostgresClient> {
  const connecting = pool.connect();
  const others = waiting.get(pool) ?? new Set();
  waiting.set(pool, others.add(connecting));
  try {
    return await connecting;
  } finally {
    others.delete(connecting);
  }
}

/** A pool that is told to end forgets who waits for a connection, and never answers them. */
export async function nobodyWaitsFor(pool: PostgresPool): Promise<void> {
  await Promise.allSettled(waiting.get(pool) ?? []);
}

/**
 * The server's answer, or TIMEOUT when there is no answer. By then the server has
 * aborted the statement by itself, unless it is committing. `giveUp` asks the server
 * to cancel. A commit that waits for a standby must not be cancelled: it would then
 * be made without the standby.
 */
function answer(
  client: PostgresClient,
  { statementTimeoutMs: timeoutMs, access = "write" }: Bounds,
  statement: BoundedStatement,
  signal: AbortSignal | undefined,
  giveUp: () => void,
): Promise<readonly TextRow[]> {
  return new Promise((resolve, reject) => {
    const abandon = (error: unknown): void => {
      giveUp();
      settle(() => reject(error));
    };
    const settle = (end: () => void): void => {
      stop();
      signal?.removeEventListener("abort", onAbort);
      end();
    };
    const onAbort = (): void => abandon(signal?.reason);
    const late = (): void => abandon(new StateError("TIMEOUT", `no answer within ${timeoutMs} ms`));
    const stop = lateAfter(timeoutMs + GRACE_MS, late);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) return settle(() => reject(signal.reason));
    boundedQuery(client, { timeoutMs, access }, statement).then(
      (rows) => settle(() => resolve(rows)),
      (error: unknown) => settle(() => reject(explained(error))),
    );
  });
}
