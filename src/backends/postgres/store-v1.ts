import type { TableNames } from "./layout.ts";

/**
 * Version 1 of the part `store`. This text is frozen: it is never edited, and it
 * uses nothing outside this file that may change. Any later change, also to the text
 * of a function, is a version of its own.
 *
 * Writes run in a server-side function: one call is one round trip and one
 * transaction in every pooling mode. A writer first takes a lock on the item's name,
 * because an item that does not exist has no row to lock. Each statement after that
 * sees what the previous holder of the lock committed.
 */
export const storeV1 = (names: TableNames): readonly string[] => [...firstTables(names), createWriteItems(names)];

/** The grants of a role that only works with the tables: what it needs, and nothing more. */
export function storeGrantsV1(names: TableNames, role: string): readonly string[] {
  const { items, itemVectors, itemWrites, writeItems } = names;
  return [
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${items}, ${itemVectors}, ${itemWrites} TO ${role}`,
    `GRANT EXECUTE ON FUNCTION ${writeItems} (${CHANGES}) TO ${role}`,
  ];
}

/** One array per field of a change; an expected version is NULL for any, and empty for no item. Callers use named parameters. */
const CHANGES = `
    p_kinds text[], p_namespaces text[], p_keys text[], p_write_keys text[], p_digests text[], p_expected text[],
    p_versions text[], p_values text[], p_metadatas text[], p_value_fields text[], p_metadata_fields text[], p_words text[], p_vectors text[],
    p_ttls double precision[], p_keeps boolean[], p_remembered_ms bigint`;

const NOW = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

function firstTables({ items, itemVectors, itemWrites, prefix }: TableNames): readonly string[] {
  return [
    `CREATE TABLE ${items} (
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
     )`,
    `CREATE INDEX "${prefix}items_by_end" ON ${items} (expires_at) WHERE expires_at IS NOT NULL`,
    `CREATE INDEX "${prefix}items_by_value" ON ${items} USING gin (value_fields jsonb_path_ops)`,
    `CREATE INDEX "${prefix}items_by_meta" ON ${items} USING gin (metadata_fields jsonb_path_ops)`,
    `CREATE INDEX "${prefix}items_by_word" ON ${items} USING gin (words)`,
    `CREATE TABLE ${itemVectors} (
       item bigint PRIMARY KEY REFERENCES ${items} ON DELETE CASCADE,
       dims integer NOT NULL,
       vector real[] NOT NULL
     )`,
    `CREATE TABLE ${itemWrites} (
       write_key text COLLATE "C" PRIMARY KEY,
       digest text COLLATE "C" NOT NULL,
       version text COLLATE "C",
       created_at bigint NOT NULL,
       updated_at bigint NOT NULL,
       expires_at bigint
     )`,
    `CREATE INDEX "${prefix}item_writes_by_time" ON ${itemWrites} (updated_at)`,
  ];
}

/** Returns a row for each change; or one row that says which change was refused: repeated where its write key is another write's, else what is stored instead. */
function createWriteItems({ writeItems, items, itemVectors, itemWrites }: TableNames): string {
  return `CREATE FUNCTION ${writeItems} (${CHANGES})
    RETURNS TABLE (change integer, applied boolean, repeated boolean, r_version text, r_created_at bigint,
      r_updated_at bigint, r_expires_at bigint) LANGUAGE plpgsql AS $body$
    DECLARE
      lock_key bigint;
      now_ms bigint;
      found_item ${items}%ROWTYPE;
      is_there boolean;
      known ${itemWrites}%ROWTYPE;
      item_id bigint;
      is_repeated boolean[] := '{}';
    BEGIN
      -- A server has room for some thousand locks in all: a large batch takes one that excludes all other writers.
      IF cardinality(p_keys) > 50 THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('${items}', 1));
      ELSE
        PERFORM pg_advisory_xact_lock_shared(hashtextextended('${items}', 1));
        -- In one order, so that two batches never wait for each other.
        FOR lock_key IN
          SELECT DISTINCT hashtextextended('${items}' || n.namespace || E'\\x01' || n.key, 0)
          FROM unnest(p_namespaces, p_keys) AS n (namespace, key) ORDER BY 1
        LOOP
          PERFORM pg_advisory_xact_lock(lock_key);
        END LOOP;
      END IF;
      -- The rows in the order of clear(), which takes none of the locks above.
      IF cardinality(p_keys) > 1 THEN
        PERFORM FROM ${items} i WHERE i.id = ANY (ARRAY(
            SELECT (SELECT e.id FROM ${items} e WHERE e.namespace = n.namespace AND e.key = n.key)
            FROM unnest(p_namespaces, p_keys) AS n (namespace, key)))
          ORDER BY i.id FOR UPDATE;
      END IF;
      now_ms := ${NOW};
      FOR at IN 1 .. cardinality(p_keys) LOOP
        SELECT * INTO known FROM ${itemWrites} w WHERE w.write_key = p_write_keys[at];
        is_repeated[at] := FOUND;
        IF is_repeated[at] AND known.digest <> p_digests[at] THEN
          RETURN QUERY SELECT at, false, true, NULL::text, 0::bigint, 0::bigint, NULL::bigint;
          RETURN;
        END IF;
        CONTINUE WHEN p_expected[at] IS NULL OR is_repeated[at];
        SELECT * INTO found_item FROM ${items} i
          WHERE i.namespace = p_namespaces[at] AND i.key = p_keys[at]
            AND (i.expires_at IS NULL OR i.expires_at > now_ms) FOR UPDATE;
        IF coalesce(found_item.version, '') <> p_expected[at] THEN
          RETURN QUERY SELECT at, false, false, found_item.version, 0::bigint, 0::bigint, NULL::bigint;
          RETURN;
        END IF;
      END LOOP;
      FOR at IN 1 .. cardinality(p_keys) LOOP
        IF is_repeated[at] THEN
          SELECT * INTO known FROM ${itemWrites} w WHERE w.write_key = p_write_keys[at];
          RETURN QUERY SELECT at, true, true, known.version, known.created_at, known.updated_at, known.expires_at;
          CONTINUE;
        END IF;
        SELECT * INTO found_item FROM ${items} i WHERE i.namespace = p_namespaces[at] AND i.key = p_keys[at] FOR UPDATE;
        is_there := FOUND;
        IF is_there AND found_item.expires_at <= now_ms THEN
          DELETE FROM ${items} i WHERE i.id = found_item.id;
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
            DELETE FROM ${items} i WHERE i.id = found_item.id;
          END IF;
        ELSE
          known.version := p_versions[at];
          known.expires_at := CASE WHEN p_keeps[at] AND is_there THEN found_item.expires_at
            ELSE now_ms + p_ttls[at]::bigint END;
          IF is_there THEN
            item_id := found_item.id;
            UPDATE ${items} i SET version = known.version, updated_at = now_ms, expires_at = known.expires_at,
              value = p_values[at], metadata = p_metadatas[at], value_fields = p_value_fields[at]::jsonb,
              metadata_fields = p_metadata_fields[at]::jsonb, words = p_words[at]::tsvector WHERE i.id = item_id;
            DELETE FROM ${itemVectors} v WHERE v.item = item_id;
          ELSE
            INSERT INTO ${items} (namespace, key, version, created_at, updated_at, expires_at, value, metadata,
              value_fields, metadata_fields, words)
            VALUES (p_namespaces[at], p_keys[at], known.version, now_ms, now_ms, known.expires_at, p_values[at],
              p_metadatas[at], p_value_fields[at]::jsonb, p_metadata_fields[at]::jsonb, p_words[at]::tsvector)
            RETURNING id INTO item_id;
          END IF;
          IF p_vectors[at] IS NOT NULL THEN
            INSERT INTO ${itemVectors} (item, dims, vector)
            SELECT item_id, cardinality(v), v FROM (SELECT p_vectors[at]::real[] AS v) AS given;
          END IF;
        END IF;
        INSERT INTO ${itemWrites} SELECT known.*;
        RETURN QUERY SELECT at, true, false, known.version, known.created_at, known.updated_at, known.expires_at;
      END LOOP;
      -- A few of the items that ended and of the writes that are too old to be repeated.
      DELETE FROM ${items} i WHERE i.id IN (
        SELECT e.id FROM ${items} e WHERE e.expires_at <= now_ms ORDER BY e.expires_at LIMIT 20 FOR UPDATE SKIP LOCKED);
      DELETE FROM ${itemWrites} w WHERE w.write_key IN (
        SELECT o.write_key FROM ${itemWrites} o WHERE o.updated_at < now_ms - p_remembered_ms
        ORDER BY o.updated_at LIMIT 20 FOR UPDATE SKIP LOCKED);
    END $body$`;
}
