import { ServerError } from "./database.ts";
import { said } from "./oracle-errors.ts";

/** A condition `CONTAINS(alias.column, :bind) > 0`. */
export interface TextCondition {
  readonly table: string;
  readonly column: string;
  /** In capitals. */
  readonly bind: string;
}

/** One word of a text query, as the index has it; `isPrefix` where a `%` follows it. */
export interface TextTerm {
  readonly token: string;
  readonly isPrefix: boolean;
}

/** The conditions of a statement that need a text index. */
export function textConditionsIn(sql: string): readonly TextCondition[] {
  return [...sql.matchAll(/\bCONTAINS\((\w+)\.(\w+), :(\w+)\) > 0/g)].map(([, alias = "", column = "", bind = ""]) => {
    const table = new RegExp(`\\b(?:FROM|JOIN) ([\\w.]+) ${alias}\\b`).exec(sql)?.[1];
    if (table === undefined) throw new Error(`the stand-in finds no table for ${alias}`);
    return { table, column, bind: bind.toUpperCase() };
  });
}

/** What Oracle Text says; its errors are ORA-20000. */
export const textError = (number: number, text: string): ServerError =>
  new ServerError(said(20_000, `Oracle Text error:\nDRG-${number}: ${text}`));

/** Words of the query language: one that is looked for must stand in braces. */
const RESERVED: ReadonlySet<string> = new Set([
  ...["ABOUT", "ACCUM", "AND", "BT", "BTG", "BTI", "BTP", "EQUIV", "FUZZY", "HASPATH", "INPATH", "MDATA", "MINUS"],
  ...[
    "NEAR",
    "NOT",
    "NT",
    "NTG",
    "NTI",
    "NTP",
    "OR",
    "PATTERN",
    "PT",
    "RT",
    "SQE",
    "SYN",
    "TR",
    "TRSYN",
    "TT",
    "WITHIN",
  ],
]);

/**
 * The terms of a query, all of which must be there. It knows AND, braces and `%`
 * behind a word. Words in braces are words, whatever they say, but a `%` behind the
 * brace is a word of its own: a wildcard alone, which counts as a stopword.
 */
export function parsedTextQuery(query: string | null): readonly TextTerm[] {
  if (query === null) throw textError(50_901, "text query parser syntax error on line 1, column 1");
  const terms: TextTerm[] = [];
  let expectsTerm = true;
  for (const { 0: part, index } of query.matchAll(/\{[^}]*\}|&|[^\s{}&]+|\S/g)) {
    const wrong = (): ServerError => textError(50_901, `text query parser syntax error on line 1, column ${index + 1}`);
    if (part === "&" || part.toUpperCase() === "AND") {
      if (expectsTerm) throw wrong();
      expectsTerm = true;
      continue;
    }
    expectsTerm = false;
    if (part === "%") continue;
    if (part.startsWith("{") && part.endsWith("}")) {
      terms.push(...tokensOf(part.slice(1, -1)).map((token) => ({ token, isPrefix: false })));
      continue;
    }
    const word = part.replace(/%$/, "");
    if (RESERVED.has(word.toUpperCase()) || !/^[\p{L}\p{N}]+$/u.test(word)) throw wrong();
    terms.push({ token: word.toUpperCase(), isPrefix: part.endsWith("%") });
  }
  if (expectsTerm) throw textError(50_901, `text query parser syntax error on line 1, column ${query.length + 1}`);
  return terms;
}

/** As the default lexer takes a text apart. */
const tokensOf = (text: string): readonly string[] => text.toUpperCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** A few of the words that the default stoplist leaves out of an index. */
const STOPWORDS = [
  "A",
  "AN",
  "AND",
  "ARE",
  "BE",
  "BUT",
  "BY",
  "FOR",
  "IF",
  "IN",
  "INTO",
  "IS",
  "IT",
  "NO",
  "NOT",
  "OF",
  "ON",
  "OR",
  "THE",
  "TO",
];

/** The words of an index, and how they get there: see `create_text_index`. */
export const TEXT_PRELUDE: readonly string[] = [
  `CREATE TABLE oracle_sys.text_indexes (
     table_id oid, column_name text, owner text, table_name text, index_name text, parameters text,
     opstatus text DEFAULT 'VALID')`,
  "CREATE TABLE oracle_sys.text_tokens (table_id oid, row_id uuid, token text)",
  "CREATE INDEX ON oracle_sys.text_tokens (table_id, row_id)",
  "CREATE INDEX ON oracle_sys.text_tokens (table_id, token text_pattern_ops)",
  "GRANT ALL ON oracle_sys.text_indexes, oracle_sys.text_tokens TO PUBLIC",
  // The lexer; tokens of more than 64 bytes are cut, as they were before 18c, and stopwords are left out.
  `CREATE FUNCTION oracle_sys.keep_tokens(in_table oid, in_row uuid, words text) RETURNS void LANGUAGE sql AS $$
   INSERT INTO oracle_sys.text_tokens SELECT DISTINCT in_table, in_row, left(upper(token), 64)
   FROM regexp_split_to_table(words, '[^[:alnum:]]+') token
   WHERE token <> '' AND upper(token) <> ALL ('{${STOPWORDS.join()}}') $$`,
  // What is replaced or deleted is not found from that moment on; what is new, after the sync.
  `CREATE FUNCTION oracle_sys.forget_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN DELETE FROM oracle_sys.text_tokens WHERE table_id = TG_RELID AND row_id = OLD.text_rowid; RETURN NULL; END $$`,
  `CREATE FUNCTION oracle_sys.sync_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
   DECLARE words text; there boolean;
   BEGIN
     EXECUTE format('SELECT %I, true FROM %s WHERE text_rowid = $1', TG_ARGV[0], TG_RELID::regclass) INTO words, there USING NEW.text_rowid;
     IF there THEN
       DELETE FROM oracle_sys.text_tokens WHERE table_id = TG_RELID AND row_id = NEW.text_rowid;
       PERFORM oracle_sys.keep_tokens(TG_RELID, NEW.text_rowid, words);
     END IF;
     RETURN NULL;
   END $$`,
  // Rows that are there are indexed at once. Later ones only on commit, and only where the parameters say so.
  `CREATE FUNCTION oracle_sys.create_text_index(indexed regclass, column_name text, index_name text, parameters text) RETURNS void
   LANGUAGE plpgsql AS $$
   DECLARE name text := upper(reverse(split_part(reverse(index_name), '.', 1)));
   BEGIN
     IF EXISTS (SELECT FROM oracle_sys.text_indexes t WHERE t.table_id = indexed AND t.index_name = name) THEN
       RAISE duplicate_table;
     END IF;
     IF EXISTS (SELECT FROM oracle_sys.text_indexes t WHERE t.table_id = indexed AND t.column_name = upper(create_text_index.column_name)) THEN
       RAISE EXCEPTION USING ERRCODE = 'OT879';
     END IF;
     IF pg_get_userbyid((SELECT relowner FROM pg_class WHERE oid = indexed)) <> current_user THEN
       RAISE insufficient_privilege USING MESSAGE = 'permission denied for schema';
     END IF;
     EXECUTE format('ALTER TABLE %s ADD COLUMN IF NOT EXISTS text_rowid uuid NOT NULL DEFAULT gen_random_uuid()', indexed);
     EXECUTE format('SELECT oracle_sys.keep_tokens(%s, text_rowid, %I) FROM %s', indexed::oid, column_name, indexed);
     EXECUTE format('CREATE TRIGGER forget_tokens AFTER UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION oracle_sys.forget_tokens()', indexed);
     IF parameters ~* 'SYNC *\\( *ON +COMMIT' THEN
       EXECUTE format('CREATE CONSTRAINT TRIGGER sync_tokens AFTER INSERT OR UPDATE ON %s DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION oracle_sys.sync_tokens(%L)', indexed, column_name);
     END IF;
     INSERT INTO oracle_sys.text_indexes SELECT indexed, upper(create_text_index.column_name), upper(nspname), upper(relname), name, parameters
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = indexed;
   END $$`,
  // The query comes as the terms that were read from it.
  `CREATE FUNCTION oracle_sys.contains(in_table oid, in_row uuid, query text) RETURNS integer LANGUAGE sql STABLE RETURN (
   SELECT CASE WHEN bool_and(EXISTS (
     SELECT FROM oracle_sys.text_tokens k WHERE k.table_id = in_table AND k.row_id = in_row
       AND CASE WHEN (q ->> 'isPrefix')::boolean THEN starts_with(k.token, q ->> 'token') ELSE k.token = q ->> 'token' END))
   THEN 1 ELSE 0 END FROM jsonb_array_elements(query::jsonb) q)`,
];
