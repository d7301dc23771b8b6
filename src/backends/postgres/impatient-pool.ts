import { StateError } from "../../errors.ts";
import type { PostgresPool } from "./connect.ts";

/** A pool that was handed in may wait for a connection for ever; nobody here does. */
export function impatient(pool: PostgresPool, timeoutMs: number): PostgresPool {
  return {
    query: (query) => within(timeoutMs, pool.query(query)),
    connect: async () => {
      const connecting = pool.connect();
      try {
        return await within(timeoutMs, connecting);
      } catch (error) {
        // One that comes after all goes back to those who wait for it.
        void connecting.then((client) => client.release()).catch(() => undefined);
        throw error;
      }
    },
    on: (event, listener) => pool.on(event, listener),
    removeListener: (event, listener) => pool.removeListener(event, listener),
    end: () => pool.end(),
  };
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const message = `no answer within ${timeoutMs} ms, the wait for a connection included`;
    timer = setTimeout(() => reject(new StateError("TIMEOUT", message)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
