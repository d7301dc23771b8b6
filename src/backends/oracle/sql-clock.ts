/** The server's clock, in UTC: it has no zone of the machine's or of the session's in it. */
export const NOW = "SYS_EXTRACT_UTC(SYSTIMESTAMP)";

/** A moment as text, and back: to the millisecond, in UTC. */
export const ISO_FORMAT = `'YYYY-MM-DD"T"HH24:MI:SS.FF3"Z"'`;

/** Whether the row of a thread, of which `expires_at` is a column, has not come to its end. */
export const ALIVE: string = `(expires_at IS NULL OR expires_at > ${NOW})`;
export const aliveIn = (table: string): string => `(${table}.expires_at IS NULL OR ${table}.expires_at > ${NOW})`;
