CREATE TABLE "public"."holdfast_items" (
       id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
       namespace text COLLATE "C" NOT NULL,
       key text COLLATE "C" NOT NULL,
       version text COLLATE "C" NOT NULL,
       created_at bigint NOT NULL,
       updated_at bigint NOT NULL,
       expires_at bigint,
       value text NOT NULL,
       metadata text,
       value_fields jsonb NOT NULL,
       metadata_fields jsonb NOT NULL,
       words tsvector,
       UNIQUE (namespace, key)
     );

CREATE INDEX "holdfast_items_by_end" ON "public"."holdfast_items" (expires_at) WHERE expires_at IS NOT NULL;

CREATE INDEX "holdfast_items_by_value" ON "public"."holdfast_items" USING gin (value_fields jsonb_path_ops);

CREATE INDEX "holdfast_items_by_meta" ON "public"."holdfast_items" USING gin (metadata_fields jsonb_path_ops);

CREATE INDEX "holdfast_items_by_word" ON "public"."holdfast_items" USING gin (words);

CREATE TABLE "public"."holdfast_item_vectors" (
       item bigint PRIMARY KEY REFERENCES "public"."holdfast_items" ON DELETE CASCADE,
       dims integer NOT NULL,
       vector real[] NOT NULL
     );

CREATE TABLE "public"."holdfast_item_writes" (
       write_key text COLLATE "C" PRIMARY KEY,
       digest text COLLATE "C" NOT NULL,
       version text COLLATE "C",
       created_at bigint NOT NULL,
       updated_at bigint NOT NULL,
       expires_at bigint
     );

CREATE INDEX "holdfast_item_writes_by_time" ON "public"."holdfast_item_writes" (updated_at);

CREATE FUNCTION "public"."holdfast_write_items" (
    p_kinds text[], p_namespaces text[], p_keys text[], p_write_keys text[], p_digests text[], p_expected text[],
    p_versions text[], p_values text[], p_metadatas text[], p_value_fields text[], p_metadata_fields text[], p_words text[], p_vectors text[],
    p_ttls double precision[], p_keeps boolean[], p_remembered_ms bigint)
    RETURNS TABLE (change integer, applied boolean, repeated boolean, r_version text, r_created_at bigint,
      r_updated_at bigint, r_expires_at bigint) LANGUAGE plpgsql AS $body$
    DECLARE
      lock_key bigint;
      now_ms bigint;
      found_item "public"."holdfast_items"%ROWTYPE;
      is_there boolean;
      known "public"."holdfast_item_writes"%ROWTYPE;
      item_id bigint;
      is_repeated boolean[] := '{}';
    BEGIN
      -- A server has room for some thousand locks in all: a large batch takes one that excludes all other writers.
      IF cardinality(p_keys) > 50 THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('"public"."holdfast_items"', 1));
      ELSE
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('"public"."holdfast_items"', 1));
        -- In one order, so that two batches never wait for each other.
        FOR lock_key IN
          SELECT DISTINCT hashtextextended('"public"."holdfast_items"' || n.namespace || E'\x01' || n.key, 0)
          FROM unnest(p_namespaces, p_keys) AS n (namespace, key) ORDER BY 1
        LOOP
          PERFORM pg_advisory_xact_lock(lock_key);
        END LOOP;
      END IF;
      -- The rows in the order of clear(), which takes none of the locks above.
      IF cardinality(p_keys) > 1 THEN
        PERFORM FROM "public"."holdfast_items" i WHERE i.id = ANY (ARRAY(
            SELECT (SELECT e.id FROM "public"."holdfast_items" e WHERE e.namespace = n.namespace AND e.key = n.key)
            FROM unnest(p_namespaces, p_keys) AS n (namespace, key)))
          ORDER BY i.id FOR UPDATE;
      END IF;
      now_ms := floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
      FOR at IN 1 .. cardinality(p_keys) LOOP
        SELECT * INTO known FROM "public"."holdfast_item_writes" w WHERE w.write_key = p_write_keys[at];
        is_repeated[at] := FOUND;
        IF is_repeated[at] AND known.digest <> p_digests[at] THEN
          RETURN QUERY SELECT at, false, true, NULL::text, 0::bigint, 0::bigint, NULL::bigint;
          RETURN;
        END IF;
        CONTINUE WHEN p_expected[at] IS NULL OR is_repeated[at];
        SELECT * INTO found_item FROM "public"."holdfast_items" i
          WHERE i.namespace = p_namespaces[at] AND i.key = p_keys[at]
            AND (i.expires_at IS NULL OR i.expires_at > now_ms) FOR UPDATE;
        IF coalesce(found_item.version, '') <> p_expected[at] THEN
          RETURN QUERY SELECT at, false, false, found_item.version, 0::bigint, 0::bigint, NULL::bigint;
          RETURN;
        END IF;
      END LOOP;
      FOR at IN 1 .. cardinality(p_keys) LOOP
        IF is_repeated[at] THEN
          SELECT * INTO known FROM "public"."holdfast_item_writes" w WHERE w.write_key = p_write_keys[at];
          RETURN QUERY SELECT at, true, true, known.version, known.created_at, known.updated_at, known.expires_at;
          CONTINUE;
        END IF;
        SELECT * INTO found_item FROM "public"."holdfast_items" i WHERE i.namespace = p_namespaces[at] AND i.key = p_keys[at] FOR UPDATE;
        is_there := FOUND;
        IF is_there AND found_item.expires_at <= now_ms THEN
          DELETE FROM "public"."holdfast_items" i WHERE i.id = found_item.id;
          is_there := false;
        END IF;
        known.write_key := p_write_keys[at];
        known.digest := p_digests[at];
        known.updated_at := now_ms;
        known.created_at := CASE WHEN is_there THEN found_item.created_at ELSE now_ms END;
        IF p_kinds[at] = 'remove' THEN
          known.version := CASE WHEN is_there THEN found_item.version END;
          known.expires_at := CASE WHEN is_there THEN found_item.expires_at END;
          IF is_there THEN
            DELETE FROM "public"."holdfast_items" i WHERE i.id = found_item.id;
          END IF;
        ELSE
          known.version := p_versions[at];
          known.expires_at := CASE WHEN p_keeps[at] AND is_there THEN found_item.expires_at
            ELSE now_ms + p_ttls[at]::bigint END;
          IF is_there THEN
            item_id := found_item.id;
            UPDATE "public"."holdfast_items" i SET version = known.version, updated_at = now_ms, expires_at = known.expires_at,
              value = p_values[at], metadata = p_metadatas[at], value_fields = p_value_fields[at]::jsonb,
              metadata_fields = p_metadata_fields[at]::jsonb, words = p_words[at]::tsvector WHERE i.id = item_id;
            DELETE FROM "public"."holdfast_item_vectors" v WHERE v.item = item_id;
          ELSE
            INSERT INTO "public"."holdfast_items" (namespace, key, version, created_at, updated_at, expires_at, value, metadata,
              value_fields, metadata_fields, words)
            VALUES (p_namespaces[at], p_keys[at], known.version, now_ms, now_ms, known.expires_at, p_values[at],
              p_metadatas[at], p_value_fields[at]::jsonb, p_metadata_fields[at]::jsonb, p_words[at]::tsvector)
            RETURNING id INTO item_id;
          END IF;
          IF p_vectors[at] IS NOT NULL THEN
            INSERT INTO "public"."holdfast_item_vectors" (item, dims, vector)
            SELECT item_id, cardinality(v), v FROM (SELECT p_vectors[at]::real[] AS v) AS given;
          END IF;
        END IF;
        INSERT INTO "public"."holdfast_item_writes" SELECT known.*;
        RETURN QUERY SELECT at, true, false, known.version, known.created_at, known.updated_at, known.expires_at;
      END LOOP;
      -- A few of the items that ended and of the writes that are too old to be repeated.
      DELETE FROM "public"."holdfast_items" i WHERE i.id IN (
        SELECT e.id FROM "public"."holdfast_items" e WHERE e.expires_at <= now_ms ORDER BY e.expires_at LIMIT 20 FOR UPDATE SKIP LOCKED);
      DELETE FROM "public"."holdfast_item_writes" w WHERE w.write_key IN (
        SELECT o.write_key FROM "public"."holdfast_item_writes" o WHERE o.updated_at < now_ms - p_remembered_ms
        ORDER BY o.updated_at LIMIT 20 FOR UPDATE SKIP LOCKED);
    END $body$;
