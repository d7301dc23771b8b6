import type { Bounds } from "./ask.ts";
import { nameOf } from "./sessions.ts";

/** Statements that limit others: each returns no rows, so that its result cannot be confused with theirs. */
export interface Limit {
  /** For the rest of the transaction: how long a statement may take, and with read access that none may write. */
  readonly text: string;
  /** The name under which a session keeps it. */
  readonly name: string;
  /** The same for the first statement on a connection, which also tells which process of the server answers: one row. */
  readonly asking: string;
  /** For the rest of the session; `undefined` where others may use it, too. */
  readonly ofSession: string | undefined;
}

const limits = new WeakMap<Bounds, Limit>();

/** Made once for each pool. */
export function limitFor(bounds: Bounds): Limit {
  const known = limits.get(bounds);
  if (known !== undefined) return known;
  const { access = "write", isOurs = false } = bounds;
  const text = ofTransaction(bounds);
  const ofSession = isOurs && access === "write" ? ofWholeSession(bounds) : undefined;
  const limit: Limit = { text, name: nameOf(text), asking: askingWho(text), ofSession };
  limits.set(bounds, limit);
  return limit;
}

const isSmaller = (timeoutMs: number): string =>
  `current_setting('statement_timeout')::interval BETWEEN '1 microsecond' AND '${timeoutMs} milliseconds'`;

/** A smaller limit stays. CASE evaluates one WHEN after the other. */
const ofTransaction = ({ statementTimeoutMs, access }: Bounds): string => `SELECT WHERE CASE
  ${access === "read" ? "WHEN set_config('transaction_read_only', 'on', true) IS NULL THEN false" : ""}
  WHEN ${isSmaller(statementTimeoutMs)} THEN false
  ELSE set_config('statement_timeout', '${statementTimeoutMs}', true) IS NULL END`;

/** A smaller limit is set, too: otherwise it would end where the server's configuration is changed and read again. */
const ofWholeSession = ({ statementTimeoutMs }: Bounds): string => `SELECT WHERE set_config('statement_timeout', CASE
  WHEN ${isSmaller(statementTimeoutMs)} THEN current_setting('statement_timeout')
  ELSE '${statementTimeoutMs}' END, false) IS NULL`;

const askingWho = (limit: string): string => `WITH bounded AS MATERIALIZED (${limit})
  SELECT pg_backend_pid()::text AS pid, (SELECT count(*) FROM bounded)`;
