import type { SqlDialect, SqlTables, SqlText } from "./dialect.ts";

export type ReadName =
  | "refusal"
  | "readTail"
  | "readNewer"
  | "readRecords"
  | "readCheckpoint"
  | "entry"
  | "tail"
  | "list"
  | "isExpired"
  | "threads"
  | "threadsTo"
  | "stale"
  | "staleTo"
  | "lastStale"
  | "progress"
  | "unindexed"
  | "now";

export type Reads = Readonly<Record<ReadName, SqlText>>;

/**
 * Every read of a log. Each is one statement, and so sees one moment; each reaches records by a thread's id and a range
 * of positions, so that it costs what it returns, however long the thread is. `wanted` is 1 in the rows whose bodies
 * were asked for; the tail's row comes last.
 */
export function reads(dialect: SqlDialect, { threads, records, names }: SqlTables): Reads {
  const { entry, body, page, now, statement } = dialect;
  const alive = `(t.expires_at IS NULL OR t.expires_at > ${now})`;
  const record = (wanted?: string): string => `${entry("r")}, ${body("r", wanted)}`;
  /** The position of the newest record with the name, as its first or a further one; 0 if there is none. */
  const newestNamed = `GREATEST(
        COALESCE((SELECT MAX(f.seq) FROM ${records} f WHERE f.thread_id = :thread AND f.checkpoint_id = :name), 0),
        COALESCE((SELECT MAX(o.seq) FROM ${names} o WHERE o.thread_id = :thread AND o.name = :name), 0))`;
  /** The page is cut before heads are joined, so that no plan reads more heads than the page needs. */
  const threadPage = (to: string): string => `SELECT t.thread_id, ${entry("r")} FROM (
        SELECT t.thread_id, t.head FROM ${threads} t
        WHERE t.thread_id >= :first${to} AND t.head > 0 AND ${alive}
        ORDER BY t.thread_id ${page("most")}) t
      LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = t.head
      ORDER BY t.thread_id`;
  const stalePage = (
    to: string,
  ): string => `SELECT t.thread_id, t.generation, t.tail, ${dialect.progress} FROM ${threads} t
      WHERE ${dialect.stale} AND t.thread_id > :after${to} ORDER BY t.thread_id ${page("most")}`;
  /** As many records as `most` and `bytes` allow, but at least one. */
  const bounded = (order: "" | " DESC", range: string): string => `SELECT l.seq, l.bytes,
        SUM(l.bytes) OVER (ORDER BY l.seq${order}) AS so_far, COUNT(*) OVER () AS found FROM (
          SELECT s.seq, ${dialect.bytesOf("s")} AS bytes FROM ${records} s WHERE s.thread_id = :thread AND ${range}
          ORDER BY s.seq${order} ${page("most")}) l`;
  const texts: Readonly<Record<ReadName, string>> = {
    refusal: `SELECT t.generation, t.tail, CASE WHEN ${alive} THEN 0 ELSE 1 END AS expired, ${entry("r")} FROM ${threads} t
      LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND (r.seq = t.tail OR r.seq = :seq)
      WHERE t.thread_id = :thread ORDER BY r.seq`,

    readTail: `SELECT ${record()}, t.generation, 1 AS wanted FROM ${threads} t
      LEFT JOIN ${records} e ON e.thread_id = t.thread_id AND e.seq = t.tail
      LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq BETWEEN e.base AND t.tail
      WHERE t.thread_id = :thread AND ${alive} ORDER BY r.seq`,

    // `k` is the record that the reader knows, if it is there. The tail always comes, without its body if that is known.
    readNewer: `SELECT ${record("r.seq > COALESCE(k.seq, 0)")}, t.generation,
        CASE WHEN r.seq > COALESCE(k.seq, 0) THEN 1 ELSE 0 END AS wanted FROM ${threads} t
      LEFT JOIN ${records} k ON k.thread_id = t.thread_id AND k.seq = :seq AND t.generation = :generation
        AND COALESCE(k.write_id, k.checkpoint_id) = :write_id
      LEFT JOIN ${records} e ON e.thread_id = t.thread_id AND e.seq = t.tail
      LEFT JOIN ${records} r ON r.thread_id = t.thread_id
        AND r.seq BETWEEN GREATEST(e.base, LEAST(COALESCE(k.seq, 0) + 1, t.tail)) AND t.tail
      WHERE t.thread_id = :thread AND ${alive} ORDER BY r.seq`,

    readRecords: `SELECT ${record("n.wanted = 1")}, t.generation, n.wanted FROM ${threads} t
      JOIN (
        SELECT m.seq, 1 AS wanted FROM (${bounded(" DESC", "s.seq < :before")}) m
        WHERE m.so_far <= :bytes OR m.so_far = m.bytes
        UNION ALL
        SELECT u.tail, 0 FROM ${threads} u WHERE u.thread_id = :thread) n ON 1 = 1
      LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = n.seq
      WHERE t.thread_id = :thread AND ${alive} ORDER BY n.wanted DESC, r.seq`,

    readCheckpoint: `SELECT ${record()}, t.generation, 1 AS wanted FROM ${threads} t
        JOIN ${records} c ON c.thread_id = t.thread_id AND c.seq = ${newestNamed}
        JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq BETWEEN c.base AND c.seq
      WHERE t.thread_id = :thread AND ${alive}
      UNION ALL
      SELECT ${entry("r")}, ${body("r", "1 = 0")}, t.generation, 0 FROM ${threads} t
        JOIN ${records} c ON c.thread_id = t.thread_id AND c.seq = ${newestNamed}
        LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = t.tail
      WHERE t.thread_id = :thread AND ${alive}
      ORDER BY wanted DESC, seq`,

    entry: `SELECT ${entry("r")} FROM ${threads} t
      JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = ${newestNamed}
      WHERE t.thread_id = :thread AND ${alive}`,

    tail: `SELECT ${entry("r")}, t.generation, ${dialect.ttlMs} AS ttl_ms FROM ${threads} t
      LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = t.tail
      WHERE t.thread_id = :thread AND ${alive}`,

    list: `SELECT ${entry("r")} FROM ${threads} t
      JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq < :before AND r.checkpoint_id IS NOT NULL
      WHERE t.thread_id = :thread AND ${alive} ORDER BY r.seq DESC ${page("most")}`,

    isExpired: `SELECT 1 AS expired FROM ${threads} t WHERE t.thread_id = :thread AND t.expires_at <= ${now}`,

    threads: threadPage(""),
    threadsTo: threadPage(" AND t.thread_id <= :last"),

    stale: stalePage(""),
    staleTo: stalePage(" AND t.thread_id <= :last"),
    lastStale: `SELECT MAX(t.thread_id) AS thread_id FROM ${threads} t WHERE ${dialect.stale}`,
    progress: `SELECT ${dialect.progress} FROM ${threads} t WHERE t.thread_id = :thread AND t.generation = :generation`,
    unindexed: `SELECT ${record()}, m.found${dialect.version === undefined ? "" : `, ${dialect.version} AS version`} FROM (
        ${bounded("", "s.seq > :from_seq AND s.seq <= :to_seq")}) m
      JOIN ${records} r ON r.thread_id = :thread AND r.seq = m.seq
      WHERE m.so_far <= :bytes OR m.so_far = m.bytes ORDER BY r.seq`,

    now: dialect.clock,
  };
  const compiled = Object.entries(texts).map(([name, text]) => [name, statement(text)] as const);
  return Object.fromEntries(compiled) as Reads;
}
