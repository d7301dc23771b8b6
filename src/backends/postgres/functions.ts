import type { TableNames } from "./layout.ts";
import { unindexableSql } from "./metadata.ts";

/**
 * Appending, inside the server. One call is one round trip and one transaction
 * in every pooling mode, and the server keeps the plans of what is in it: sent
 * as plain statements, planning them takes as long as running them.
 *
 * The row of the thread is written first. Whoever holds it has the thread for
 * itself until the commit; and each statement inside sees what was committed
 * before it began, not only what was there when the call came in.
 */

/** In the order that the calls in statements.ts give them. */
const RECORD = [
  ["thread", "text"],
  ["generation", "text"],
  ["expected", "integer"],
  ["seq", "integer"],
  ["base", "integer"],
  ["head", "integer"],
  ["write_id", "text"],
  ["checkpoint_id", "text"],
  ["header", "text"],
  ["metadata", "text"],
  ["body", "bytea"],
  ["ttl_ms", "double precision"],
] as const;

const EDITS = [
  ["below", "integer"],
  ["dropped", "integer[]"],
  ["seqs", "integer[]"],
  ["bases", "integer[]"],
  ["heads", "integer[]"],
  ["write_ids", "text[]"],
  ["checkpoint_ids", "text[]"],
  ["headers", "text[]"],
  ["metadatas", "text[]"],
  ["bodies", "bytea[]"],
  ["words", "text[]"],
] as const;

const INDEX = [
  ["thread", "text"],
  ["generation", "text"],
  ["indexed", "integer"],
  ["reached", "integer"],
  ["seqs", "integer[]"],
  ["versions", "text[]"],
  ["words", "text[]"],
] as const;

type Parameters = readonly (readonly [name: string, type: string])[];

/** `p_`, so that none is taken for a column. */
const declared = (parameters: Parameters): string => parameters.map(([name, type]) => `p_${name} ${type}`).join(", ");
const handedOn = (parameters: Parameters): string => parameters.map(([name]) => `p_${name}`).join(", ");
const types = (parameters: Parameters): string => parameters.map(([, type]) => type).join(", ");

/** With the types of their parameters, as GRANT names them. */
export const functionSignatures = ({ append, appendWithEdits, indexWords }: TableNames): readonly string[] => [
  `${append} (${types(RECORD)})`,
  `${appendWithEdits} (${types([...RECORD, ...EDITS])})`,
  `${indexWords} (${types(INDEX)})`,
];

const PARAMETERS: Readonly<Record<"append" | "edits" | "index", Parameters>> = {
  append: RECORD,
  edits: [...RECORD, ...EDITS],
  index: INDEX,
};

/** The call, with its parameters numbered. */
export const callOf = (name: string, kind: "append" | "edits" | "index"): string =>
  `${name} (${PARAMETERS[kind].map((_, index) => `$${index + 1}`).join(", ")})`;

/** All of them, in place of older ones. */
export const createFunctions = (names: TableNames): readonly string[] => [
  createAppend(names),
  createAppendWithEdits(names),
  createIndexWords(names),
];

const jsonb = (text: string): string => `CASE WHEN ${unindexableSql(text)} THEN NULL ELSE ${text}::jsonb END`;
const unindexed = (text: string): string => `coalesce(${unindexableSql(text)}, false)`;

/** Refuses the append, with all that was done for it. */
const refuse = (reason: string): string =>
  `RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = '${reason}';`;
const IS_TAKEN = "another record of the thread has this checkpoint id";

function createAppend({ append, threads, records, watchers, channel }: TableNames): string {
  return `CREATE OR REPLACE FUNCTION ${append} (${declared(RECORD)}) RETURNS boolean LANGUAGE plpgsql AS $body$
    DECLARE
      own_metadata text := CASE WHEN p_head = p_seq THEN p_metadata END;
    BEGIN
      IF p_expected = 0 THEN
        INSERT INTO ${threads} (thread_id, generation, tail, head, metadata, unindexed, expires_at)
        VALUES (p_thread, p_generation, p_seq, p_head, ${jsonb("own_metadata")}, ${unindexed("own_metadata")},
                now() + p_ttl_ms * interval '1 millisecond')
        ON CONFLICT (thread_id) DO NOTHING;
      ELSIF p_head = p_seq THEN
        UPDATE ${threads} SET tail = p_seq, head = p_head, stale = true,
          metadata = ${jsonb("own_metadata")}, unindexed = ${unindexed("own_metadata")},
          expires_at = coalesce(now() + p_ttl_ms * interval '1 millisecond', expires_at)
        WHERE thread_id = p_thread AND generation = p_generation AND tail = p_expected
          AND (expires_at IS NULL OR expires_at > now());
      ELSE
        UPDATE ${threads} SET tail = p_seq, head = p_head,
          expires_at = coalesce(now() + p_ttl_ms * interval '1 millisecond', expires_at)
        WHERE thread_id = p_thread AND generation = p_generation AND tail = p_expected
          AND (expires_at IS NULL OR expires_at > now());
      END IF;
      IF NOT FOUND THEN
        RETURN false;
      END IF;
      IF p_expected > 0 AND EXISTS (SELECT FROM ${records} WHERE thread_id = p_thread AND checkpoint_id = p_checkpoint_id) THEN
        ${refuse(IS_TAKEN)}
      END IF;
      INSERT INTO ${records} (thread_id, seq, base, head, write_id, checkpoint_id, header, metadata, body)
      VALUES (p_thread, p_seq, p_base, p_head, p_write_id, p_checkpoint_id, p_header, p_metadata, p_body);
      -- A notification makes commits wait for one another, so there is one only where somebody listens.
      IF EXISTS (SELECT FROM ${watchers} WHERE thread_id = p_thread AND until > now()) THEN
        PERFORM pg_notify('${channel}', p_thread);
      END IF;
      RETURN true;
    END $body$`;
}

/** Takes out and replaces first, so that what goes is out of the new record's way. */
function createAppendWithEdits(names: TableNames): string {
  const { append, appendWithEdits, threads, records, words } = names;
  return `CREATE OR REPLACE FUNCTION ${appendWithEdits} (${declared([...RECORD, ...EDITS])})
    RETURNS boolean LANGUAGE plpgsql AS $body$
    DECLARE
      replaced integer;
    BEGIN
      IF p_expected = 0 THEN
        RETURN ${append} (${handedOn(RECORD)});
      END IF;
      PERFORM FROM ${threads} WHERE thread_id = p_thread AND generation = p_generation AND tail = p_expected
        AND (expires_at IS NULL OR expires_at > now()) FOR NO KEY UPDATE;
      IF NOT FOUND THEN
        RETURN false;
      END IF;
      DELETE FROM ${records} WHERE thread_id = p_thread AND (seq < p_below OR seq = ANY (p_dropped));
      UPDATE ${records} r SET base = n.base, head = n.head, write_id = n.write_id, checkpoint_id = n.checkpoint_id,
        header = n.header, metadata = n.metadata, body = n.body
      FROM unnest(p_seqs, p_bases, p_heads, p_write_ids, p_checkpoint_ids, p_headers, p_metadatas, p_bodies)
        AS n (seq, base, head, write_id, checkpoint_id, header, metadata, body)
      WHERE r.thread_id = p_thread AND r.seq = n.seq;
      GET DIAGNOSTICS replaced = ROW_COUNT;
      IF replaced < cardinality(p_seqs) THEN
        ${refuse("a record that is to be replaced is not there")}
      END IF;
      IF EXISTS (SELECT FROM unnest(p_seqs, p_checkpoint_ids) AS n (seq, checkpoint_id) JOIN ${records} r
          ON r.thread_id = p_thread AND r.checkpoint_id = n.checkpoint_id AND r.seq <> n.seq) THEN
        ${refuse(IS_TAKEN)}
      END IF;
      -- Words of what is replaced are kept at once, however far the index is: who indexes later leaves them as they are.
      DELETE FROM ${words} WHERE thread_id = p_thread AND (seq < p_below OR seq = ANY (p_dropped || p_seqs));
      INSERT INTO ${words} (thread_id, seq, words)
      SELECT p_thread, n.seq, array_to_tsvector(string_to_array(n.words, ' '))
      FROM unnest(p_seqs, p_words) AS n (seq, words) WHERE n.words IS NOT NULL;
      IF NOT ${append} (${handedOn(RECORD)}) THEN
        RETURN false;
      END IF;
      UPDATE ${threads} t SET edits = t.edits + 1,
        metadata = ${jsonb("h.metadata")}, unindexed = ${unindexed("h.metadata")}
      FROM (SELECT max(r.metadata) AS metadata FROM ${records} r
            WHERE r.thread_id = p_thread AND r.seq = p_head) h
      WHERE t.thread_id = p_thread;
      RETURN true;
    END $body$`;
}

/**
 * Words of records that are still what they were when the words were found: a
 * version is the row's, and another one after any change. Refuses where another
 * process has indexed some of the thread since; waits for no lock for long.
 */
function createIndexWords({ indexWords, threads, records, words }: TableNames): string {
  return `CREATE OR REPLACE FUNCTION ${indexWords} (${declared(INDEX)}) RETURNS boolean
    LANGUAGE plpgsql SET lock_timeout = '2s' AS $body$
    BEGIN
      UPDATE ${threads} SET indexed = p_reached, stale = tail > p_reached
      WHERE thread_id = p_thread AND generation = p_generation AND indexed = p_indexed;
      IF NOT FOUND THEN
        RETURN false;
      END IF;
      INSERT INTO ${words} (thread_id, seq, words)
      SELECT p_thread, n.seq, array_to_tsvector(string_to_array(n.words, ' '))
      FROM unnest(p_seqs, p_versions, p_words) AS n (seq, version, words)
        JOIN ${records} r ON r.thread_id = p_thread AND r.seq = n.seq AND r.xmin::text = n.version
      ON CONFLICT (thread_id, seq) DO NOTHING;
      RETURN true;
    END $body$`;
}
