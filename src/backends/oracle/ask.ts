import { StateError } from "../../errors.ts";
import { lateAfter } from "../../internal/time.ts";
import { type Binds, clientBinds } from "./binds.ts";
import type { OraclePool, OracleSession } from "./connect.ts";
import { neverSent } from "./declined.ts";
import { explained } from "./explain.ts";
import type { OracleModule } from "./open-pool.ts";
import type { Row } from "./rows.ts";

export interface Bounds {
  /** How long to wait for a connection. */
  readonly connectTimeoutMs: number;
  /** After this time the server is asked to abort a statement. */
  readonly statementTimeoutMs: number;
}

/** Where sessions come from. */
export interface SessionSource {
  readonly oracledb: OracleModule;
  readonly pool: OraclePool;
  readonly bounds: Bounds;
  /** For a session that did not answer. */
  abandon(session: OracleSession): void;
}

export interface Answer {
  readonly rows: readonly Row[];
  readonly out: Readonly<Record<string, number | null>>;
}

/** A session borrowed from the pool. */
export interface Asking {
  readonly serverVersion: number;
  /** Runs one statement; with `commit`, everything this session did is committed in the same round trip. */
  ask(statement: string, binds?: Binds, commit?: boolean): Promise<Answer>;
}

/** How much longer to wait for the client's own timeout error: by then it has asked the server to stop. */
const GRACE_MS = 1_000;
/** More rows than nearly every result has: they then come with the first answer, without a further round trip. */
const ROWS_AT_ONCE = 1_000;

/** A session on which something failed is discarded, so the server rolls back its transaction. */
export async function onSession<T>(source: SessionSource, work: (asking: Asking) => Promise<T>): Promise<T> {
  const session = await borrow(source);
  const { callTimeout = 0 } = session;
  let isSilent = false;
  const bounded = async <A>(asked: Promise<A>): Promise<A> => {
    try {
      return await within(asked, source.bounds.statementTimeoutMs + GRACE_MS, source.bounds.statementTimeoutMs, () => {
        isSilent = true;
      });
    } catch (error) {
      throw explained(error);
    }
  };
  try {
    session.callTimeout = source.bounds.statementTimeoutMs;
    const result = await work({
      serverVersion: session.oracleServerVersion,
      ask: async (statement, binds = {}, commit = false) =>
        answerOf(
          await bounded(session.execute(statement, clientBinds(source.oracledb, binds), options(source, commit))),
        ),
    });
    // The work is done, even if returning the session fails.
    await bounded(giveBack(session, callTimeout)).catch(() => undefined);
    if (isSilent) source.abandon(session);
    return result;
  } catch (error) {
    // A session that does not answer is not waited for.
    if (isSilent) source.abandon(session);
    void session.close({ drop: true }).catch(() => undefined);
    throw error;
  }
}

/** A session of a handed-in pool is returned as it came; uncommitted work is rolled back. */
async function giveBack(session: OracleSession, callTimeout: number): Promise<void> {
  session.callTimeout = callTimeout;
  await session.close();
}

/** Sets every option that the program may have changed globally for its own calls. */
function options({ oracledb }: SessionSource, commit: boolean): object {
  const types = fetchTypes(oracledb);
  return {
    autoCommit: commit,
    outFormat: oracledb.OUT_FORMAT_OBJECT,
    maxRows: 0,
    prefetchRows: ROWS_AT_ONCE + 1,
    fetchArraySize: ROWS_AT_ONCE,
    resultSet: false,
    fetchTypeHandler: ({ dbType }: { dbType: unknown }) => types.get(dbType),
  };
}

/** LOBs are fetched with their rows. Our own converter keeps the client from parsing JSON. */
function fetchTypes(oracledb: OracleModule): ReadonlyMap<unknown, object> {
  const { DB_TYPE_CLOB, DB_TYPE_BLOB, DB_TYPE_VARCHAR, DB_TYPE_RAW, DB_TYPE_NUMBER } = oracledb;
  const converter = (value: unknown): unknown => value;
  return new Map([
    [DB_TYPE_CLOB, { type: DB_TYPE_VARCHAR, converter }],
    [DB_TYPE_BLOB, { type: DB_TYPE_RAW, converter }],
    [DB_TYPE_VARCHAR, { type: DB_TYPE_VARCHAR, converter }],
    [DB_TYPE_RAW, { type: DB_TYPE_RAW, converter }],
    [DB_TYPE_NUMBER, { type: DB_TYPE_NUMBER, converter }],
  ]);
}

const answerOf = ({ rows, outBinds }: { rows?: unknown[] | undefined; outBinds?: unknown }): Answer => ({
  rows: (rows ?? []) as readonly Row[],
  out: (outBinds ?? {}) as Answer["out"],
});

/** A pool may have a long limit for the wait. We always have our own. */
async function borrow({ pool, bounds: { connectTimeoutMs } }: SessionSource): Promise<OracleSession> {
  const connecting = pool.getConnection();
  try {
    return await within(connecting, connectTimeoutMs + GRACE_MS, connectTimeoutMs, () => {
      // A session that arrives after the timeout goes back to the pool.
      void connecting.then((session) => session.close()).catch(() => undefined);
    });
  } catch (error) {
    throw neverSent(explained(error));
  }
}

async function within<T>(asked: Promise<T>, ms: number, shownMs: number, onLate: () => void): Promise<T> {
  let stop: (() => void) | undefined;
  const late = new Promise<never>((_, reject) => {
    stop = lateAfter(ms, () => {
      onLate();
      reject(new StateError("TIMEOUT", `no answer within ${shownMs} ms`));
    });
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    stop?.();
  }
}
