/** Sizes of VARCHAR2 and RAW that statements of ours name. */
const TEXT_SIZES = [64, 128, 1024, 1025, 1088, 4000];
const BYTE_SIZES = [512, 2000];

/**
 * What an Oracle database has and PostgreSQL has not, in a schema of its own.
 * Text is compared by its bytes, and its limits are bytes.
 */
export const PRELUDE: readonly string[] = [
  "CREATE SCHEMA oracle_sys",
  "GRANT USAGE ON SCHEMA oracle_sys TO PUBLIC",
  ...TEXT_SIZES.map(
    (size) =>
      `CREATE DOMAIN oracle_sys.varchar2_${size} AS text COLLATE "C" CHECK (octet_length(VALUE) BETWEEN 1 AND ${size})`,
  ),
  ...BYTE_SIZES.map(
    (size) => `CREATE DOMAIN oracle_sys.raw_${size} AS bytea CHECK (octet_length(VALUE) BETWEEN 1 AND ${size})`,
  ),
  "CREATE DOMAIN oracle_sys.clob AS text",
  "CREATE DOMAIN oracle_sys.blob AS bytea",
  "CREATE TABLE oracle_sys.dual (dummy text)",
  "INSERT INTO oracle_sys.dual VALUES ('X')",
  "GRANT SELECT ON oracle_sys.dual TO PUBLIC",
  `CREATE FUNCTION oracle_sys.sys_extract_utc(moment timestamptz) RETURNS timestamp LANGUAGE sql IMMUTABLE
   RETURN moment AT TIME ZONE 'UTC'`,
  `CREATE FUNCTION oracle_sys.numtodsinterval(amount numeric, unit text) RETURNS interval LANGUAGE sql IMMUTABLE STRICT
   RETURN (amount::double precision * CASE unit WHEN 'SECOND' THEN interval '1 second' END)`,
  // As the one of PostgreSQL reads it, without the session's zone.
  `CREATE FUNCTION oracle_sys.to_timestamp(given text, format text) RETURNS timestamp LANGUAGE sql IMMUTABLE STRICT
   RETURN pg_catalog.to_timestamp(given || ' +00', format || ' TZH') AT TIME ZONE 'UTC'`,
  // U+0000 has no place in jsonb, and neither has half a surrogate pair.
  `CREATE FUNCTION oracle_sys.as_json(given text) RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT
   RETURN regexp_replace(given, '\\\\u(0000|d[89a-f]..)', '?', 'gi')::jsonb`,
  `CREATE FUNCTION oracle_sys.is_json(given text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS $$
   BEGIN PERFORM given::json; RETURN true; EXCEPTION WHEN invalid_text_representation THEN RETURN false; END $$`,
  "CREATE FUNCTION oracle_sys.this_user() RETURNS text LANGUAGE sql STABLE RETURN upper(current_user::text)",
  `CREATE VIEW oracle_sys.nls_database_parameters AS
   SELECT 'NLS_CHARACTERSET' AS parameter, coalesce(nullif(current_setting('standin.charset', true), ''), 'AL32UTF8') AS value`,
  `CREATE VIEW oracle_sys.nls_session_parameters AS
   SELECT parameter, coalesce(nullif(current_setting('standin.' || lower(parameter), true), ''), at_first) AS value
   FROM (VALUES ('NLS_SORT', 'GERMAN'), ('NLS_COMP', 'BINARY')) known (parameter, at_first)`,
  `CREATE VIEW oracle_sys.session_privs AS SELECT unnest('{CREATE TABLE,CREATE SEQUENCE}'::text[]) AS privilege
   WHERE has_schema_privilege(current_user, current_schema(), 'CREATE')`,
  `CREATE VIEW oracle_sys.all_tab_columns AS
   SELECT upper(table_schema) AS owner, upper(table_name) AS table_name, upper(column_name) AS column_name
   FROM information_schema.columns`,
  `CREATE FUNCTION oracle_sys.hextoraw(given text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT
   RETURN decode(given, 'hex')`,
  `CREATE VIEW oracle_sys.all_indexes AS
   SELECT upper(schemaname) AS owner, upper(schemaname) AS table_owner, upper(tablename) AS table_name, upper(indexname) AS index_name
   FROM pg_indexes`,
  "GRANT SELECT ON ALL TABLES IN SCHEMA oracle_sys TO PUBLIC",
];
