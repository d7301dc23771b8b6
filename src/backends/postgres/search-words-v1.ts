import type { TableNames } from "./layout.ts";

/** A function of version 1 of the part `checkpoints`, frozen with it: see `checkpoints-v1.ts`. */

export const SEARCH = `
    p_query tsquery, p_first text, p_last text, p_limit integer, p_ranked integer, p_newest boolean, p_after bigint,
    p_after_thread text, p_after_seq integer`;

/** How many of the newest rows are counted first, at most, before the index of words is asked. */
const FIRST_ROWS = 4096;
const MOST_ROWS = 65_536;
/** Words of fewer bytes stand in the row itself. Longer ones are not counted among the newest: reading them takes too long. */
const SHORT_BYTES = 2000;

/**
 * Records that have the words: best first (short ones), or newest first if there are
 * more than p_ranked. p_newest is NULL on a first page, and continues the order of the
 * page before otherwise: p_after is the length or the time of its last hit.
 *
 * The plans must not depend on how many hits the server expects of a beginning of a
 * word: it expects thousands, and starts parallel workers for five. Newest first, the
 * index of words does not help, because it knows no order: the newest rows are read
 * and compared, in windows that grow. For words that only old rows have, the larger
 * windows use both indexes.
 *
 * Whether there are more than p_ranked is never guessed. The index of words can tell,
 * but it collects all hits before it gives the first: 50 ms for 350,000. The newest
 * rows cost less than half a microsecond each. If they have more than p_ranked hits,
 * that is the answer. If not, or if the first of them have too few, the index is asked.
 */
export function createSearchWords({ searchWords, threads, words }: TableNames): string {
  const within = "(p_last IS NULL OR (w.thread_id >= p_first AND w.thread_id <= p_last))";
  const alive = `JOIN LATERAL (SELECT FROM ${threads} t WHERE t.thread_id = w.thread_id
          AND (t.expires_at IS NULL OR t.expires_at > now()) OFFSET 0) t ON true`;
  const behind = (
    key: string,
    direction: "<" | ">",
  ): string => `(p_newest IS NULL OR ${key} ${direction} p_after OR (${key} = p_after
              AND (w.thread_id > p_after_thread OR (w.thread_id = p_after_thread AND w.seq < p_after_seq))))`;
  const newest = (rows: string): string => `RETURN QUERY
          SELECT w.thread_id, w.seq, w.at, w.size, true FROM (
            SELECT w.thread_id, w.seq, w.at, length(w.words) AS size FROM ${rows} w
            WHERE w.words @@ p_query AND ${within} AND ${behind("w.at", "<")}
            ORDER BY w.at DESC, w.thread_id, w.seq DESC) w ${alive}
          ORDER BY w.at DESC, w.thread_id, w.seq DESC LIMIT p_limit - taken;`;
  const hitsAmongNewest = (rows: number): string => `(
            SELECT FROM (SELECT * FROM ${words} w ORDER BY w.at DESC LIMIT ${rows}) w
            WHERE CASE WHEN pg_column_size(w.words) < ${SHORT_BYTES} THEN w.words @@ p_query END AND ${within}
            LIMIT p_ranked::bigint + 1)`;
  return `CREATE FUNCTION ${searchWords} (${SEARCH})
    RETURNS TABLE (thread_id text, seq integer, at bigint, size integer, newest boolean) LANGUAGE plpgsql STABLE
    SET max_parallel_workers_per_gather = 0 SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_custom_plan AS $body$
    DECLARE
      is_newest boolean := p_newest;
      hits bigint;
      taken bigint := 0;
      more bigint;
      high bigint := coalesce(p_after, 9223372036854775807);
      low bigint;
      rows_in_window bigint := 512;
    BEGIN
      IF is_newest IS NULL THEN
        SELECT count(*) INTO hits FROM ${hitsAmongNewest(FIRST_ROWS)} w;
        is_newest := hits > p_ranked;
        IF NOT is_newest AND hits * ${MOST_ROWS / FIRST_ROWS} > p_ranked THEN
          SELECT count(*) > p_ranked INTO is_newest FROM ${hitsAmongNewest(MOST_ROWS)} w;
        END IF;
        IF NOT is_newest THEN
          SELECT count(*) > p_ranked INTO is_newest FROM (
            SELECT FROM ${words} w WHERE w.words @@ p_query AND ${within} LIMIT p_ranked::bigint + 1) w;
        END IF;
      END IF;
      IF NOT is_newest THEN
        RETURN QUERY
          SELECT w.thread_id, w.seq, w.at, w.size, false FROM (
            SELECT w.thread_id, w.seq, w.at, length(w.words) AS size FROM ${words} w
            WHERE w.words @@ p_query AND ${within} AND ${behind("length(w.words)", ">")}
            ORDER BY length(w.words), w.thread_id, w.seq DESC) w ${alive}
          ORDER BY w.size, w.thread_id, w.seq DESC LIMIT p_limit;
        RETURN;
      END IF;
      LOOP
        SELECT w.at INTO low FROM ${words} w WHERE w.at <= high ORDER BY w.at DESC OFFSET rows_in_window LIMIT 1;
        low := coalesce(low, -1);
        IF rows_in_window <= 32768 THEN
          ${newest(`(SELECT * FROM ${words} w WHERE w.at > low AND w.at <= high ORDER BY w.at DESC OFFSET 0)`)}
        ELSE
          ${newest(`(SELECT * FROM ${words} w WHERE w.at > low AND w.at <= high)`)}
        END IF;
        GET DIAGNOSTICS more = ROW_COUNT;
        taken := taken + more;
        EXIT WHEN taken >= p_limit OR low < 0;
        high := low;
        rows_in_window := rows_in_window * 8;
      END LOOP;
    END $body$`;
}
