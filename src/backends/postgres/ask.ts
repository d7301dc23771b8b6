import type { Access } from "../../driver/access.ts";
import { StateError } from "../../errors.ts";
import { boundedQuery } from "./bounded-query.ts";
import { cancelStatement } from "./cancel.ts";
import type { PostgresClient, PostgresPool } from "./connect.ts";
import { neverSent } from "./declined.ts";
import { explained } from "./explain.ts";

/** A row as the wire has it: text or nothing, whatever parsers the program has set for its own use. */
export type TextRow = Readonly<Record<string, string | null>>;

export interface Bounds {
  /** How long to wait for a connection. */
  readonly connectTimeoutMs: number;
  /** After which the server gives a statement up. */
  readonly statementTimeoutMs: number;
  /** With "read" every transaction is read-only. @default "write" */
  readonly access?: Access;
  /** Whether a commit may wait for another machine: see `giveUp`. */
  readonly isReplicated?: () => boolean;
}

/** The server's own "too late" is worth waiting for: it proves that nothing was done. */
const GRACE_MS = 500;

/** One statement on any connection of the pool; the values travel beside the text and never in it. */
export function ask(
  pool: PostgresPool,
  bounds: Bounds,
  text: string,
  values: readonly unknown[] = [],
  signal?: AbortSignal,
): Promise<readonly TextRow[]> {
  return onConnection(pool, bounds, (connection) => connection.ask(text, values, signal));
}

/** A connection that is ours for a while. */
export interface Connection {
  ask(text: string, values?: readonly unknown[], signal?: AbortSignal): Promise<readonly TextRow[]>;
}

/** After a failure the connection goes too, and the server undoes what it was in the middle of. */
export async function onConnection<T>(
  pool: PostgresPool,
  bounds: Bounds,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const client = await borrow(pool, bounds.connectTimeoutMs);
  let failure: Error | undefined;
  // While it is ours nobody else listens, and an error that nobody listens to ends the process.
  const onError = (error: Error): void => {
    failure ??= error;
  };
  client.on("error", onError);
  const release = (): void => {
    client.removeListener("error", onError);
    client.release(failure);
  };
  let leaving: Promise<void> | undefined;
  const ask: Connection["ask"] = (text, values = [], signal) =>
    answer(client, bounds, text, values, signal, () => {
      leaving = bounds.isReplicated?.() ? Promise.resolve() : cancelStatement(client);
    });
  try {
    return await work({ ask });
  } catch (error) {
    failure ??= error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    // A pooler knows whose statement to cancel only while the connection is there. Nobody waits for it.
    if (leaving === undefined) release();
    else void leaving.then(release);
  }
}

/** A pool that was handed in may let us wait for a connection for ever; nobody here does. */
async function borrow(pool: PostgresPool, timeoutMs: number): Promise<PostgresClient> {
  let timer: NodeJS.Timeout | undefined;
  try {
    const connecting = pool.connect();
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        // One that comes after all goes back to those who wait for it.
        void connecting.then((client) => client.release()).catch(() => undefined);
        reject(new StateError("TIMEOUT", `no connection within ${timeoutMs} ms`));
      }, timeoutMs + GRACE_MS);
    });
    return await Promise.race([connecting, late]);
  } catch (error) {
    throw neverSent(explained(error));
  } finally {
    clearTimeout(timer);
  }
}

/**
 * What the server says, or TIMEOUT when it says nothing. By then it has given up
 * by itself, unless it commits: `giveUp` asks it to stop, and a commit that waits
 * for a standby must not be asked, because it would be made without it.
 */
function answer(
  client: PostgresClient,
  { statementTimeoutMs: timeoutMs, access = "write" }: Bounds,
  text: string,
  values: readonly unknown[],
  signal: AbortSignal | undefined,
  giveUp: () => void,
): Promise<readonly TextRow[]> {
  return new Promise((resolve, reject) => {
    const stop = (error: unknown): void => {
      giveUp();
      settle(() => reject(error));
    };
    const settle = (end: () => void): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      end();
    };
    const onAbort = (): void => stop(signal?.reason);
    const late = (): void => stop(new StateError("TIMEOUT", `no answer within ${timeoutMs} ms`));
    const timer = setTimeout(late, timeoutMs + GRACE_MS);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) return settle(() => reject(signal.reason));
    boundedQuery(client, { timeoutMs, access }, text, values).then(
      (rows) => settle(() => resolve(rows)),
      (error: unknown) => settle(() => reject(explained(error))),
    );
  });
}
