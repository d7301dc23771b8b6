import { numbered, type SqlDialect, type SqlText } from "../../checkpoint/sql-log/dialect.ts";
import { entryColumns } from "../../checkpoint/sql-log/rows.ts";
import type { Asking, TextRow } from "./ask.ts";
import { callOf } from "./calls.ts";
import { STANDS_OPEN } from "./expressions-v1.ts";
import type { TableNames } from "./layout.ts";

const TO_LAST = " AND t.thread_id <= :last";
const ALIVE = "(t.expires_at IS NULL OR t.expires_at > now())";

/** How PostgreSQL writes the shared reads. */
export const DIALECT: SqlDialect = {
  statement: numbered,
  page: (name) => `LIMIT :${name}`,
  now: "now()",
  ttlMs: "extract(epoch FROM t.expires_at - clock_timestamp()) * 1000",
  clock: "SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now",
  entry: entryColumns,
  body: (table, wanted) =>
    wanted === undefined ? `${table}.body` : `CASE WHEN ${wanted} THEN ${table}.body END AS body`,
  // Known without reading the value.
  bytesOf: (table) => `octet_length(${table}.body)`,
  stale: "t.stale",
  progress: "t.indexed",
  version: "r.xmin::text",
};

/** The texts of all other statements for one set of tables. Each is one round trip and needs no session. */
export interface Statements {
  readonly append: string;
  readonly appendMany: string;
  readonly appendWithEdits: string;
  readonly editMany: string;
  readonly readCheckpointMany: string;
  readonly tailMany: string;
  readonly listMany: string;
  readonly remove: string;
  readonly removeMany: string;
  readonly removeExpired: string;
  readonly sweep: string;
  readonly copy: string;
  readonly withMember: SqlText;
  readonly withMemberTo: SqlText;
  readonly standing: SqlText;
  readonly standingTo: SqlText;
  readonly search: string;
  readonly index: string;
  readonly sortWords: string;
  readonly watch: string;
  readonly unwatch: string;
}

/** Kept are calls of functions: the server then keeps no plan that a growing table could make a bad one. */
export const ASKING: { readonly [Statement in keyof Statements]?: Asking } = {
  append: { isKept: true, columns: ["appended"] },
  appendMany: { isKept: true },
  appendWithEdits: { isKept: true },
  editMany: { isKept: true },
};

/** Those with values in a fixed order. */
export type RunName = Exclude<keyof Statements, "withMember" | "withMemberTo" | "standing" | "standingTo">;

/** Runs one of the statements. */
export type RunStatement = (statement: RunName, ...values: readonly unknown[]) => Promise<readonly TextRow[]>;

const COPIED = "seq, base, head, write_id, checkpoint_id, names, header, metadata, body";

export function statements(names: TableNames): Statements {
  const { threads, records, names: named, watchers, channel } = names;
  /** Notifies the watchers of the threads in `changed`. */
  const tell = (changed: string): string =>
    `(SELECT count(pg_notify('${channel}', c.thread_id)) FROM ${changed} c
        WHERE EXISTS (SELECT FROM ${watchers} w WHERE w.thread_id = c.thread_id AND w.until > now())) AS told`;
  /** The position of the newest record of `t` with the name, as its first or a further one. */
  const newestNamed = (name: string): string => `(SELECT max(found.seq) FROM (
        SELECT max(c.seq) AS seq FROM ${records} c WHERE c.thread_id = t.thread_id AND c.checkpoint_id = ${name}
        UNION ALL SELECT max(o.seq) FROM ${named} o WHERE o.thread_id = t.thread_id AND o.name = ${name}) found)`;
  /** The page is cut before heads are joined, so that no plan reads more heads than the page needs. */
  const threadPage = (to: string): SqlText =>
    numbered(`SELECT t.thread_id, ${entryColumns("r")} FROM (
        SELECT t.thread_id, t.head FROM ${threads} t
        WHERE t.thread_id >= :first${to} AND t.head > 0 AND ${ALIVE} AND (t.unindexed OR t.metadata @> :member::jsonb)
        ORDER BY t.thread_id LIMIT :most) t
      LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = t.head
      ORDER BY t.thread_id`);
  return {
    append: `SELECT ${callOf(names.append, "append")} AS appended`,
    appendMany: `SELECT unnest(${callOf(names.appendMany, "appendMany")}) AS place`,
    appendWithEdits: `SELECT ${callOf(names.appendWithEdits, "appendWithEdits")} AS appended`,

    editMany: `SELECT unnest(${callOf(names.editMany, "editMany")}) AS place`,

    // A thread whose records exceed the bytes of one answer, together with those before it, is left out.
    readCheckpointMany: `WITH target AS MATERIALIZED (
        SELECT n.place, found.*, sum(found.bytes) OVER (ORDER BY n.place) AS so_far
        FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS n (thread_id, name, place)
          CROSS JOIN LATERAL (SELECT t.thread_id, t.generation, t.tail, c.base, c.seq, (SELECT sum(octet_length(b.body))
              FROM ${records} b WHERE b.thread_id = t.thread_id AND b.seq BETWEEN c.base AND c.seq) AS bytes
            FROM ${threads} t JOIN ${records} c ON c.thread_id = t.thread_id AND c.seq = ${newestNamed("n.name")}
            WHERE t.thread_id = n.thread_id AND ${ALIVE} OFFSET 0) found)
      SELECT t.place, r.*, t.generation, 1 AS wanted FROM target t
        CROSS JOIN LATERAL (SELECT ${entryColumns("r")}, r.body FROM ${records} r
          WHERE r.thread_id = t.thread_id AND r.seq BETWEEN t.base AND t.seq OFFSET 0) r
      WHERE t.so_far <= $3::bigint
      UNION ALL
      SELECT t.place, r.*, t.generation, 0 FROM target t
        LEFT JOIN LATERAL (SELECT ${entryColumns("r")}, NULL::bytea AS body FROM ${records} r
          WHERE r.thread_id = t.thread_id AND r.seq = t.tail OFFSET 0) r ON true
      WHERE t.so_far <= $3::bigint
      ORDER BY place, wanted DESC, seq`,

    // For several threads, each looked up by itself: a join could choose to read whole tables.
    tailMany: `SELECT n.place, found.* FROM unnest($1::text[]) WITH ORDINALITY AS n (thread_id, place)
      CROSS JOIN LATERAL (SELECT ${entryColumns("r")}, t.generation,
          extract(epoch FROM t.expires_at - clock_timestamp()) * 1000 AS ttl_ms FROM ${threads} t
          LEFT JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq = t.tail
        WHERE t.thread_id = n.thread_id AND ${ALIVE} OFFSET 0) found`,

    listMany: `SELECT n.place, found.* FROM unnest($1::text[], $2::int[], $3::int[]) WITH ORDINALITY AS n (thread_id, before, most, place)
      CROSS JOIN LATERAL (SELECT ${entryColumns("r")} FROM ${threads} t
          JOIN ${records} r ON r.thread_id = t.thread_id AND r.seq < n.before AND r.checkpoint_id IS NOT NULL
        WHERE t.thread_id = n.thread_id AND ${ALIVE} ORDER BY r.seq DESC LIMIT n.most) found
      ORDER BY n.place, found.seq DESC`,

    remove: `WITH found AS (SELECT FROM ${threads} t WHERE t.thread_id = $1 AND ${ALIVE}),
      gone AS (DELETE FROM ${threads} t WHERE t.thread_id = $1
        AND ($2::text IS NULL OR (t.generation = $2 AND t.tail = $3 AND t.tail_write_id = $4)) RETURNING t.thread_id)
      SELECT (SELECT count(*) FROM found) AS found, count(*) AS gone, ${tell("gone")} FROM gone`,

    // Returns the threads that were removed. One that another transaction holds is left out, so that no call waits for
    // another's thread.
    removeMany: `WITH held AS MATERIALIZED (
        SELECT n.thread_id, n.place
        FROM unnest($1::text[], $2::text[], $3::int[], $4::text[]) WITH ORDINALITY AS n (thread_id, generation, tail, write_id, place)
          CROSS JOIN LATERAL (SELECT FROM ${threads} t
            WHERE t.thread_id = n.thread_id AND t.generation = n.generation AND t.tail = n.tail
              AND t.tail_write_id = n.write_id AND ${ALIVE}
            FOR UPDATE SKIP LOCKED) t),
      gone AS (DELETE FROM ${threads} t WHERE t.thread_id = ANY (ARRAY(SELECT thread_id FROM held)) RETURNING t.thread_id),
      told AS (SELECT ${tell("gone")})
      SELECT h.place, told.told FROM gone JOIN held h USING (thread_id) CROSS JOIN told`,

    removeExpired: `DELETE FROM ${threads} t WHERE t.thread_id = $1 AND NOT ${ALIVE}`,

    sweep: `DELETE FROM ${threads} WHERE thread_id IN (
        SELECT thread_id FROM ${threads} WHERE expires_at <= now() ORDER BY expires_at LIMIT 100 FOR UPDATE SKIP LOCKED)`,

    copy: `WITH source AS (SELECT * FROM ${threads} t WHERE t.thread_id = $1 AND ${ALIVE}),
      made AS (
        INSERT INTO ${threads} (thread_id, generation, tail, tail_write_id, head, metadata, unindexed, expires_at)
        SELECT $2, $3, tail, tail_write_id, head, metadata, unindexed, expires_at FROM source
        ON CONFLICT (thread_id) DO NOTHING RETURNING thread_id),
      copied AS (
        INSERT INTO ${records} (thread_id, ${COPIED})
        SELECT $2, ${COPIED} FROM ${records} WHERE thread_id = $1 AND EXISTS (SELECT FROM made)),
      named AS (
        INSERT INTO ${named} (thread_id, name, seq)
        SELECT $2, name, seq FROM ${named} WHERE thread_id = $1 AND EXISTS (SELECT FROM made))
      SELECT (SELECT count(*) FROM source) AS found, count(*) AS made, ${tell("made")} FROM made`,

    withMember: threadPage(""),
    withMemberTo: threadPage(TO_LAST),

    // An index of their own: among very many threads, the planner does not know how few of them are unfinished.
    standing: threadPage(` AND ${STANDS_OPEN}`),
    standingTo: threadPage(`${TO_LAST} AND ${STANDS_OPEN}`),

    search: `SELECT w.thread_id, r.*, w.at, w.size, w.newest
      FROM ${names.searchWords} ($1::tsquery, $2, $3, $4, $5, $6, $7, $8, $9) WITH ORDINALITY AS w (thread_id, seq, at, size, newest, place)
        CROSS JOIN LATERAL (SELECT ${entryColumns("r")} FROM ${records} r
          WHERE r.thread_id = w.thread_id AND r.seq = w.seq OFFSET 0) r
      ORDER BY w.place`,

    index: `SELECT ${callOf(names.indexWords, "indexWords")} AS indexed`,

    sortWords: `SELECT ${names.sortWords} ()`,

    watch: `WITH stale AS (DELETE FROM ${watchers} WHERE until < now() - interval '1 hour')
      INSERT INTO ${watchers} (thread_id, watcher, until)
      SELECT thread_id, $2, now() + $3::int * interval '1 millisecond' FROM unnest($1::text[]) thread_id
      ON CONFLICT (thread_id, watcher) DO UPDATE SET until = excluded.until`,

    unwatch: `DELETE FROM ${watchers} WHERE watcher = $2 AND thread_id = ANY ($1::text[])`,
  };
}
