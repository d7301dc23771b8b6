import { StateError } from "../../errors.ts";
import { type Binds, clientBinds } from "./binds.ts";
import type { OraclePool, OracleSession } from "./connect.ts";
import { neverSent } from "./declined.ts";
import { explained } from "./explain.ts";
import type { OracleModule } from "./open-pool.ts";
import type { Row } from "./rows.ts";

export interface Bounds {
  /** How long to wait for a connection. */
  readonly connectTimeoutMs: number;
  /** After which the server is asked to give a statement up. */
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

/** A session that is ours for a while. */
export interface Asking {
  readonly serverVersion: number;
  /** One statement; with `commit`, all that this session did is committed with it, in the same round trip. */
  ask(statement: string, binds?: Binds, commit?: boolean): Promise<Answer>;
}

/** The client's own "too late" is worth waiting for: it has asked the server to stop by then. */
const GRACE_MS = 1_000;
/** More rows than nearly every answer has: they then come with it, and not in a round trip of their own. */
const ROWS_AT_ONCE = 1_000;

/** After a failure the session goes too, and the server undoes what it was in the middle of. */
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
    // What was done is done, whatever becomes of the session.
    await bounded(giveBack(session, callTimeout)).catch(() => undefined);
    if (isSilent) source.abandon(session);
    return result;
  } catch (error) {
    // A session that says nothing is not waited for.
    if (isSilent) source.abandon(session);
    void session.close({ drop: true }).catch(() => undefined);
    throw error;
  }
}

/** A session of somebody else's pool goes back as it came; what was not committed on it is undone. */
async function giveBack(session: OracleSession, callTimeout: number): Promise<void> {
  session.callTimeout = callTimeout;
  await session.close();
}

/** Every option that the program could have set for all of its own calls. */
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

/** LOBs come with their rows. A converter of our own keeps the client from parsing JSON. */
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

/** A pool may let us wait for a connection for long; nobody here does. */
async function borrow({ pool, bounds: { connectTimeoutMs } }: SessionSource): Promise<OracleSession> {
  const connecting = pool.getConnection();
  try {
    return await within(connecting, connectTimeoutMs + GRACE_MS, connectTimeoutMs, () => {
      // One that comes after all goes back to those who wait for it.
      void connecting.then((session) => session.close()).catch(() => undefined);
    });
  } catch (error) {
    throw neverSent(explained(error));
  }
}

async function within<T>(asked: Promise<T>, ms: number, shownMs: number, onLate: () => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      onLate();
      reject(new StateError("TIMEOUT", `no answer within ${shownMs} ms`));
    }, ms);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
