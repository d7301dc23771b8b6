import type { TableNames } from "./layout.ts";
import { unindexableSql } from "./metadata.ts";
import { entryColumns } from "./rows.ts";

const ALIVE = "(t.expires_at IS NULL OR t.expires_at > now())";

/** The texts of all statements, for one set of tables. Each is one round trip and needs no session. */
export interface Statements {
  readonly create: string;
  readonly advance: string;
  readonly advanceWithEdits: string;
  readonly refusal: string;
  readonly readTail: string;
  readonly readCheckpoint: string;
  readonly entry: string;
  readonly tail: string;
  readonly list: string;
  readonly remove: string;
  readonly removeExpired: string;
  readonly sweep: string;
  readonly copy: string;
  readonly isExpired: string;
  readonly threads: string;
  readonly withMember: string;
  readonly search: string;
  readonly watch: string;
  readonly unwatch: string;
}

/** $1 thread, $2 generation, $3 seq, $4 head, $5 base, $6 write id, $7 checkpoint id, $8 header, $9 metadata, $10 words, $11 body, $12 end. */
const RECORD_VALUES =
  "$1, $3, $5::int, $4, $6::text, $7::text, $8::text, $9, array_to_tsvector($10::text[]), $11::bytea";
const RECORD_COLUMNS = "thread_id, seq, base, head, write_id, checkpoint_id, header, metadata, words, body";
const END = "to_timestamp($12::float8 / 1000)";

/** Whether the new record is the head. */
const OWN = "$4::int = $3::int";

export function statements(names: TableNames): Statements {
  const { threads, records, watchers, channel } = names;
  const headMetadata = `(SELECT h.metadata FROM ${records} h WHERE h.thread_id = $1 AND h.seq = $4)`;
  const editedHeadMetadata = `CASE WHEN $4 = ANY ($16::int[])
      THEN (SELECT n.metadata FROM unnest($16::int[], $22::text[]) AS n (seq, metadata) WHERE n.seq = $4)
      ELSE ${headMetadata} END`;
  const jsonb = (text: string): string => `CASE WHEN ${unindexableSql(text)} THEN NULL ELSE ${text}::jsonb END`;
  const unindexed = (text: string): string => `coalesce(${unindexableSql(text)}, false)`;
  /** What queries look at: the metadata of the record, where it is the head; else as it is, or of an earlier checkpoint. */
  const ifOwn = (own: string, otherwise: string): string => `CASE WHEN ${OWN} THEN ${own} ELSE ${otherwise} END`;
  const ifSame = (same: string, otherwise: string): string =>
    `CASE WHEN t.head = $4 THEN ${same} ELSE ${otherwise} END`;
  /** Tells those who watch the threads of `changed`. A notification makes commits wait for one another, so only then. */
  const tell = (changed: string): string =>
    `(SELECT count(pg_notify('${channel}', c.thread_id)) FROM ${changed} c
        WHERE EXISTS (SELECT FROM ${watchers} w WHERE w.thread_id = c.thread_id AND w.until > now())) AS told`;
  const create = `thread AS (
      INSERT INTO ${threads} (thread_id, generation, tail, head, metadata, unindexed, expires_at)
      VALUES ($1, $2, $3, $4, CASE WHEN ${OWN} THEN ${jsonb("$9::text")} END,
              ${OWN} AND ${unindexed("$9::text")}, ${END})
      ON CONFLICT (thread_id) DO NOTHING RETURNING thread_id)`;
  const advance = (metadata: string, isUnindexed: string): string => `thread AS (
      UPDATE ${threads} t SET tail = $3, head = $4,
        metadata = ${ifOwn(jsonb("$9::text"), metadata)},
        unindexed = ${ifOwn(unindexed("$9::text"), isUnindexed)},
        expires_at = coalesce(${END}, t.expires_at)
      WHERE t.thread_id = $1 AND t.generation = $2 AND t.tail = $13 AND ${ALIVE} RETURNING t.thread_id)`;
  const edits = `dropped AS (
      DELETE FROM ${records} WHERE thread_id = $1 AND EXISTS (SELECT FROM thread)
        AND (seq < $14::int OR seq = ANY ($15::int[]))),
    replaced AS (
      UPDATE ${records} r SET base = n.base, head = n.head, write_id = n.write_id, checkpoint_id = n.checkpoint_id,
        header = n.header, metadata = n.metadata, body = n.body,
        words = (SELECT array_to_tsvector(array_agg(word)) FROM unnest(string_to_array(n.words, ' ')) word)
      FROM unnest($16::int[], $17::int[], $18::int[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[],
                  $24::bytea[]) AS n (seq, base, head, write_id, checkpoint_id, header, metadata, words, body)
      WHERE r.thread_id = $1 AND r.seq = n.seq AND EXISTS (SELECT FROM thread))`;
  const append = (...steps: readonly string[]): string =>
    `WITH ${steps.join(", ")},
     record AS (INSERT INTO ${records} (${RECORD_COLUMNS}) SELECT ${RECORD_VALUES} FROM thread)
     SELECT count(*) AS appended, ${tell("thread")} FROM thread`;
  const threadHeads = `SELECT t.thread_id, ${entryColumns("r")} FROM ${threads} t
      LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = t.head
    WHERE t.thread_id >= $1 AND t.thread_id <= $2 AND t.thread_id > $3 AND t.head > 0 AND ${ALIVE}`;
  return {
    create: append(create),
    advance: append(advance(ifSame("t.metadata", jsonb(headMetadata)), ifSame("t.unindexed", unindexed(headMetadata)))),
    advanceWithEdits: append(advance(jsonb(editedHeadMetadata), unindexed(editedHeadMetadata)), edits),

    refusal: `SELECT t.generation, t.tail, NOT ${ALIVE} AS expired, ${entryColumns("r")} FROM ${threads} t
      LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND (r.seq = t.tail OR r.seq = $2)
      WHERE t.thread_id = $1 ORDER BY r.seq`,

    readTail: `SELECT ${entryColumns("r")}, r.body, t.generation FROM ${threads} t
      LEFT JOIN ${records} last ON last.thread_id = t.thread_id AND last.seq = t.tail
      LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq BETWEEN last.base AND t.tail
      WHERE t.thread_id = $1 AND ${ALIVE} ORDER BY r.seq`,

    readCheckpoint: `WITH target AS (
        SELECT t.thread_id, t.generation, t.tail, c.base, c.seq FROM ${threads} t
          JOIN ${records} c ON c.thread_id = t.thread_id AND c.checkpoint_id = $2
        WHERE t.thread_id = $1 AND ${ALIVE})
      SELECT ${entryColumns("r")}, r.body, t.generation, 0 AS is_tail FROM target t
        JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq BETWEEN t.base AND t.seq
      UNION ALL
      SELECT ${entryColumns("r")}, NULL, t.generation, 1 FROM target t
        LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = t.tail
      ORDER BY is_tail, seq`,

    entry: `SELECT ${entryColumns("r")} FROM ${threads} t
        JOIN ${records} r ON r.thread_id = t.thread_id AND r.checkpoint_id = $2
      WHERE t.thread_id = $1 AND ${ALIVE}`,

    tail: `SELECT ${entryColumns("r")}, t.generation FROM ${threads} t
        LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = t.tail WHERE t.thread_id = $1 AND ${ALIVE}`,

    list: `SELECT ${entryColumns("r")} FROM ${threads} t
        JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq < $2 AND r.checkpoint_id IS NOT NULL
      WHERE t.thread_id = $1 AND ${ALIVE} ORDER BY r.seq DESC LIMIT $3`,

    remove: `WITH found AS (SELECT FROM ${threads} t WHERE t.thread_id = $1 AND ${ALIVE}),
      gone AS (DELETE FROM ${threads} t WHERE t.thread_id = $1
        AND ($2::text IS NULL OR (t.generation = $2 AND t.tail = $3)) RETURNING t.thread_id)
      SELECT (SELECT count(*) FROM found) AS found, count(*) AS gone, ${tell("gone")} FROM gone`,

    removeExpired: `DELETE FROM ${threads} t WHERE t.thread_id = $1 AND NOT ${ALIVE}`,

    sweep: `DELETE FROM ${threads} WHERE thread_id IN (
        SELECT thread_id FROM ${threads} WHERE expires_at <= now() ORDER BY expires_at LIMIT 100 FOR UPDATE SKIP LOCKED)`,

    copy: `WITH source AS (SELECT * FROM ${threads} t WHERE t.thread_id = $1 AND ${ALIVE}),
      made AS (
        INSERT INTO ${threads} (thread_id, generation, tail, head, metadata, unindexed, expires_at)
        SELECT $2, $3, tail, head, metadata, unindexed, expires_at FROM source
        ON CONFLICT (thread_id) DO NOTHING RETURNING thread_id),
      copied AS (
        INSERT INTO ${records} (${RECORD_COLUMNS})
        SELECT $2, seq, base, head, write_id, checkpoint_id, header, metadata, words, body FROM ${records}
        WHERE thread_id = $1 AND EXISTS (SELECT FROM made))
      SELECT (SELECT count(*) FROM source) AS found, count(*) AS made, ${tell("made")} FROM made`,

    isExpired: `SELECT 1 AS expired FROM ${threads} t WHERE t.thread_id = $1 AND NOT ${ALIVE}`,

    threads: `${threadHeads} ORDER BY t.thread_id LIMIT $4`,

    withMember: `${threadHeads} AND (t.unindexed OR t.metadata @> $5::jsonb) ORDER BY t.thread_id LIMIT $4`,

    search: `SELECT t.thread_id, ${entryColumns("r")}, length(r.words) AS length FROM ${records} r
        JOIN ${threads} t ON t.thread_id = r.thread_id
      WHERE r.words @@ $1::tsquery AND r.checkpoint_id IS NOT NULL
        AND t.thread_id >= $2 AND t.thread_id <= $3 AND ${ALIVE}
      ORDER BY length(r.words), t.thread_id, r.seq DESC LIMIT $4`,

    watch: `WITH stale AS (DELETE FROM ${watchers} WHERE until < now() - interval '1 hour')
      INSERT INTO ${watchers} (thread_id, watcher, until)
      SELECT thread_id, $2, now() + $3::int * interval '1 millisecond' FROM unnest($1::text[]) thread_id
      ON CONFLICT (thread_id, watcher) DO UPDATE SET until = excluded.until`,

    unwatch: `DELETE FROM ${watchers} WHERE watcher = $2 AND thread_id = ANY ($1::text[])`,
  };
}
