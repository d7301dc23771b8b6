/** The server's clock, in UTC: it has no zone of the machine's or of the session's in it. */
export const NOW = "SYS_EXTRACT_UTC(SYSTIMESTAMP)";

/** Whether the row of a thread, of which `expires_at` is a column, has not come to its end. */
export const ALIVE: string = `(expires_at IS NULL OR expires_at > ${NOW})`;
export const aliveIn = (table: string): string => `(${table}.expires_at IS NULL OR ${table}.expires_at > ${NOW})`;
