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

type Parameters = readonly (readonly [name: string, type: string])[];

/** `p_`, so that none is taken for a column. */
const declared = (parameters: Parameters): string => parameters.map(([name, type]) => `p_${name} ${type}`).join(", ");
const handedOn = (parameters: Parameters): string => parameters.map(([name]) => `p_${name}`).join(", ");
const types = (parameters: Parameters): string => parameters.map(([, type]) => type).join(", ");

/** With the types of their parameters, as GRANT names them. */
export const functionSignatures = ({ append, appendWithEdits }: TableNames): readonly string[] => [
  `${append} (${types(RECORD)})`,
  `${appendWithEdits} (${types([...RECORD, ...EDITS])})`,
];

/** The call, with its parameters numbered. */
export const callOf = (name: string, edits: boolean): string => {
  const count = RECORD.length + (edits ? EDITS.length : 0);
  return `${name} (${Array.from({ length: count }, (_, index) => `$${index + 1}`).join(", ")})`;
};

const jsonb = (text: string): string => `CASE WHEN ${unindexableSql(text)} THEN NULL ELSE ${text}::jsonb END`;
const unindexed = (text: string): string => `coalesce(${unindexableSql(text)}, false)`;

export function createAppend({ append, threads, records, watchers, channel }: TableNames): string {
  return `CREATE FUNCTION ${append} (${declared(RECORD)}) RETURNS boolean LANGUAGE plpgsql AS $body$
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
      INSERT INTO ${records} (thread_id, seq, base, head, write_id, checkpoint_id, header, metadata, body)
      VALUES (p_thread, p_seq, p_base, p_head, p_write_id, p_checkpoint_id, p_header, p_metadata, p_body);
      -- A notification makes commits wait for one another, so there is one only where somebody listens.
      IF EXISTS (SELECT FROM ${watchers} WHERE thread_id = p_thread AND until > now()) THEN
        PERFORM pg_notify('${channel}', p_thread);
      END IF;
      RETURN true;
    END $body$`;
}

export function createAppendWithEdits(names: TableNames): string {
  const { append, appendWithEdits, threads, records, words } = names;
  return `CREATE FUNCTION ${appendWithEdits} (${declared([...RECORD, ...EDITS])})
    RETURNS boolean LANGUAGE plpgsql AS $body$
    BEGIN
      IF NOT ${append} (${handedOn(RECORD)}) THEN
        RETURN false;
      END IF;
      DELETE FROM ${records} WHERE thread_id = p_thread AND (seq < p_below OR seq = ANY (p_dropped));
      UPDATE ${records} r SET base = n.base, head = n.head, write_id = n.write_id, checkpoint_id = n.checkpoint_id,
        header = n.header, metadata = n.metadata, body = n.body
      FROM unnest(p_seqs, p_bases, p_heads, p_write_ids, p_checkpoint_ids, p_headers, p_metadatas, p_bodies)
        AS n (seq, base, head, write_id, checkpoint_id, header, metadata, body)
      WHERE r.thread_id = p_thread AND r.seq = n.seq;
      DELETE FROM ${words} WHERE thread_id = p_thread AND (seq < p_below OR seq = ANY (p_dropped || p_seqs));
      INSERT INTO ${words} (thread_id, seq, words)
      SELECT p_thread, n.seq, array_to_tsvector(string_to_array(n.words, ' ')) FROM unnest(p_seqs, p_words) AS n (seq, words)
      WHERE n.words IS NOT NULL AND n.seq <= (SELECT t.indexed FROM ${threads} t WHERE t.thread_id = p_thread);
      UPDATE ${threads} t SET edits = t.edits + 1,
        metadata = ${jsonb("h.metadata")}, unindexed = ${unindexed("h.metadata")}
      FROM (SELECT max(r.metadata) AS metadata FROM ${records} r
            WHERE r.thread_id = p_thread AND r.seq = p_head) h
      WHERE t.thread_id = p_thread;
      RETURN true;
    END $body$`;
}
