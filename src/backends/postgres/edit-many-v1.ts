import { BY_KEY, jsonb, MICROSECONDS, refuse, UNSORTED, unindexed, wordsIn } from "./expressions-v1.ts";
import type { TableNames } from "./layout.ts";

/** What `append_many` takes. Callers use named parameters. */
export const MANY: string = `
    p_threads text[], p_generations text[], p_expected_writes text[], p_seqs integer[], p_bases integer[], p_heads integer[], p_write_ids text[],
    p_checkpoint_ids text[], p_headers text[], p_metadatas text[], p_starts integer[], p_lengths integer[], p_bodies bytea`;

/** What is dropped and what is replaced, each with the place of its thread in the arrays before; their bodies are behind the others. */
export const EDIT_MANY: string = `${MANY},
    p_belows integer[], p_dropped_places integer[], p_dropped integer[], p_old_places integer[], p_old_seqs integer[],
    p_old_bases integer[], p_old_heads integer[], p_old_write_ids text[], p_old_checkpoint_ids text[], p_old_names text[],
    p_old_headers text[], p_old_metadatas text[], p_old_starts integer[], p_old_lengths integer[], p_old_words text[]`;

/**
 * One record for each of several threads, as `append_many` does it, and with it what is
 * dropped and replaced in them. A record that is to be replaced and is missing refuses the
 * whole group: then each call goes alone, and only its own fails.
 */
export function createEditMany(names: TableNames): string {
  const { editMany, appendMany, threads, records, names: named, words } = names;
  const old = (...columns: readonly string[]): string =>
    `unnest(${["places", ...columns].map((column) => `p_old_${column}`).join(", ")}) AS o (place, ${columns.join(", ")})`;
  return `CREATE FUNCTION ${editMany} (${EDIT_MANY}) RETURNS integer[]
    LANGUAGE plpgsql ${BY_KEY} ${UNSORTED} AS $body$
    DECLARE
      taken integer[] := ${appendMany} (p_threads, p_generations, p_expected_writes, p_seqs, p_bases, p_heads, p_write_ids,
        p_checkpoint_ids, p_headers, p_metadatas, p_starts, p_lengths, p_bodies);
      replaced integer;
    BEGIN
      IF taken = '{}' THEN
        RETURN taken;
      END IF;
      DELETE FROM ${records} r USING unnest(taken) AS t (place)
      WHERE r.thread_id = p_threads[t.place] AND r.seq < p_belows[t.place];
      DELETE FROM ${words} w USING unnest(taken) AS t (place)
      WHERE w.thread_id = p_threads[t.place] AND w.seq < p_belows[t.place];
      DELETE FROM ${named} n USING unnest(taken) AS t (place)
      WHERE n.thread_id = p_threads[t.place] AND (n.seq < p_belows[t.place] OR EXISTS (
        SELECT FROM unnest(p_dropped_places || p_old_places, p_dropped || p_old_seqs) AS d (place, seq)
        WHERE d.place = t.place AND d.seq = n.seq));
      IF p_dropped <> '{}' THEN
        DELETE FROM ${records} r USING unnest(p_dropped_places, p_dropped) AS d (place, seq)
        WHERE d.place = ANY (taken) AND r.thread_id = p_threads[d.place] AND r.seq = d.seq;
        DELETE FROM ${words} w USING unnest(p_dropped_places, p_dropped) AS d (place, seq)
        WHERE d.place = ANY (taken) AND w.thread_id = p_threads[d.place] AND w.seq = d.seq;
      END IF;
      IF p_old_places = '{}' THEN
        RETURN taken;
      END IF;
      UPDATE ${records} r SET base = o.bases, head = o.heads, write_id = o.write_ids, checkpoint_id = o.checkpoint_ids,
        names = o.names, header = o.headers, metadata = o.metadatas, body = substring(p_bodies FROM o.starts FOR o.lengths)
      FROM ${old("seqs", "bases", "heads", "write_ids", "checkpoint_ids", "names", "headers", "metadatas", "starts", "lengths")}
      WHERE o.place = ANY (taken) AND r.thread_id = p_threads[o.place] AND r.seq = o.seqs;
      GET DIAGNOSTICS replaced = ROW_COUNT;
      IF replaced < (SELECT count(*) FROM unnest(p_old_places) AS o (place) WHERE o.place = ANY (taken)) THEN
        ${refuse("a record that is to be replaced is not there")}
      END IF;
      IF array_remove(p_old_names, NULL) <> '{}' THEN
        INSERT INTO ${named} (thread_id, name, seq)
        SELECT p_threads[o.place], each.name, o.seqs
        FROM ${old("seqs", "names")}, jsonb_array_elements_text(o.names::jsonb) AS each (name) WHERE o.place = ANY (taken);
      END IF;
      -- Words of what is replaced are kept at once, however far the index is: who indexes later leaves them as they are.
      -- A record that is replaced becomes no newer by it.
      DELETE FROM ${words} w USING ${old("seqs", "words")}
      WHERE o.words IS NULL AND o.place = ANY (taken) AND w.thread_id = p_threads[o.place] AND w.seq = o.seqs;
      INSERT INTO ${words} AS w (thread_id, seq, at, words)
      SELECT p_threads[o.place], o.seqs, ${MICROSECONDS}, ${wordsIn("o.words")}
      FROM ${old("seqs", "words")} WHERE o.words IS NOT NULL AND o.place = ANY (taken)
      ON CONFLICT (thread_id, seq) DO UPDATE SET words = excluded.words WHERE w.words <> excluded.words;
      UPDATE ${threads} t SET metadata = n.metadata, unindexed = n.unindexed
      FROM (SELECT o.place, o.seqs, ${jsonb("o.metadatas")} AS metadata, ${unindexed("o.metadatas")} AS unindexed
        FROM ${old("seqs", "metadatas")} WHERE o.place = ANY (taken)) n
      WHERE t.thread_id = p_threads[n.place] AND t.head = n.seqs
        AND (t.metadata IS DISTINCT FROM n.metadata OR t.unindexed <> n.unindexed);
      RETURN taken;
    END $body$`;
}
