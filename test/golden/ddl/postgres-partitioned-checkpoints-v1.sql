CREATE TABLE "public"."holdfast_threads" (
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
     ) PARTITION BY HASH (thread_id);

CREATE TABLE "public"."holdfast_threads_0" PARTITION OF "public"."holdfast_threads" FOR VALUES WITH (MODULUS 2, REMAINDER 0) WITH (fillfactor = 70);

CREATE TABLE "public"."holdfast_threads_1" PARTITION OF "public"."holdfast_threads" FOR VALUES WITH (MODULUS 2, REMAINDER 1) WITH (fillfactor = 70);

CREATE INDEX "holdfast_threads_by_metadata" ON "public"."holdfast_threads" USING gin (metadata jsonb_path_ops) WHERE metadata IS NOT NULL;

CREATE INDEX "holdfast_threads_unindexed" ON "public"."holdfast_threads" (thread_id) WHERE unindexed;

CREATE INDEX "holdfast_threads_standing" ON "public"."holdfast_threads" (thread_id) WHERE (unindexed OR metadata ?| '{holdfast.unfinished,holdfast.waiting,holdfast.inDoubt}');

CREATE INDEX "holdfast_threads_stale" ON "public"."holdfast_threads" (thread_id) WHERE stale;

CREATE INDEX "holdfast_threads_by_expiry" ON "public"."holdfast_threads" (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE "public"."holdfast_records" (
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
     ) PARTITION BY HASH (thread_id);

CREATE TABLE "public"."holdfast_records_0" PARTITION OF "public"."holdfast_records" FOR VALUES WITH (MODULUS 2, REMAINDER 0);

CREATE TABLE "public"."holdfast_records_1" PARTITION OF "public"."holdfast_records" FOR VALUES WITH (MODULUS 2, REMAINDER 1);

CREATE INDEX "holdfast_records_by_checkpoint" ON "public"."holdfast_records" (thread_id, checkpoint_id, seq) WHERE checkpoint_id IS NOT NULL;

CREATE TABLE "public"."holdfast_names" (
       thread_id text COLLATE "C" NOT NULL,
       name text COLLATE "C" NOT NULL,
       seq integer NOT NULL,
       PRIMARY KEY (thread_id, name, seq)
     ) PARTITION BY HASH (thread_id);

CREATE TABLE "public"."holdfast_names_0" PARTITION OF "public"."holdfast_names" FOR VALUES WITH (MODULUS 2, REMAINDER 0);

CREATE TABLE "public"."holdfast_names_1" PARTITION OF "public"."holdfast_names" FOR VALUES WITH (MODULUS 2, REMAINDER 1);

CREATE TABLE "public"."holdfast_words" (
       thread_id text COLLATE "C" NOT NULL,
       seq integer NOT NULL,
       at bigint NOT NULL,
       words tsvector NOT NULL,
       PRIMARY KEY (thread_id, seq)
     ) PARTITION BY HASH (thread_id);

CREATE TABLE "public"."holdfast_words_0" PARTITION OF "public"."holdfast_words" FOR VALUES WITH (MODULUS 2, REMAINDER 0);

CREATE TABLE "public"."holdfast_words_1" PARTITION OF "public"."holdfast_words" FOR VALUES WITH (MODULUS 2, REMAINDER 1);

CREATE INDEX "holdfast_words_by_word" ON "public"."holdfast_words" USING gin (words);

CREATE INDEX "holdfast_words_by_time" ON "public"."holdfast_words" (at);

CREATE TABLE "public"."holdfast_watchers" (
       thread_id text COLLATE "C" NOT NULL,
       watcher text NOT NULL,
       until timestamptz NOT NULL,
       PRIMARY KEY (thread_id, watcher)
     );

CREATE FUNCTION "public"."holdfast_append" (
    p_thread text, p_generation text, p_expected integer, p_expected_write text, p_seq integer, p_base integer, p_head integer, p_write_id text,
    p_checkpoint_id text, p_names text, p_header text, p_metadata text, p_body bytea, p_ttl_ms double precision) RETURNS boolean LANGUAGE plpgsql AS $body$
    DECLARE
      own_metadata text := CASE WHEN p_head = p_seq THEN p_metadata END;
      own_write text := coalesce(p_write_id, p_checkpoint_id);
    BEGIN
      IF p_expected = 0 THEN
        INSERT INTO "public"."holdfast_threads" (thread_id, generation, tail, tail_write_id, head, metadata, unindexed, expires_at)
        VALUES (p_thread, p_generation, p_seq, own_write, p_head, CASE WHEN own_metadata ~* E'\\\\u(0000|d[89a-f])' THEN NULL ELSE own_metadata::jsonb END, coalesce(own_metadata ~* E'\\\\u(0000|d[89a-f])', false),
                now() + p_ttl_ms * interval '1 millisecond')
        ON CONFLICT (thread_id) DO NOTHING;
      ELSIF p_head = p_seq THEN
        UPDATE "public"."holdfast_threads" SET tail = p_seq, tail_write_id = own_write, head = p_head, stale = true,
          metadata = CASE WHEN own_metadata ~* E'\\\\u(0000|d[89a-f])' THEN NULL ELSE own_metadata::jsonb END, unindexed = coalesce(own_metadata ~* E'\\\\u(0000|d[89a-f])', false),
          expires_at = coalesce(now() + p_ttl_ms * interval '1 millisecond', expires_at)
        WHERE thread_id = p_thread AND generation = p_generation AND tail = p_expected AND tail_write_id = p_expected_write
          AND (expires_at IS NULL OR expires_at > now());
      ELSE
        -- A mark has nothing to index; what is more than a mark may, whichever checkpoint stands for the thread.
        UPDATE "public"."holdfast_threads" t SET tail = p_seq, tail_write_id = own_write, head = p_head, stale = t.stale OR octet_length(p_body) > 2,
          metadata = CASE WHEN t.head = p_head THEN t.metadata ELSE (SELECT CASE WHEN r.metadata ~* E'\\\\u(0000|d[89a-f])' THEN NULL ELSE r.metadata::jsonb END
            FROM "public"."holdfast_records" r WHERE r.thread_id = p_thread AND r.seq = p_head) END,
          unindexed = CASE WHEN t.head = p_head THEN t.unindexed ELSE coalesce((SELECT coalesce(r.metadata ~* E'\\\\u(0000|d[89a-f])', false)
            FROM "public"."holdfast_records" r WHERE r.thread_id = p_thread AND r.seq = p_head), false) END,
          expires_at = coalesce(now() + p_ttl_ms * interval '1 millisecond', t.expires_at)
        WHERE t.thread_id = p_thread AND t.generation = p_generation AND t.tail = p_expected
          AND t.tail_write_id = p_expected_write AND (t.expires_at IS NULL OR t.expires_at > now());
      END IF;
      IF NOT FOUND THEN
        RETURN false;
      END IF;
      INSERT INTO "public"."holdfast_records" (thread_id, seq, base, head, write_id, checkpoint_id, names, header, metadata, body)
      VALUES (p_thread, p_seq, p_base, p_head, p_write_id, p_checkpoint_id, p_names, p_header, p_metadata, p_body);
      IF p_names IS NOT NULL THEN
        INSERT INTO "public"."holdfast_names" (thread_id, name, seq)
        SELECT p_thread, each.name, n.seq FROM (SELECT p_seq AS seq, p_names AS names) n, jsonb_array_elements_text(n.names::jsonb) AS each (name);
      END IF;
      -- A notification makes commits wait for one another, so there is one only while a watch is open.
      IF EXISTS (SELECT FROM "public"."holdfast_watchers" WHERE thread_id = p_thread AND until > now()) THEN
        PERFORM pg_notify('holdfast_cc5521ea18a9fcd9b30570d68abf7e06', p_thread);
      END IF;
      RETURN true;
    END $body$;

CREATE FUNCTION "public"."holdfast_append_many" (
    p_threads text[], p_generations text[], p_expected_writes text[], p_seqs integer[], p_bases integer[], p_heads integer[], p_write_ids text[],
    p_checkpoint_ids text[], p_headers text[], p_metadatas text[], p_starts integer[], p_lengths integer[], p_bodies bytea) RETURNS integer[]
    LANGUAGE plpgsql SET enable_seqscan = off AS $body$
    DECLARE
      taken integer[];
    BEGIN
      SELECT array_agg(n.place) INTO taken
      FROM unnest(p_threads, p_generations, p_expected_writes, p_seqs, p_heads) WITH ORDINALITY
          AS n (thread_id, generation, expected_write, seq, head, place)
        CROSS JOIN LATERAL (
          SELECT FROM "public"."holdfast_threads" t
          WHERE t.thread_id = n.thread_id AND t.generation = n.generation AND t.tail = n.seq - 1
            AND t.tail_write_id = n.expected_write AND (n.head = n.seq OR n.head = t.head) AND (t.expires_at IS NULL OR t.expires_at > now())
          FOR NO KEY UPDATE SKIP LOCKED) held;
      IF taken IS NULL THEN
        RETURN '{}';
      END IF;
      UPDATE "public"."holdfast_threads" t SET tail = n.seq, tail_write_id = n.write_id, head = n.head, stale = t.stale OR n.head = n.seq OR n.length > 2,
        metadata = CASE WHEN n.head = n.seq THEN CASE WHEN n.metadata ~* E'\\\\u(0000|d[89a-f])' THEN NULL ELSE n.metadata::jsonb END ELSE t.metadata END,
        unindexed = CASE WHEN n.head = n.seq THEN coalesce(n.metadata ~* E'\\\\u(0000|d[89a-f])', false) ELSE t.unindexed END
      FROM unnest(taken) AS place, LATERAL (
        SELECT p_threads[place] AS thread_id, p_seqs[place] AS seq, p_heads[place] AS head, p_metadatas[place] AS metadata,
          coalesce(p_write_ids[place], p_checkpoint_ids[place]) AS write_id,
          p_lengths[place] AS length) n
      WHERE t.thread_id = n.thread_id;
      INSERT INTO "public"."holdfast_records" (thread_id, seq, base, head, write_id, checkpoint_id, header, metadata, body)
      SELECT p_threads[place], p_seqs[place], p_bases[place], p_heads[place], p_write_ids[place], p_checkpoint_ids[place],
        p_headers[place], p_metadatas[place], substring(p_bodies FROM p_starts[place] FOR p_lengths[place])
      FROM unnest(taken) AS place;
      PERFORM pg_notify('holdfast_cc5521ea18a9fcd9b30570d68abf7e06', w.thread_id) FROM (
        SELECT DISTINCT w.thread_id FROM "public"."holdfast_watchers" w JOIN unnest(taken) AS place ON w.thread_id = p_threads[place]
        WHERE w.until > now()) w;
      RETURN taken;
    END $body$;

CREATE FUNCTION "public"."holdfast_append_with_edits" (
    p_thread text, p_generation text, p_expected integer, p_expected_write text, p_seq integer, p_base integer, p_head integer, p_write_id text,
    p_checkpoint_id text, p_names text, p_header text, p_metadata text, p_body bytea, p_ttl_ms double precision,
    p_below integer, p_dropped integer[], p_seqs integer[], p_bases integer[], p_heads integer[], p_write_ids text[],
    p_checkpoint_ids text[], p_name_lists text[], p_headers text[], p_metadatas text[], p_bodies bytea[], p_words text[])
    RETURNS boolean LANGUAGE plpgsql SET gin_pending_list_limit = 4096 AS $body$
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
        PERFORM FROM "public"."holdfast_threads" WHERE thread_id = p_thread AND generation = p_generation AND tail = p_expected
          AND tail_write_id = p_expected_write AND (expires_at IS NULL OR expires_at > now()) FOR NO KEY UPDATE;
        IF NOT FOUND THEN
          RETURN false;
        END IF;
        DELETE FROM "public"."holdfast_records" WHERE thread_id = p_thread AND (seq < p_below OR seq = ANY (p_dropped));
        DELETE FROM "public"."holdfast_names" WHERE thread_id = p_thread AND (seq < p_below OR seq = ANY (p_dropped || p_seqs));
        UPDATE "public"."holdfast_records" r SET base = n.base, head = n.head, write_id = n.write_id, checkpoint_id = n.checkpoint_id,
          names = n.names, header = n.header, metadata = n.metadata, body = n.body
        FROM unnest(p_seqs, p_bases, p_heads, p_write_ids, p_checkpoint_ids, p_name_lists, p_headers, p_metadatas, p_bodies)
          AS n (seq, base, head, write_id, checkpoint_id, names, header, metadata, body)
        WHERE r.thread_id = p_thread AND r.seq = n.seq;
        GET DIAGNOSTICS replaced = ROW_COUNT;
        IF replaced < to_replace THEN
          RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'a record that is to be replaced is not there';
        END IF;
        -- Words of what is replaced are kept at once, however far the index is: who indexes later leaves them as they are.
        -- A record that is replaced becomes no newer by it.
        WITH gone AS (
          DELETE FROM "public"."holdfast_words" WHERE thread_id = p_thread AND (seq < p_below OR seq = ANY (p_dropped || p_seqs)) RETURNING seq, at)
        SELECT array_agg(gone.seq), array_agg(gone.at) INTO old_seqs, old_times FROM gone;
        INSERT INTO "public"."holdfast_words" (thread_id, seq, at, words)
        SELECT p_thread, n.seq, coalesce(o.at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint), array_to_tsvector(string_to_array(n.words, ' '))
        FROM unnest(p_seqs, p_words) AS n (seq, words) LEFT JOIN unnest(old_seqs, old_times) AS o (seq, at) USING (seq)
        WHERE n.words IS NOT NULL AND n.seq <= p_expected;
      END IF;
      IF NOT "public"."holdfast_append" (
        p_thread, p_generation, p_expected, p_expected_write, p_seq, p_base, p_head, p_write_id, p_checkpoint_id, p_names, p_header, p_metadata,
        p_body, p_ttl_ms) THEN
        RETURN false;
      END IF;
      INSERT INTO "public"."holdfast_records" (thread_id, seq, base, head, write_id, checkpoint_id, names, header, metadata, body)
      SELECT p_thread, n.* FROM unnest(
        p_seqs, p_bases, p_heads, p_write_ids, p_checkpoint_ids, p_name_lists, p_headers, p_metadatas, p_bodies)
        AS n (seq, base, head, write_id, checkpoint_id, names, header, metadata, body) WHERE n.seq > p_expected;
      INSERT INTO "public"."holdfast_names" (thread_id, name, seq)
        SELECT p_thread, each.name, n.seq FROM unnest(p_seqs, p_name_lists) AS n (seq, names), jsonb_array_elements_text(n.names::jsonb) AS each (name);
      UPDATE "public"."holdfast_threads" t SET tail = last_seq, tail_write_id = last_write, head = last_head, stale = t.stale OR last_seq > p_seq, metadata = CASE WHEN h.metadata ~* E'\\\\u(0000|d[89a-f])' THEN NULL ELSE h.metadata::jsonb END, unindexed = coalesce(h.metadata ~* E'\\\\u(0000|d[89a-f])', false)
      FROM (SELECT max(r.metadata) AS metadata FROM "public"."holdfast_records" r
            WHERE r.thread_id = p_thread AND r.seq = last_head) h
      WHERE t.thread_id = p_thread;
      RETURN true;
    END $body$;

CREATE FUNCTION "public"."holdfast_edit_many" (
    p_threads text[], p_generations text[], p_expected_writes text[], p_seqs integer[], p_bases integer[], p_heads integer[], p_write_ids text[],
    p_checkpoint_ids text[], p_headers text[], p_metadatas text[], p_starts integer[], p_lengths integer[], p_bodies bytea,
    p_belows integer[], p_dropped_places integer[], p_dropped integer[], p_old_places integer[], p_old_seqs integer[],
    p_old_bases integer[], p_old_heads integer[], p_old_write_ids text[], p_old_checkpoint_ids text[], p_old_names text[],
    p_old_headers text[], p_old_metadatas text[], p_old_starts integer[], p_old_lengths integer[], p_old_words text[]) RETURNS integer[]
    LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET gin_pending_list_limit = 4096 AS $body$
    DECLARE
      taken integer[] := "public"."holdfast_append_many" (p_threads, p_generations, p_expected_writes, p_seqs, p_bases, p_heads, p_write_ids,
        p_checkpoint_ids, p_headers, p_metadatas, p_starts, p_lengths, p_bodies);
      replaced integer;
    BEGIN
      IF taken = '{}' THEN
        RETURN taken;
      END IF;
      DELETE FROM "public"."holdfast_records" r USING unnest(taken) AS t (place)
      WHERE r.thread_id = p_threads[t.place] AND r.seq < p_belows[t.place];
      DELETE FROM "public"."holdfast_words" w USING unnest(taken) AS t (place)
      WHERE w.thread_id = p_threads[t.place] AND w.seq < p_belows[t.place];
      DELETE FROM "public"."holdfast_names" n USING unnest(taken) AS t (place)
      WHERE n.thread_id = p_threads[t.place] AND (n.seq < p_belows[t.place] OR EXISTS (
        SELECT FROM unnest(p_dropped_places || p_old_places, p_dropped || p_old_seqs) AS d (place, seq)
        WHERE d.place = t.place AND d.seq = n.seq));
      IF p_dropped <> '{}' THEN
        DELETE FROM "public"."holdfast_records" r USING unnest(p_dropped_places, p_dropped) AS d (place, seq)
        WHERE d.place = ANY (taken) AND r.thread_id = p_threads[d.place] AND r.seq = d.seq;
        DELETE FROM "public"."holdfast_words" w USING unnest(p_dropped_places, p_dropped) AS d (place, seq)
        WHERE d.place = ANY (taken) AND w.thread_id = p_threads[d.place] AND w.seq = d.seq;
      END IF;
      IF p_old_places = '{}' THEN
        RETURN taken;
      END IF;
      UPDATE "public"."holdfast_records" r SET base = o.bases, head = o.heads, write_id = o.write_ids, checkpoint_id = o.checkpoint_ids,
        names = o.names, header = o.headers, metadata = o.metadatas, body = substring(p_bodies FROM o.starts FOR o.lengths)
      FROM unnest(p_old_places, p_old_seqs, p_old_bases, p_old_heads, p_old_write_ids, p_old_checkpoint_ids, p_old_names, p_old_headers, p_old_metadatas, p_old_starts, p_old_lengths) AS o (place, seqs, bases, heads, write_ids, checkpoint_ids, names, headers, metadatas, starts, lengths)
      WHERE o.place = ANY (taken) AND r.thread_id = p_threads[o.place] AND r.seq = o.seqs;
      GET DIAGNOSTICS replaced = ROW_COUNT;
      IF replaced < (SELECT count(*) FROM unnest(p_old_places) AS o (place) WHERE o.place = ANY (taken)) THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'a record that is to be replaced is not there';
      END IF;
      IF array_remove(p_old_names, NULL) <> '{}' THEN
        INSERT INTO "public"."holdfast_names" (thread_id, name, seq)
        SELECT p_threads[o.place], each.name, o.seqs
        FROM unnest(p_old_places, p_old_seqs, p_old_names) AS o (place, seqs, names), jsonb_array_elements_text(o.names::jsonb) AS each (name) WHERE o.place = ANY (taken);
      END IF;
      -- Words of what is replaced are kept at once, however far the index is: who indexes later leaves them as they are.
      -- A record that is replaced becomes no newer by it.
      DELETE FROM "public"."holdfast_words" w USING unnest(p_old_places, p_old_seqs, p_old_words) AS o (place, seqs, words)
      WHERE o.words IS NULL AND o.place = ANY (taken) AND w.thread_id = p_threads[o.place] AND w.seq = o.seqs;
      INSERT INTO "public"."holdfast_words" AS w (thread_id, seq, at, words)
      SELECT p_threads[o.place], o.seqs, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, array_to_tsvector(string_to_array(o.words, ' '))
      FROM unnest(p_old_places, p_old_seqs, p_old_words) AS o (place, seqs, words) WHERE o.words IS NOT NULL AND o.place = ANY (taken)
      ON CONFLICT (thread_id, seq) DO UPDATE SET words = excluded.words WHERE w.words <> excluded.words;
      UPDATE "public"."holdfast_threads" t SET metadata = n.metadata, unindexed = n.unindexed
      FROM (SELECT o.place, o.seqs, CASE WHEN o.metadatas ~* E'\\\\u(0000|d[89a-f])' THEN NULL ELSE o.metadatas::jsonb END AS metadata, coalesce(o.metadatas ~* E'\\\\u(0000|d[89a-f])', false) AS unindexed
        FROM unnest(p_old_places, p_old_seqs, p_old_metadatas) AS o (place, seqs, metadatas) WHERE o.place = ANY (taken)) n
      WHERE t.thread_id = p_threads[n.place] AND t.head = n.seqs
        AND (t.metadata IS DISTINCT FROM n.metadata OR t.unindexed <> n.unindexed);
      RETURN taken;
    END $body$;

CREATE FUNCTION "public"."holdfast_index_words" (
    p_thread text, p_generation text, p_indexed integer, p_reached integer, p_seqs integer[], p_versions text[], p_words text[]) RETURNS boolean
    LANGUAGE plpgsql SET lock_timeout = '2s' SET gin_pending_list_limit = 4096 AS $body$
    DECLARE
      last_at bigint;
    BEGIN
      UPDATE "public"."holdfast_threads" SET indexed = p_reached, stale = tail > p_reached
      WHERE thread_id = p_thread AND generation = p_generation AND indexed = p_indexed;
      IF NOT FOUND THEN
        RETURN false;
      END IF;
      -- More words than that take several times their room in the index while they wait there, and it never gives that back.
      IF (SELECT sum(octet_length(w.words)) FROM unnest(p_words) AS w (words)) > 32768 THEN
        PERFORM set_config('gin_pending_list_limit', '64', true);
      END IF;
      -- Grows within the thread, whatever the clock does.
      last_at := greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, (SELECT w.at FROM "public"."holdfast_words" w WHERE w.thread_id = p_thread ORDER BY w.seq DESC LIMIT 1));
      INSERT INTO "public"."holdfast_words" (thread_id, seq, at, words)
      SELECT p_thread, n.seq, last_at + n.place, array_to_tsvector(string_to_array(n.words, ' '))
      FROM unnest(p_seqs, p_versions, p_words) WITH ORDINALITY AS n (seq, version, words, place)
        JOIN "public"."holdfast_records" r ON r.thread_id = p_thread AND r.seq = n.seq AND r.xmin::text = n.version
      ON CONFLICT (thread_id, seq) DO NOTHING;
      RETURN true;
    END $body$;

CREATE FUNCTION "public"."holdfast_sort_words" () RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
    BEGIN
      PERFORM gin_clean_pending_list(c.oid) FROM pg_class c WHERE c.relkind = 'i'
        AND (c.oid = '"public"."holdfast_words_by_word"'::regclass OR c.oid IN (SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = '"public"."holdfast_words_by_word"'::regclass));
    END $body$;

CREATE FUNCTION "public"."holdfast_drop_records" () RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
    DECLARE
      ids text[] := ARRAY(SELECT thread_id FROM gone);
    BEGIN
      IF ids <> '{}' THEN
        DELETE FROM "public"."holdfast_records" WHERE thread_id = ANY (ids);
        DELETE FROM "public"."holdfast_names" WHERE thread_id = ANY (ids);
        DELETE FROM "public"."holdfast_words" WHERE thread_id = ANY (ids);
      END IF;
      RETURN NULL;
    END $body$;

CREATE TRIGGER "holdfast_threads_drop_records" AFTER DELETE ON "public"."holdfast_threads"
      REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION "public"."holdfast_drop_records" ();

CREATE TRIGGER "holdfast_threads_drop_records" AFTER DELETE ON "public"."holdfast_threads_0"
      REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION "public"."holdfast_drop_records" ();

CREATE TRIGGER "holdfast_threads_drop_records" AFTER DELETE ON "public"."holdfast_threads_1"
      REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION "public"."holdfast_drop_records" ();

CREATE FUNCTION "public"."holdfast_search_words" (
    p_query tsquery, p_first text, p_last text, p_limit integer, p_ranked integer, p_newest boolean, p_after bigint,
    p_after_thread text, p_after_seq integer)
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
        SELECT count(*) INTO hits FROM (
            SELECT FROM (SELECT * FROM "public"."holdfast_words" w ORDER BY w.at DESC LIMIT 4096) w
            WHERE CASE WHEN pg_column_size(w.words) < 2000 THEN w.words @@ p_query END AND (p_last IS NULL OR (w.thread_id >= p_first AND w.thread_id <= p_last))
            LIMIT p_ranked::bigint + 1) w;
        is_newest := hits > p_ranked;
        IF NOT is_newest AND hits * 16 > p_ranked THEN
          SELECT count(*) > p_ranked INTO is_newest FROM (
            SELECT FROM (SELECT * FROM "public"."holdfast_words" w ORDER BY w.at DESC LIMIT 65536) w
            WHERE CASE WHEN pg_column_size(w.words) < 2000 THEN w.words @@ p_query END AND (p_last IS NULL OR (w.thread_id >= p_first AND w.thread_id <= p_last))
            LIMIT p_ranked::bigint + 1) w;
        END IF;
        IF NOT is_newest THEN
          SELECT count(*) > p_ranked INTO is_newest FROM (
            SELECT FROM "public"."holdfast_words" w WHERE w.words @@ p_query AND (p_last IS NULL OR (w.thread_id >= p_first AND w.thread_id <= p_last)) LIMIT p_ranked::bigint + 1) w;
        END IF;
      END IF;
      IF NOT is_newest THEN
        RETURN QUERY
          SELECT w.thread_id, w.seq, w.at, w.size, false FROM (
            SELECT w.thread_id, w.seq, w.at, length(w.words) AS size FROM "public"."holdfast_words" w
            WHERE w.words @@ p_query AND (p_last IS NULL OR (w.thread_id >= p_first AND w.thread_id <= p_last)) AND (p_newest IS NULL OR length(w.words) > p_after OR (length(w.words) = p_after
              AND (w.thread_id > p_after_thread OR (w.thread_id = p_after_thread AND w.seq < p_after_seq))))
            ORDER BY length(w.words), w.thread_id, w.seq DESC) w JOIN LATERAL (SELECT FROM "public"."holdfast_threads" t WHERE t.thread_id = w.thread_id
          AND (t.expires_at IS NULL OR t.expires_at > now()) OFFSET 0) t ON true
          ORDER BY w.size, w.thread_id, w.seq DESC LIMIT p_limit;
        RETURN;
      END IF;
      LOOP
        SELECT w.at INTO low FROM "public"."holdfast_words" w WHERE w.at <= high ORDER BY w.at DESC OFFSET rows_in_window LIMIT 1;
        low := coalesce(low, -1);
        IF rows_in_window <= 32768 THEN
          RETURN QUERY
          SELECT w.thread_id, w.seq, w.at, w.size, true FROM (
            SELECT w.thread_id, w.seq, w.at, length(w.words) AS size FROM (SELECT * FROM "public"."holdfast_words" w WHERE w.at > low AND w.at <= high ORDER BY w.at DESC OFFSET 0) w
            WHERE w.words @@ p_query AND (p_last IS NULL OR (w.thread_id >= p_first AND w.thread_id <= p_last)) AND (p_newest IS NULL OR w.at < p_after OR (w.at = p_after
              AND (w.thread_id > p_after_thread OR (w.thread_id = p_after_thread AND w.seq < p_after_seq))))
            ORDER BY w.at DESC, w.thread_id, w.seq DESC) w JOIN LATERAL (SELECT FROM "public"."holdfast_threads" t WHERE t.thread_id = w.thread_id
          AND (t.expires_at IS NULL OR t.expires_at > now()) OFFSET 0) t ON true
          ORDER BY w.at DESC, w.thread_id, w.seq DESC LIMIT p_limit - taken;
        ELSE
          RETURN QUERY
          SELECT w.thread_id, w.seq, w.at, w.size, true FROM (
            SELECT w.thread_id, w.seq, w.at, length(w.words) AS size FROM (SELECT * FROM "public"."holdfast_words" w WHERE w.at > low AND w.at <= high) w
            WHERE w.words @@ p_query AND (p_last IS NULL OR (w.thread_id >= p_first AND w.thread_id <= p_last)) AND (p_newest IS NULL OR w.at < p_after OR (w.at = p_after
              AND (w.thread_id > p_after_thread OR (w.thread_id = p_after_thread AND w.seq < p_after_seq))))
            ORDER BY w.at DESC, w.thread_id, w.seq DESC) w JOIN LATERAL (SELECT FROM "public"."holdfast_threads" t WHERE t.thread_id = w.thread_id
          AND (t.expires_at IS NULL OR t.expires_at > now()) OFFSET 0) t ON true
          ORDER BY w.at DESC, w.thread_id, w.seq DESC LIMIT p_limit - taken;
        END IF;
        GET DIAGNOSTICS more = ROW_COUNT;
        taken := taken + more;
        EXIT WHEN taken >= p_limit OR low < 0;
        high := low;
        rows_in_window := rows_in_window * 8;
      END LOOP;
    END $body$;
