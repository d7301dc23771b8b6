import type { Pool, PoolClient } from "pg";
import type { PostgresClient, PostgresPool } from "../../src/backends/postgres/connect.ts";

/** A statement as the backend hands it to a client. */
export interface SentQuery {
  readonly text: string;
  readonly name?: string | undefined;
}

/** The pool, with a look at every statement before it is sent; and at the connection behind it when it is given back. */
export function observedPool(
  pool: Pool,
  onQuery: (query: SentQuery) => void | Promise<void>,
  onRelease?: (client: PoolClient) => Promise<void>,
): PostgresPool {
  const observed = (client: PoolClient): PostgresClient =>
    new Proxy(client, {
      get: (target, key) => {
        if (key === "query") {
          return async (query: SentQuery) => {
            await onQuery(query);
            return target.query(query as never);
          };
        }
        if (key === "release" && onRelease !== undefined) {
          return (failure?: Error) => void onRelease(target).finally(() => target.release(failure ?? true));
        }
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" && key !== "constructor" ? value.bind(target) : value;
      },
    }) as unknown as PostgresClient;
  return {
    connect: async () => observed(await pool.connect()),
    on: (event: string, listener: (told: never) => void) => pool.on(event as "error", listener as () => void),
    removeListener: (event: string, listener: (told: never) => void) =>
      pool.removeListener(event, listener as () => void),
    end: () => pool.end(),
  };
}
