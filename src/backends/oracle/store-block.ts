import { ISO_FORMAT, NOW } from "./sql-clock.ts";
import { BUCKETS, type StoreTables } from "./store-layout.ts";

/** What one block of a write does. The same shape gives the same text, which the server parses once. */
export interface WriteShape {
  /** Locks the rows of buckets, which only the first block does. */
  readonly locks: boolean;
  /** Checks the expected versions. */
  readonly checks: boolean;
  /** The kinds of the changes that it makes, or only checks. */
  readonly kinds: readonly ("put" | "remove")[];
  readonly applies: boolean;
  /** Whether items have vectors. */
  readonly hasVectors: boolean;
}

/**
 * A write as one anonymous block. A writer first locks the rows of its items'
 * buckets, in a fixed order, so that two batches cannot deadlock. Each statement
 * after that sees what the previous holder committed. Everything is checked before
 * anything is changed: a block that ends normally undoes nothing.
 */
export function writeBlock(tables: StoreTables, shape: WriteShape): string {
  const { locks, checks, kinds, applies, hasVectors } = shape;
  const places = kinds.map((kind, index) => ({ kind, place: index + 1 }));
  return `DECLARE
${VARIABLES}BEGIN
  :b_refused := 0;
${[
  ...(locks ? [lock(tables)] : []),
  `  v_now := ${NOW};`,
  ...(checks ? places.map(({ place }) => check(tables, place)) : []),
  ...(applies ? places.map(({ kind, place }) => apply(tables, kind, place, hasVectors)) : []),
  ...(applies ? [tidy(tables)] : []),
].join("\n")}
END;`;
}

const VARIABLES = `  v_now TIMESTAMP(3);
  v_epoch TIMESTAMP(3) := TO_TIMESTAMP('1970-01-01T00:00:00.000Z', ${ISO_FORMAT});
  v_buckets CLOB;
  v_bucket NUMBER;
  v_namespace VARCHAR2(1088 BYTE);
  v_key VARCHAR2(1024 BYTE);
  v_write_key VARCHAR2(64 BYTE);
  v_digest VARCHAR2(64 BYTE);
  v_known VARCHAR2(64 BYTE);
  v_expected VARCHAR2(64 BYTE);
  v_found NUMBER;
  v_repeated NUMBER;
  v_id VARCHAR2(64 BYTE);
  v_version VARCHAR2(64 BYTE);
  v_created TIMESTAMP(3);
  v_updated TIMESTAMP(3);
  v_expires TIMESTAMP(3);
  v_ttl NUMBER;
  v_keeps NUMBER;
  v_value VARCHAR2(4000 BYTE);
  v_metadata VARCHAR2(4000 BYTE);
  v_lengthy NUMBER;
  v_unindexed NUMBER;
  v_word_count NUMBER;
  v_long_value CLOB;
  v_long_metadata CLOB;
  v_words CLOB;
`;

const lock = ({ buckets }: StoreTables): string => `  v_buckets := :b_buckets;
  FOR l IN (SELECT d.bucket FROM JSON_TABLE(v_buckets, '$[*]' COLUMNS (bucket NUMBER PATH '$')) d ORDER BY d.bucket) LOOP
    SELECT bucket INTO v_bucket FROM ${buckets} WHERE bucket = l.bucket FOR UPDATE;
  END LOOP;`;

const NAMED = "namespace = v_namespace AND key = v_key";

const name = (place: number): string => `  v_namespace := :b_namespace_${place};
  v_key := :b_key_${place};
  v_write_key := :b_write_key_${place};
  v_digest := :b_digest_${place};`;

const check = ({ items, recent }: StoreTables, place: number): string => `${name(place)}
  v_expected := :b_expected_${place};
  SELECT MAX(digest) INTO v_known FROM ${recent} WHERE write_key = v_write_key;
  IF v_known <> v_digest THEN
    :b_refused := ${place};
    :b_version := '${TAKEN_KEY}';
    RETURN;
  END IF;
  IF v_expected IS NOT NULL AND v_known IS NULL THEN
    SELECT COALESCE(MAX(version), '${NO_ITEM}') INTO v_version FROM ${items}
    WHERE ${NAMED} AND (expires_at IS NULL OR expires_at > v_now);
    IF v_version <> v_expected THEN
      :b_refused := ${place};
      :b_version := v_version;
      RETURN;
    END IF;
  END IF;`;

/** In the place of a version; no version has such a character. An empty text is NULL here. */
export const NO_ITEM = "!";
/** In the place of the version that is there: the write key is another write's. */
export const TAKEN_KEY = "!!";

/** Milliseconds since 1970. */
const ms = (moment: string): string =>
  [
    `EXTRACT(DAY FROM (${moment} - v_epoch)) * 86400000`,
    `EXTRACT(HOUR FROM (${moment} - v_epoch)) * 3600000`,
    `EXTRACT(MINUTE FROM (${moment} - v_epoch)) * 60000`,
    `EXTRACT(SECOND FROM (${moment} - v_epoch)) * 1000`,
  ].join(" + ");

const apply = (
  tables: StoreTables,
  kind: "put" | "remove",
  place: number,
  hasVectors: boolean,
): string => `${name(place)}
  v_bucket := :b_bucket_${place};
  v_repeated := 1;
  BEGIN
    SELECT version, created_at, updated_at, expires_at INTO v_version, v_created, v_updated, v_expires
    FROM ${tables.recent} WHERE write_key = v_write_key;
  EXCEPTION
    WHEN NO_DATA_FOUND THEN
      v_repeated := 0;
  END;
  IF v_repeated = 0 THEN
    v_found := 1;
    v_updated := v_now;
    BEGIN
      SELECT id, version, created_at, expires_at INTO v_id, v_version, v_created, v_expires
      FROM ${tables.items} WHERE ${NAMED} FOR UPDATE;
    EXCEPTION
      WHEN NO_DATA_FOUND THEN
        v_found := 0;
    END;
    IF v_found = 1 AND v_expires <= v_now THEN
${remove(tables)}
      v_found := 0;
    END IF;
    IF v_found = 0 THEN
      v_created := v_now;
      v_expires := NULL;
      v_version := NULL;
    END IF;
${kind === "put" ? put(tables, place, hasVectors) : `    IF v_found = 1 THEN\n${remove(tables)}\n    END IF;`}
    INSERT INTO ${tables.recent} (write_key, bucket, digest, version, created_at, updated_at, expires_at)
    VALUES (v_write_key, v_bucket, v_digest, v_version, v_created, v_updated, v_expires);
  END IF;
  :b_version_${place} := v_version;
  :b_created_${place} := ${ms("v_created")};
  :b_updated_${place} := ${ms("v_updated")};
  :b_expires_${place} := ${ms("v_expires")};
  :b_repeated_${place} := v_repeated;`;

const remove = ({ items }: StoreTables): string => `      DELETE FROM ${items} WHERE id = v_id;`;

const PUT_VARIABLES = [
  ...[
    "ttl",
    "keeps",
    "value",
    "metadata",
    "lengthy",
    "unindexed",
    "word_count",
    "long_value",
    "long_metadata",
    "words",
  ],
];
const COLUMNS = ["value", "metadata", "lengthy", "unindexed", "word_count", "long_value", "long_metadata"];

/** A vector is assigned from its bind: the block declares no variable of that type. */
const put = ({ items, words }: StoreTables, place: number, hasVectors: boolean): string => {
  const embedding = hasVectors ? `, embedding = :b_vector_${place}` : "";
  return `${PUT_VARIABLES.map((each) => `    v_${each} := :b_${each}_${place};`).join("\n")}
    IF v_found = 0 THEN
      v_id := :b_id_${place};
    END IF;
    v_version := :b_new_version_${place};
    IF v_found = 0 OR v_keeps = 0 THEN
      v_expires := v_now + NUMTODSINTERVAL(v_ttl, 'SECOND');
    END IF;
    IF v_found = 1 THEN
      UPDATE ${items} SET version = v_version, updated_at = v_now, expires_at = v_expires,
        ${COLUMNS.map((column) => `${column} = v_${column}`).join(", ")}${embedding}
      WHERE id = v_id;
      DELETE FROM ${words} WHERE item = v_id;
    ELSE
      INSERT INTO ${items} (namespace, key, id, bucket, version, created_at, updated_at, expires_at,
        ${COLUMNS.join(", ")}${hasVectors ? ", embedding" : ""})
      VALUES (v_namespace, v_key, v_id, v_bucket, v_version, v_now, v_now, v_expires,
        ${COLUMNS.map((column) => `v_${column}`).join(", ")}${hasVectors ? `, :b_vector_${place}` : ""});
    END IF;
    IF v_words IS NOT NULL THEN
      INSERT INTO ${words} (item, word, weight)
      SELECT v_id, w.word, w.weight FROM JSON_TABLE(v_words, '$[*]' COLUMNS (word VARCHAR2(1024 BYTE) PATH '$[0]', weight NUMBER PATH '$[1]')) w;
    END IF;`;
};

/** Deletes a few expired items, and a few write ids that are too old to be retried, of the locked bucket. */
const tidy = ({ items, recent }: StoreTables): string => `  FOR e IN (SELECT id FROM ${items}
    WHERE bucket = v_bucket AND expires_at <= v_now FETCH FIRST 20 ROWS ONLY) LOOP
    DELETE FROM ${items} WHERE id = e.id;
  END LOOP;
  DELETE FROM ${recent} WHERE write_key IN (SELECT r.write_key FROM ${recent} r
    WHERE r.bucket = v_bucket AND r.updated_at < v_now - NUMTODSINTERVAL(:b_remembered, 'SECOND') FETCH FIRST 20 ROWS ONLY);`;

/** What to clear: everything, the namespace itself, or the namespace and all below it. */
export type ClearedScope = "all" | "own" | "below";

const CLEARED: Readonly<Record<ClearedScope, string>> = {
  all: "1 = 1",
  own: "i.namespace = v_from",
  below: "i.namespace >= v_from AND i.namespace < v_before",
};

/** Locks the rows of all buckets, so that nothing is written meanwhile to what it deletes. */
export const clearBlock = ({ items, buckets }: StoreTables, scope: ClearedScope): string => `DECLARE
  v_from VARCHAR2(1088 BYTE) := :b_from;
  v_before VARCHAR2(1088 BYTE) := :b_before;
  v_written TIMESTAMP(3) := TO_TIMESTAMP(:b_written, ${ISO_FORMAT});
  v_most NUMBER := :b_most;
  v_now TIMESTAMP(3);
  v_count NUMBER := 0;
  v_bucket NUMBER;
BEGIN
  FOR place IN 0 .. ${BUCKETS - 1} LOOP
    SELECT bucket INTO v_bucket FROM ${buckets} WHERE bucket = place FOR UPDATE;
  END LOOP;
  v_now := ${NOW};
  FOR victim IN (SELECT i.id FROM ${items} i
    WHERE ${CLEARED[scope]} AND i.updated_at <= v_written AND (i.expires_at IS NULL OR i.expires_at > v_now)) LOOP
    EXIT WHEN v_count >= v_most;
    DELETE FROM ${items} WHERE id = victim.id;
    v_count := v_count + 1;
  END LOOP;
  :b_count := v_count;
END;`;
