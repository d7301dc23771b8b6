import { createEditMany, EDIT_MANY, MANY } from "./edit-many-v1.ts";
import { BY_KEY, jsonb, MICROSECONDS, refuse, STANDS_OPEN, UNSORTED, unindexed, wordsIn } from "./expressions-v1.ts";
import type { TableNames } from "./layout.ts";
import { createSearchWords, SEARCH } from "./search-words-v1.ts";

/**
 * Version 1 of the part `checkpoints`. This text is frozen: it is never edited, and
 * it uses nothing that may change; `search-words-v1.ts` is frozen with it. Any later
 * change, also to the text of a function, is a version of its own. Long because it is
 * frozen as one.
 *
 * Appends run in a server-side function. One call is one round trip and one
 * transaction in every pooling mode, and the server caches the plans. Sent as plain
 * statements, planning takes as long as running.
 *
 * The thread's row is written first. The transaction that holds it has the thread to
 * itself until the commit. Each statement inside the function sees everything that
 * was committed before that statement began, not only before the call.
 */
export const checkpointsV1 = (names: TableNames, partitions: number): readonly string[] => [
  ...firstTables(names, partitions),
  createAppend(names),
  createAppendMany(names),
  createAppendWithEdits(names),
  createEditMany(names),
  createIndexWords(names),
  createSortWords(names),
  ...createDropRecords(names, partitions),
  createSearchWords(names),
];

/** The grants of a role that only works with the tables: what it needs, and nothing more. */
export function grantsV1(names: TableNames, role: string): readonly string[] {
  const { threads, records, names: named, words, watchers, append, appendMany, appendWithEdits } = names;
  const { editMany, indexWords, sortWords, searchWords } = names;
  return [
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${threads}, ${records}, ${named}, ${words}, ${watchers} TO ${role}`,
    `GRANT EXECUTE ON FUNCTION ${append} (${RECORD}), ${appendMany} (${MANY}), ${appendWithEdits} (${RECORD},${EDITS}), ${editMany} (${EDIT_MANY}), ${indexWords} (${INDEX}), ${sortWords} (), ${searchWords} (${SEARCH}) TO ${role}`,
  ];
}

/** Callers use named parameters. The prefix `p_` keeps a parameter from being mistaken for a column. */
const RECORD = `
    p_thread text, p_generation text, p_expected integer, p_expected_write text, p_seq integer, p_base integer, p_head integer, p_write_id text,
    p_checkpoint_id text, p_names text, p_header text, p_metadata text, p_body bytea, p_ttl_ms double precision`;
const EDITS = `
    p_below integer, p_dropped integer[], p_seqs integer[], p_bases integer[], p_heads integer[], p_write_ids text[],
    p_checkpoint_ids text[], p_name_lists text[], p_headers text[], p_metadatas text[], p_bodies bytea[], p_words text[]`;
const INDEX = `
    p_thread text, p_generation text, p_indexed integer, p_reached integer, p_seqs integer[], p_versions text[], p_words text[]`;

/** The parameters of a record, passed on. */
const THE_RECORD = `
        p_thread, p_generation, p_expected, p_expected_write, p_seq, p_base, p_head, p_write_id, p_checkpoint_id, p_names, p_header, p_metadata,
        p_body, p_ttl_ms`;

const partOf = (table: string, part: number): string => table.replace(/"$/, `_${part}"`);

/** One table, or a table partitioned by the hash of the thread id. */
function table(name: string, columns: string, partitions: number, storage = ""): readonly string[] {
  if (partitions === 0) return [`CREATE TABLE ${name} (${columns}) ${storage}`.trimEnd()];
  const parts = Array.from({ length: partitions }, (_, part) => {
    const values = `FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${part})`;
    return `CREATE TABLE ${partOf(name, part)} PARTITION OF ${name} ${values} ${storage}`.trimEnd();
  });
  return [`CREATE TABLE ${name} (${columns}) PARTITION BY HASH (thread_id)`, ...parts];
}

function firstTables(names: TableNames, partitions: number): readonly string[] {
  const { threads, records, names: named, words, watchers, prefix } = names;
  return [
    ...table(
      threads,
      `
       thread_id text COLLATE "C" PRIMARY KEY,
       generation text NOT NULL,
       tail integer NOT NULL,
       tail_write_id text NOT NULL,
       head integer NOT NULL,
       metadata jsonb,
       unindexed boolean NOT NULL DEFAULT false,
       indexed integer NOT NULL DEFAULT 0,
       stale boolean NOT NULL DEFAULT true,
       expires_at timestamptz
     `,
      partitions,
      "WITH (fillfactor = 70)",
    ),
    `CREATE INDEX "${prefix}threads_by_metadata" ON ${threads} USING gin (metadata jsonb_path_ops) WHERE metadata IS NOT NULL`,
    `CREATE INDEX "${prefix}threads_unindexed" ON ${threads} (thread_id) WHERE unindexed`,
    `CREATE INDEX "${prefix}threads_standing" ON ${threads} (thread_id) WHERE ${STANDS_OPEN}`,
    `CREATE INDEX "${prefix}threads_stale" ON ${threads} (thread_id) WHERE stale`,
    `CREATE INDEX "${prefix}threads_by_expiry" ON ${threads} (expires_at) WHERE expires_at IS NOT NULL`,
    ...table(
      records,
      `
       thread_id text COLLATE "C" NOT NULL,
       seq integer NOT NULL,
       base integer NOT NULL,
       head integer NOT NULL,
       write_id text,
       checkpoint_id text COLLATE "C",
       names text,
       header text NOT NULL,
       metadata text,
       body bytea NOT NULL,
       PRIMARY KEY (thread_id, seq)
     `,
      partitions,
    ),
    `CREATE INDEX "${prefix}records_by_checkpoint" ON ${records} (thread_id, checkpoint_id, seq) WHERE checkpoint_id IS NOT NULL`,
    ...table(
      named,
      `
       thread_id text COLLATE "C" NOT NULL,
       name text COLLATE "C" NOT NULL,
       seq integer NOT NULL,
       PRIMARY KEY (thread_id, name, seq)
     `,
      partitions,
    ),
    ...table(
      words,
      `
       thread_id text COLLATE "C" NOT NULL,
       seq integer NOT NULL,
       at bigint NOT NULL,
       words tsvector NOT NULL,
       PRIMARY KEY (thread_id, seq)
     `,
      partitions,
    ),
    `CREATE INDEX "${prefix}words_by_word" ON ${words} USING gin (words)`,
    `CREATE INDEX "${prefix}words_by_time" ON ${words} (at)`,
    `CREATE TABLE ${watchers} (
       thread_id text COLLATE "C" NOT NULL,
       watcher text NOT NULL,
       until timestamptz NOT NULL,
       PRIMARY KEY (thread_id, watcher)
     )`,
  ];
}

/** Stores the further names of records. `from` supplies them as `n (seq, names)`. */
const keepNames = (named: string, from: string): string =>
  `INSERT INTO ${named} (thread_id, name, seq)
        SELECT p_thread, each.name, n.seq FROM ${from}, jsonb_array_elements_text(n.names::jsonb) AS each (name);`;

function createAppend({ append, threads, records, names, watchers, channel }: TableNames): string {
  return `CREATE FUNCTION ${append} (${RECORD}) RETURNS boolean LANGUAGE plpgsql AS $body$
    DECLARE
      own_metadata text := CASE WHEN p_head = p_seq THEN p_metadata END;
      own_write text := coalesce(p_write_id, p_checkpoint_id);
    BEGIN
      IF p_expected = 0 THEN
        INSERT INTO ${threads} (thread_id, generation, tail, tail_write_id, head, metadata, unindexed, expires_at)
        VALUES (p_thread, p_generation, p_seq, own_write, p_head, ${jsonb("own_metadata")}, ${unindexed("own_metadata")},
                now() + p_ttl_ms * interval '1 millisecond')
        ON CONFLICT (thread_id) DO NOTHING;
      ELSIF p_head = p_seq THEN
        UPDATE ${threads} SET tail = p_seq, tail_write_id = own_write, head = p_head, stale = true,
          metadata = ${jsonb("own_metadata")}, unindexed = ${unindexed("own_metadata")},
          expires_at = coalesce(now() + p_ttl_ms * interval '1 millisecond', expires_at)
        WHERE thread_id = p_thread AND generation = p_generation AND tail = p_expected AND tail_write_id = p_expected_write
          AND (expires_at IS NULL OR expires_at > now());
      ELSE
        -- A mark has nothing to index; what is more than a mark may, whichever checkpoint stands for the thread.
        UPDATE ${threads} t SET tail = p_seq, tail_write_id = own_write, head = p_head, stale = t.stale OR octet_length(p_body) > 2,
          metadata = CASE WHEN t.head = p_head THEN t.metadata ELSE (SELECT ${jsonb("r.metadata")}
            FROM ${records} r WHERE r.thread_id = p_thread AND r.seq = p_head) END,
          unindexed = CASE WHEN t.head = p_head THEN t.unindexed ELSE coalesce((SELECT ${unindexed("r.metadata")}
            FROM ${records} r WHERE r.thread_id = p_thread AND r.seq = p_head), false) END,
          expires_at = coalesce(now() + p_ttl_ms * interval '1 millisecond', t.expires_at)
        WHERE t.thread_id = p_thread AND t.generation = p_generation AND t.tail = p_expected
          AND t.tail_write_id = p_expected_write AND (t.expires_at IS NULL OR t.expires_at > now());
      END IF;
      IF NOT FOUND THEN
        RETURN false;
      END IF;
      INSERT INTO ${records} (thread_id, seq, base, head, write_id, checkpoint_id, names, header, metadata, body)
      VALUES (p_thread, p_seq, p_base, p_head, p_write_id, p_checkpoint_id, p_names, p_header, p_metadata, p_body);
      IF p_names IS NOT NULL THEN
        ${keepNames(names, "(SELECT p_seq AS seq, p_names AS names) n")}
      END IF;
      -- A notification makes commits wait for one another, so there is one only while a watch is open.
      IF EXISTS (SELECT FROM ${watchers} WHERE thread_id = p_thread AND until > now()) THEN
        PERFORM pg_notify('${channel}', p_thread);
      END IF;
      RETURN true;
    END $body$`;
}

/**
 * One record for each of several threads, which must exist; returns the places in the
 * arrays of those that were appended. A thread that another transaction holds is
 * skipped, and so is one that does not fit: no call waits for another thread's lock,
 * and two groups never wait for each other. A skipped call is appended by itself, and
 * gets the reason.
 */
function createAppendMany({ appendMany, threads, records, watchers, channel }: TableNames): string {
  return `CREATE FUNCTION ${appendMany} (${MANY}) RETURNS integer[]
    LANGUAGE plpgsql SET enable_seqscan = off AS $body$
    DECLARE
      taken integer[];
    BEGIN
      SELECT array_agg(n.place) INTO taken
      FROM unnest(p_threads, p_generations, p_expected_writes, p_seqs, p_heads) WITH ORDINALITY
          AS n (thread_id, generation, expected_write, seq, head, place)
        CROSS JOIN LATERAL (
          SELECT FROM ${threads} t
          WHERE t.thread_id = n.thread_id AND t.generation = n.generation AND t.tail = n.seq - 1
            AND t.tail_write_id = n.expected_write AND (n.head = n.seq OR n.head = t.head) AND (t.expires_at IS NULL OR t.expires_at > now())
          FOR NO KEY UPDATE SKIP LOCKED) held;
      IF taken IS NULL THEN
        RETURN '{}';
      END IF;
      UPDATE ${threads} t SET tail = n.seq, tail_write_id = n.write_id, head = n.head, stale = t.stale OR n.head = n.seq OR n.length > 2,
        metadata = CASE WHEN n.head = n.seq THEN ${jsonb("n.metadata")} ELSE t.metadata END,
        unindexed = CASE WHEN n.head = n.seq THEN ${unindexed("n.metadata")} ELSE t.unindexed END
      FROM unnest(taken) AS place, LATERAL (
        SELECT p_threads[place] AS thread_id, p_seqs[place] AS seq, p_heads[place] AS head, p_metadatas[place] AS metadata,
          coalesce(p_write_ids[place], p_checkpoint_ids[place]) AS write_id,
          p_lengths[place] AS length) n
      WHERE t.thread_id = n.thread_id;
      INSERT INTO ${records} (thread_id, seq, base, head, write_id, checkpoint_id, header, metadata, body)
      SELECT p_threads[place], p_seqs[place], p_bases[place], p_heads[place], p_write_ids[place], p_checkpoint_ids[place],
        p_headers[place], p_metadatas[place], substring(p_bodies FROM p_starts[place] FOR p_lengths[place])
      FROM unnest(taken) AS place;
      PERFORM pg_notify('${channel}', w.thread_id) FROM (
        SELECT DISTINCT w.thread_id FROM ${watchers} w JOIN unnest(taken) AS place ON w.thread_id = p_threads[place]
        WHERE w.until > now()) w;
      RETURN taken;
    END $body$`;
}

/**
 * Removes and replaces first. Of the records that travel as columns, those up to
 * p_expected replace others and the rest are new.
 */
function createAppendWithEdits(names: TableNames): string {
  const { append, appendWithEdits, threads, records, names: named, words } = names;
  return `CREATE FUNCTION ${appendWithEdits} (${RECORD},${EDITS})
    RETURNS boolean LANGUAGE plpgsql ${UNSORTED} AS $body$
    DECLARE
      replaced integer;
      old_seqs integer[];
      old_times bigint[];
      to_replace integer := (SELECT count(*) FROM unnest(p_seqs) AS n (seq) WHERE n.seq <= p_expected);
      last_seq integer := greatest(p_seq, (SELECT max(n.seq) FROM unnest(p_seqs) AS n (seq)));
      last_write text := coalesce(
        (SELECT coalesce(n.write_id, n.checkpoint_id) FROM unnest(p_seqs, p_write_ids, p_checkpoint_ids)
          AS n (seq, write_id, checkpoint_id) WHERE n.seq = last_seq), p_write_id, p_checkpoint_id);
      last_head integer := coalesce((SELECT n.head FROM unnest(p_seqs, p_heads) AS n (seq, head) WHERE n.seq = last_seq), p_head);
    BEGIN
      -- A thread that begins has nothing to edit, and one that is there already must stay as it is.
      IF p_expected > 0 THEN
        PERFORM FROM ${threads} WHERE thread_id = p_thread AND generation = p_generation AND tail = p_expected
          AND tail_write_id = p_expected_write AND (expires_at IS NULL OR expires_at > now()) FOR NO KEY UPDATE;
        IF NOT FOUND THEN
          RETURN false;
        END IF;
        DELETE FROM ${records} WHERE thread_id = p_thread AND (seq < p_below OR seq = ANY (p_dropped));
        DELETE FROM ${named} WHERE thread_id = p_thread AND (seq < p_below OR seq = ANY (p_dropped || p_seqs));
        UPDATE ${records} r SET base = n.base, head = n.head, write_id = n.write_id, checkpoint_id = n.checkpoint_id,
          names = n.names, header = n.header, metadata = n.metadata, body = n.body
        FROM unnest(p_seqs, p_bases, p_heads, p_write_ids, p_checkpoint_ids, p_name_lists, p_headers, p_metadatas, p_bodies)
          AS n (seq, base, head, write_id, checkpoint_id, names, header, metadata, body)
        WHERE r.thread_id = p_thread AND r.seq = n.seq;
        GET DIAGNOSTICS replaced = ROW_COUNT;
        IF replaced < to_replace THEN
          ${refuse("a record that is to be replaced is not there")}
        END IF;
        -- Words of what is replaced are kept at once, however far the index is: who indexes later leaves them as they are.
        -- A record that is replaced becomes no newer by it.
        WITH gone AS (
          DELETE FROM ${words} WHERE thread_id = p_thread AND (seq < p_below OR seq = ANY (p_dropped || p_seqs)) RETURNING seq, at)
        SELECT array_agg(gone.seq), array_agg(gone.at) INTO old_seqs, old_times FROM gone;
        INSERT INTO ${words} (thread_id, seq, at, words)
        SELECT p_thread, n.seq, coalesce(o.at, ${MICROSECONDS}), ${wordsIn("n.words")}
        FROM unnest(p_seqs, p_words) AS n (seq, words) LEFT JOIN unnest(old_seqs, old_times) AS o (seq, at) USING (seq)
        WHERE n.words IS NOT NULL AND n.seq <= p_expected;
      END IF;
      IF NOT ${append} (${THE_RECORD}) THEN
        RETURN false;
      END IF;
      INSERT INTO ${records} (thread_id, seq, base, head, write_id, checkpoint_id, names, header, metadata, body)
      SELECT p_thread, n.* FROM unnest(
        p_seqs, p_bases, p_heads, p_write_ids, p_checkpoint_ids, p_name_lists, p_headers, p_metadatas, p_bodies)
        AS n (seq, base, head, write_id, checkpoint_id, names, header, metadata, body) WHERE n.seq > p_expected;
      ${keepNames(named, "unnest(p_seqs, p_name_lists) AS n (seq, names)")}
      UPDATE ${threads} t SET tail = last_seq, tail_write_id = last_write, head = last_head, stale = t.stale OR last_seq > p_seq, metadata = ${jsonb("h.metadata")}, unindexed = ${unindexed("h.metadata")}
      FROM (SELECT max(r.metadata) AS metadata FROM ${records} r
            WHERE r.thread_id = p_thread AND r.seq = last_head) h
      WHERE t.thread_id = p_thread;
      RETURN true;
    END $body$`;
}

/** The size of the words of one call: more are sorted into the index by the call itself, as they come. */
const MANY_BYTES = 32 * 1024;

/**
 * Stores the words of records that have not changed since the words were found: each
 * change of a row changes its `xmin`. Refuses if another process has indexed part of
 * the thread since. Never waits long for a lock.
 */
function createIndexWords({ indexWords, threads, records, words }: TableNames): string {
  return `CREATE FUNCTION ${indexWords} (${INDEX}) RETURNS boolean
    LANGUAGE plpgsql SET lock_timeout = '2s' ${UNSORTED} AS $body$
    DECLARE
      last_at bigint;
    BEGIN
      UPDATE ${threads} SET indexed = p_reached, stale = tail > p_reached
      WHERE thread_id = p_thread AND generation = p_generation AND indexed = p_indexed;
      IF NOT FOUND THEN
        RETURN false;
      END IF;
      -- More words than that take several times their room in the index while they wait there, and it never gives that back.
      IF (SELECT sum(octet_length(w.words)) FROM unnest(p_words) AS w (words)) > ${MANY_BYTES} THEN
        PERFORM set_config('gin_pending_list_limit', '64', true);
      END IF;
      -- Grows within the thread, whatever the clock does.
      last_at := greatest(${MICROSECONDS}, (SELECT w.at FROM ${words} w WHERE w.thread_id = p_thread ORDER BY w.seq DESC LIMIT 1));
      INSERT INTO ${words} (thread_id, seq, at, words)
      SELECT p_thread, n.seq, last_at + n.place, ${wordsIn("n.words")}
      FROM unnest(p_seqs, p_versions, p_words) WITH ORDINALITY AS n (seq, version, words, place)
        JOIN ${records} r ON r.thread_id = p_thread AND r.seq = n.seq AND r.xmin::text = n.version
      ON CONFLICT (thread_id, seq) DO NOTHING;
      RETURN true;
    END $body$`;
}

/**
 * Sorts into the index what waits there: see sorting-words.ts. With the rights of its
 * owner, because only the owner of an index may.
 */
function createSortWords({ sortWords, schema, prefix }: TableNames): string {
  const index = `'${schema}."${prefix}words_by_word"'::regclass`;
  return `CREATE FUNCTION ${sortWords} () RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
    BEGIN
      PERFORM gin_clean_pending_list(c.oid) FROM pg_class c WHERE c.relkind = 'i'
        AND (c.oid = ${index} OR c.oid IN (SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = ${index}));
    END $body$`;
}

/**
 * The rows of a thread are deleted with it. Foreign keys would do that too, one thread
 * after the other; and they would look the thread up for every row that is written,
 * which only happens in a transaction that holds it. A partition has a trigger of its
 * own, for threads that are deleted from it directly.
 */
function createDropRecords(
  { dropRecords, threads, records, names, words, prefix }: TableNames,
  partitions: number,
): readonly string[] {
  const places = Array.from({ length: partitions }, (_, part) => partOf(threads, part));
  const triggers = [threads, ...places].map(
    (place) => `CREATE TRIGGER "${prefix}threads_drop_records" AFTER DELETE ON ${place}
      REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ${dropRecords} ()`,
  );
  return [
    `CREATE FUNCTION ${dropRecords} () RETURNS trigger LANGUAGE plpgsql ${BY_KEY} AS $body$
    DECLARE
      ids text[] := ARRAY(SELECT thread_id FROM gone);
    BEGIN
      IF ids <> '{}' THEN
        DELETE FROM ${records} WHERE thread_id = ANY (ids);
        DELETE FROM ${names} WHERE thread_id = ANY (ids);
        DELETE FROM ${words} WHERE thread_id = ANY (ids);
      END IF;
      RETURN NULL;
    END $body$`,
    ...triggers,
  ];
}
