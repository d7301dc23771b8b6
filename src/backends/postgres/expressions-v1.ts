/** Expressions that several functions of version 1 share. Frozen with it: see checkpoints-v1.ts. */

/** Matches JSON text that jsonb cannot hold: see metadata.ts. */
const isUnindexable = (text: string): string => `${text} ~* E'\\\\\\\\u(0000|d[89a-f])'`;
export const jsonb = (text: string): string => `CASE WHEN ${isUnindexable(text)} THEN NULL ELSE ${text}::jsonb END`;
export const unindexed = (text: string): string => `coalesce(${isUnindexable(text)}, false)`;

/** The condition on a thread's row: its metadata may say that it is unfinished or waits for something. */
export const STANDS_OPEN = "(unindexed OR metadata ?| '{holdfast.unfinished,holdfast.waiting,holdfast.inDoubt}')";

/** The server's clock, as a whole number. */
export const MICROSECONDS = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/** Words as they travel, as a tsvector. */
export const wordsIn = (text: string): string => `array_to_tsvector(string_to_array(${text}, ' '))`;

/** Refuses the append and rolls back what was done for it. */
export const refuse = (reason: string): string =>
  `RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = '${reason}';`;

/**
 * For functions that look up a few rows by their key: a plan that was made while the
 * tables were small would read whole tables when they have grown.
 */
export const BY_KEY = "SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off";

/**
 * For functions that write words while they hold a thread: they leave them to
 * `sort_words`, unless very many wait already. In kB; it is PostgreSQL's own default.
 */
export const UNSORTED = "SET gin_pending_list_limit = 4096";
