import type { SaverTables, TableNames } from "./layout.ts";
import { entryColumns } from "./rows.ts";
import { ALIVE, aliveIn, ISO_FORMAT, NOW } from "./sql-clock.ts";

/** A query in two texts: the first returns only short values, in one round trip; the second returns all. */
export interface Reading {
  readonly short: string;
  readonly long: string;
}

/** The texts of all statements except appends, for one set of tables. */
export interface Statements {
  readonly refusal: Reading;
  readonly readTail: Reading;
  readonly readNewer: Reading;
  readonly readRecords: Reading;
  readonly readCheckpoint: Reading;
  readonly entry: Reading;
  readonly tail: Reading;
  readonly list: Reading;
  readonly remove: string;
  readonly removeExpired: string;
  readonly sweep: string;
  readonly copy: string;
  readonly isExpired: string;
  /** Threads that meet a further condition on `t`. */
  readonly threads: (condition?: string) => Reading;
  readonly now: string;
}

/** Copies the rows of a saver with a thread. */
const copyGraph = ({ checkpoints, writes }: SaverTables): string =>
  [
    [checkpoints, "checkpoint_ns, checkpoint_id, parent_checkpoint_id, created_at, metadata, seq"],
    [writes, "checkpoint_ns, checkpoint_id, task_id, idx, channel, seq"],
  ]
    .map(
      ([table, columns]) => `
  INSERT INTO ${table} (thread_id, ${columns})
  SELECT v_target, ${columns} FROM ${table} WHERE thread_id = v_source;`,
    )
    .join("");

const both = (text: (isLong: boolean) => string): Reading => ({ short: text(false), long: text(true) });

const COPIED = [
  ...[
    "seq",
    "base",
    "head",
    "write_id",
    "checkpoint_id",
    "names",
    "header",
    "metadata",
    "unindexed",
    "body",
    "lengthy",
  ],
  ...["body_bytes", "long_names", "long_header", "long_metadata", "long_body"],
].join(", ");

/** The remaining lifetime of a thread. */
const LEFT = `t.expires_at - ${NOW}`;
const TTL_MS = `EXTRACT(DAY FROM (${LEFT})) * 86400000 + EXTRACT(HOUR FROM (${LEFT})) * 3600000
        + EXTRACT(MINUTE FROM (${LEFT})) * 60000 + EXTRACT(SECOND FROM (${LEFT})) * 1000`;

export function statements({ threads, records, names, saver }: TableNames): Statements {
  /** A record's columns; its body only if the condition `wanted` holds. */
  const record = (isLong: boolean, wanted?: string): string => {
    const columns = isLong ? ["body", "long_body"] : ["body"];
    const bodies = columns.map((column) =>
      wanted === undefined ? `r.${column}` : `CASE WHEN ${wanted} THEN r.${column} END AS ${column}`,
    );
    return [entryColumns("r", isLong), ...bodies].join(", ");
  };
  /** The position of the newest record of `t` with the name. */
  const newestNamed = `(SELECT MAX(n.seq) FROM ${names} n WHERE n.thread_id = t.thread_id AND n.name = :b_name)`;
  return {
    refusal: both(
      (
        isLong,
      ) => `SELECT t.generation, t.tail, CASE WHEN ${aliveIn("t")} THEN 0 ELSE 1 END AS expired, ${entryColumns("r", isLong)}
FROM ${threads} t
LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND (r.seq = t.tail OR r.seq = :b_seq)
WHERE t.thread_id = :b_thread ORDER BY r.seq`,
    ),

    readTail: both(
      (isLong) => `SELECT ${record(isLong)}, t.generation, 1 AS wanted FROM ${threads} t
LEFT JOIN ${records} e ON e.thread_id = t.thread_id AND e.seq = t.tail
LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq BETWEEN e.base AND t.tail
WHERE t.thread_id = :b_thread AND ${aliveIn("t")} ORDER BY r.seq`,
    ),

    // The tail always comes, without its body if that is known already.
    readNewer: both(
      (
        isLong,
      ) => `SELECT ${record(isLong, "r.seq > t.known")}, t.generation, CASE WHEN r.seq > t.known THEN 1 ELSE 0 END AS wanted
FROM (SELECT thread_id, generation, tail,
    CASE WHEN generation = :b_generation THEN COALESCE((SELECT k.seq FROM ${records} k
      WHERE k.thread_id = :b_thread AND k.seq = :b_seq AND COALESCE(k.write_id, k.checkpoint_id) = :b_write_id), 0)
      ELSE 0 END AS known
  FROM ${threads} WHERE thread_id = :b_thread AND ${ALIVE}) t
LEFT JOIN ${records} e ON e.thread_id = t.thread_id AND e.seq = t.tail
LEFT JOIN ${records} r ON r.thread_id = t.thread_id
  AND r.seq BETWEEN GREATEST(e.base, LEAST(t.known + 1, t.tail)) AND t.tail
ORDER BY r.seq`,
    ),

    // Limited by count and by bytes, but always at least one record. The tail comes first, without its body.
    readRecords: both(
      (isLong) => `SELECT ${record(isLong, "n.wanted = 1")}, t.generation, n.wanted FROM ${threads} t
JOIN (
  SELECT m.seq, 1 AS wanted FROM (
    SELECT l.seq, l.body_bytes, SUM(l.body_bytes) OVER (ORDER BY l.seq DESC) AS so_far FROM (
      SELECT seq, body_bytes FROM ${records} WHERE thread_id = :b_thread AND seq < :b_before
      ORDER BY seq DESC FETCH FIRST :b_most ROWS ONLY) l) m
  WHERE m.so_far <= :b_bytes OR m.so_far = m.body_bytes
  UNION ALL
  SELECT tail, 0 FROM ${threads} WHERE thread_id = :b_thread) n ON 1 = 1
LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = n.seq
WHERE t.thread_id = :b_thread AND ${aliveIn("t")}
ORDER BY n.wanted, r.seq`,
    ),

    readCheckpoint: both(
      (isLong) => `SELECT ${record(isLong, "k.wanted = 1")}, t.generation, k.wanted FROM ${threads} t
JOIN ${records} c ON c.thread_id = t.thread_id AND c.seq = ${newestNamed}
JOIN (SELECT 0 AS wanted FROM dual UNION ALL SELECT 1 FROM dual) k ON 1 = 1
LEFT JOIN ${records} r ON r.thread_id = t.thread_id
  AND r.seq BETWEEN CASE WHEN k.wanted = 1 THEN c.base ELSE t.tail END AND CASE WHEN k.wanted = 1 THEN c.seq ELSE t.tail END
WHERE t.thread_id = :b_thread AND ${aliveIn("t")}
ORDER BY k.wanted, r.seq`,
    ),

    entry: both(
      (isLong) => `SELECT ${entryColumns("r", isLong)} FROM ${threads} t
JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = ${newestNamed}
WHERE t.thread_id = :b_thread AND ${aliveIn("t")}`,
    ),

    tail: both(
      (isLong) => `SELECT ${entryColumns("r", isLong)}, t.generation,
  ${TTL_MS} AS ttl_ms
FROM ${threads} t
LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = t.tail
WHERE t.thread_id = :b_thread AND ${aliveIn("t")}`,
    ),

    list: both(
      (isLong) => `SELECT ${entryColumns("r", isLong)} FROM ${threads} t
JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq < :b_before AND r.checkpoint_id IS NOT NULL
WHERE t.thread_id = :b_thread AND ${aliveIn("t")} ORDER BY r.seq DESC FETCH FIRST :b_most ROWS ONLY`,
    ),

    remove: `DECLARE
  v_thread VARCHAR2(1088 BYTE) := :b_thread;
  v_generation VARCHAR2(1024 BYTE) := :b_generation;
  v_seq NUMBER := :b_seq;
  v_write_id VARCHAR2(1024 BYTE) := :b_write_id;
  v_found NUMBER;
  v_gone NUMBER;
BEGIN
  SELECT COUNT(*) INTO v_found FROM ${threads} WHERE thread_id = v_thread AND ${ALIVE};
  DELETE FROM ${threads} WHERE thread_id = v_thread
    AND (v_generation IS NULL OR (generation = v_generation AND tail = v_seq AND tail_write_id = v_write_id));
  v_gone := SQL%ROWCOUNT;
  :b_found := v_found;
  :b_gone := v_gone;
END;`,

    removeExpired: `DELETE FROM ${threads} WHERE thread_id = :b_thread AND expires_at <= ${NOW}`,

    sweep: `BEGIN
  FOR expired IN (SELECT thread_id FROM ${threads} WHERE expires_at <= ${NOW} AND ROWNUM <= 100 FOR UPDATE SKIP LOCKED) LOOP
    DELETE FROM ${threads} WHERE thread_id = expired.thread_id;
  END LOOP;
END;`,

    copy: `DECLARE
  v_source VARCHAR2(1088 BYTE) := :b_source;
  v_target VARCHAR2(1088 BYTE) := :b_target;
  v_generation VARCHAR2(1024 BYTE) := :b_generation;
  v_tail NUMBER;
  v_tail_write_id VARCHAR2(1024 BYTE);
  v_head NUMBER;
  v_checkpoint_id VARCHAR2(1024 BYTE);
  v_summary VARCHAR2(4000 BYTE);
  v_metadata CLOB;
  v_unindexed NUMBER;
  v_expires TIMESTAMP(3);
BEGIN
  :b_outcome := 0;
  BEGIN
    SELECT tail, tail_write_id, head, checkpoint_id, summary, metadata, unindexed, expires_at
    INTO v_tail, v_tail_write_id, v_head, v_checkpoint_id, v_summary, v_metadata, v_unindexed, v_expires
    FROM ${threads} WHERE thread_id = v_source AND ${ALIVE}
    FOR UPDATE;
  EXCEPTION
    WHEN NO_DATA_FOUND THEN
      RETURN;
  END;
  BEGIN
    INSERT INTO ${threads} (thread_id, generation, tail, tail_write_id, head, checkpoint_id, summary, metadata, unindexed,
      updated_at, expires_at)
    VALUES (v_target, v_generation, v_tail, v_tail_write_id, v_head, v_checkpoint_id, v_summary, v_metadata, v_unindexed, SYSTIMESTAMP, v_expires);
  EXCEPTION
    WHEN DUP_VAL_ON_INDEX THEN
      :b_outcome := 1;
      RETURN;
  END;
  INSERT INTO ${records} (thread_id, ${COPIED})
  SELECT v_target, ${COPIED} FROM ${records} WHERE thread_id = v_source;
  INSERT INTO ${names} (thread_id, name, seq)
  SELECT v_target, name, seq FROM ${names} WHERE thread_id = v_source;${saver === undefined ? "" : copyGraph(saver)}
  :b_outcome := 2;
END;`,

    isExpired: `SELECT 1 AS expired FROM ${threads} WHERE thread_id = :b_thread AND expires_at <= ${NOW}`,

    // The page is cut before heads are joined, so that no plan reads more heads than the page needs.
    threads: (condition = "") =>
      both(
        (isLong) => `SELECT t.thread_id, ${entryColumns("r", isLong)} FROM (
  SELECT t.thread_id, t.head FROM ${threads} t
  WHERE (:b_first IS NULL OR t.thread_id >= :b_first) AND (:b_last IS NULL OR t.thread_id <= :b_last)
    AND t.head > 0 AND ${aliveIn("t")}${condition}
  ORDER BY t.thread_id FETCH FIRST :b_most ROWS ONLY) t
LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = t.head
ORDER BY t.thread_id`,
      ),

    now: `SELECT TO_CHAR(${NOW}, ${ISO_FORMAT}) AS clock FROM dual`,
  };
}
