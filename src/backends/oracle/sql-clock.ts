/** The server's clock in UTC, independent of the time zones of the machine and the session. */
export const NOW = "SYS_EXTRACT_UTC(SYSTIMESTAMP)";

/** A time as text, and back: to the millisecond, in UTC. */
export const ISO_FORMAT = `'YYYY-MM-DD"T"HH24:MI:SS.FF3"Z"'`;

/** Whether a thread's row, with its column `expires_at`, has not expired. */
export const ALIVE: string = `(expires_at IS NULL OR expires_at > ${NOW})`;
export const aliveIn = (table: string): string => `(${table}.expires_at IS NULL OR ${table}.expires_at > ${NOW})`;
