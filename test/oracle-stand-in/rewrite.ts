/** A bind as the client declared it. */
export interface DeclaredBind {
  /** In capitals. */
  readonly name: string;
  readonly kind: "text" | "number" | "bytes" | "vector" | "out number" | "out text";
}

/** What PostgreSQL runs instead, with the names of the binds in the order of its parameters. */
export interface Rewritten {
  readonly text: string;
  readonly parameters: readonly string[];
}

const CASTS = {
  text: "text",
  number: "numeric",
  bytes: "bytea",
  vector: "public.vector",
  "out number": "numeric",
  "out text": "text",
} as const;

const isOut = ({ kind }: DeclaredBind): boolean => kind === "out number" || kind === "out text";

/** One statement of ours, not a block. Not a translator: it knows what we write and nothing else. */
export function rewriteStatement(sql: string, binds: readonly DeclaredBind[]): Rewritten {
  const parameters: string[] = [];
  const text = outsideLiterals(sql, (code) =>
    rewriteCode(code).replace(/:(b_\w+)/gi, (_, name: string) => {
      const bind = bindNamed(binds, name);
      if (!parameters.includes(bind.name)) parameters.push(bind.name);
      return `($${parameters.indexOf(bind.name) + 1}::${CASTS[bind.kind]})`;
    }),
  );
  return { text: rewriteStatementForms(text), parameters };
}

/**
 * A block as a function with the same text: a list of values of each kind goes in, because
 * a function takes at most a hundred parameters, and each bind that the block
 * assigns comes out.
 */
export function rewriteBlock(name: string, sql: string, binds: readonly DeclaredBind[]): string {
  const places = placesOf(binds);
  const body = outsideLiterals(sql, (code) =>
    rewritePlsql(rewriteCode(code)).replace(/:(b_\w+)/gi, (_, given: string) => {
      const bind = bindNamed(binds, given);
      if (isOut(bind)) return bind.name.toLowerCase();
      const bound = `bound_${bind.kind}[${places.get(bind.name)}]`;
      return bind.kind === "vector" ? `${bound}::${CASTS.vector}` : bound;
    }),
  );
  const loops = [...new Set([...sql.matchAll(/\bFOR (\w+) IN \(/g)].map(([, variable]) => `${variable} record;`))];
  const declared = loops.length === 0 ? body : `DECLARE ${loops.join(" ")} ${body}`;
  const out = binds.filter(isOut).map(({ name, kind }) => `OUT ${name.toLowerCase()} ${CASTS[kind]}`);
  const parameters = [
    "bound_text text[]",
    "bound_number numeric[]",
    "bound_bytes bytea[]",
    "bound_vector text[]",
    ...out,
  ].join(", ");
  const returns = out.length === 0 ? " RETURNS void" : "";
  const seconds = /\bFOR UPDATE WAIT (\d+)/.exec(sql)?.[1];
  const waits = seconds === undefined ? "" : ` SET lock_timeout = '${seconds}s'`;
  return `CREATE OR REPLACE FUNCTION pg_temp.${name}(${parameters})${returns} LANGUAGE plpgsql${waits} AS $block$ ${declared} $block$`;
}

/** Where a bind stands in the list of its kind, from 1. */
export function placesOf(binds: readonly DeclaredBind[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const kind of ["text", "number", "bytes", "vector"] as const) {
    const ofKind = binds.filter((bind) => bind.kind === kind);
    for (const [index, { name }] of ofKind.entries()) places.set(name, index + 1);
  }
  return places;
}

function bindNamed(binds: readonly DeclaredBind[], name: string): DeclaredBind {
  const bind = binds.find((each) => each.name === name.toUpperCase());
  if (bind === undefined) throw new Error(`the stand-in was given no bind ${name}`);
  return bind;
}

/** The forms of JSON that we use, with the literals in them: servers before 17 know neither. */
const JSON_FORMS: readonly (readonly [RegExp, string])[] = [
  [
    /\bJSON_TABLE\((\w+), '\$\[\*\]' COLUMNS \((\w+) VARCHAR2\(\d+ BYTE\) PATH '\$'\)\)/g,
    "(SELECT value AS $2 FROM jsonb_array_elements_text($1::jsonb))",
  ],
  [
    /\bJSON_TABLE\((\w+), '\$\[\*\]' COLUMNS \((\w+) NUMBER PATH '\$'\)\)/g,
    "(SELECT value::numeric AS $2 FROM jsonb_array_elements_text($1::jsonb))",
  ],
  [
    /\bJSON_TABLE\((\w+), '\$\[\*\]' COLUMNS \((\w+) NUMBER PATH '\$\[0\]', (\w+) NUMBER PATH '\$\[1\]',\s+NESTED PATH '\$\[2\]\[\*\]' COLUMNS \((\w+) VARCHAR2\(\d+ BYTE\) PATH '\$'\)\)\)/g,
    "(SELECT (list.value ->> 0)::numeric AS $2, (list.value ->> 1)::numeric AS $3, nested.value AS $4 FROM jsonb_array_elements($1::jsonb) list, jsonb_array_elements_text(list.value -> 2) nested)",
  ],
  [
    /\bJSON_EXISTS\(([\w.]+), ('[^']*') PASSING (:\w+) AS "v"\)/g,
    "jsonb_path_exists(oracle_sys.as_json($1), $2, jsonb_build_object('v', $3))",
  ],
  [/\bJSON_EXISTS\(([\w.]+), ('[^']*')\)/g, "jsonb_path_exists(oracle_sys.as_json($1), $2)"],
];

/** A list of lists, by their positions. */
const LISTS =
  /\bJSON_TABLE\((:?\w+), '\$\[\*\]' COLUMNS \(((?:\w+ [A-Z0-9]+(?:\(\d+ BYTE\))? PATH '\$\[\d+\]'(?:, )?)+)\)\)/g;

function rewriteLists(sql: string): string {
  return sql.replace(LISTS, (_, list: string, columns: string) => {
    const members = [...columns.matchAll(/(\w+) (VARCHAR2|NUMBER)(?:\(\d+ BYTE\))? PATH '\$\[(\d+)\]'/g)].map(
      ([, name, type, at]) =>
        type === "NUMBER" ? `(value ->> ${at})::numeric AS ${name}` : `value ->> ${at} AS ${name}`,
    );
    return `(SELECT ${members.join(", ")} FROM jsonb_array_elements(${list}::jsonb))`;
  });
}

/** Literals stay as they are. An empty one is NULL in Oracle, and no statement of ours may have one. */
function outsideLiterals(sql: string, rewrite: (code: string) => string): string {
  const known = JSON_FORMS.reduce((text, [pattern, instead]) => text.replace(pattern, instead), rewriteLists(sql));
  const parts = known.split(/('(?:[^']|'')*')/);
  if (parts.some((part) => part === "''")) throw new Error("a statement has an empty literal, which is NULL in Oracle");
  const code = parts.filter((_, index) => index % 2 === 0).join(" ");
  if (code.includes("||"))
    throw new Error("a statement joins text with ||, which takes NULL for an empty text in Oracle");
  return parts.map((part, index) => (index % 2 === 0 ? part.replace(/[\s\S]+/, rewrite) : part)).join("");
}

const CODE: readonly (readonly [RegExp, string])[] = [
  [/\bVARCHAR2\((\d+) BYTE\)/g, "oracle_sys.varchar2_$1"],
  [/\bRAW\((\d+)\)/g, "oracle_sys.raw_$1"],
  // What a column counts by itself, and what refers to it.
  [/\bthread_no NUMBER\(16\)/g, "thread_no bigint"],
  [/\bNUMBER\((\d+)\)/g, "numeric($1)"],
  [/\bNUMBER\b/g, "numeric"],
  [/\bCLOB\b/g, "oracle_sys.clob"],
  [/\bBLOB\b/g, "oracle_sys.blob"],
  [/\bSYSTIMESTAMP\b/g, "clock_timestamp()"],
  [/\((\w+) IS JSON\)/g, "(oracle_sys.is_json($1))"],
  [/\bUSER\b/g, "oracle_sys.this_user()"],
  [/\bSELECT LEVEL - 1 FROM dual CONNECT BY LEVEL <= (\d+)/g, "SELECT n - 1 FROM generate_series(1, $1) n"],
  // Without an index, which PostgreSQL would use wherever it is in order; and with it.
  [/\bVECTOR_DISTANCE\(([\w.]+), (:\w+), COSINE\) AS/g, "(($1 OPERATOR(public.<=>) $2) + 0) AS"],
  [/\bVECTOR_DISTANCE\(([\w.]+), (:\w+), COSINE\)/g, "($1 OPERATOR(public.<=>) $2)"],
  [/\bVECTOR_DIMENSION_COUNT\(/g, "public.vector_dims("],
  [/\bFETCH APPROX FIRST\b/g, "FETCH FIRST"],
];

const rewriteCode = (code: string): string =>
  CODE.reduce((text, [pattern, instead]) => text.replace(pattern, instead), code);

const PLSQL: readonly (readonly [RegExp, string])[] = [
  [/\bWHEN DUP_VAL_ON_INDEX\b/g, "WHEN unique_violation"],
  [/\bINTO (v_)/g, "INTO STRICT $1"],
  [/\bIF SQL%ROWCOUNT = 0 THEN\b/g, "IF NOT FOUND THEN"],
  [/\bIF SQL%ROWCOUNT > 0 THEN\b/g, "IF FOUND THEN"],
  [/\b(v_\w+) := SQL%ROWCOUNT;/g, "GET DIAGNOSTICS $1 = ROW_COUNT;"],
  [/\bRAISE_APPLICATION_ERROR\(-20(\d{3}), /g, "RAISE EXCEPTION USING ERRCODE = 'OR$1', MESSAGE = ("],
  [/\bFOR UPDATE WAIT \d+/g, "FOR UPDATE"],
  [/\bAND ROWNUM <= (\d+) FOR UPDATE/g, "LIMIT $1 FOR UPDATE"],
];

const rewritePlsql = (code: string): string =>
  PLSQL.reduce((text, [pattern, instead]) => text.replace(pattern, instead), code);

/** What differs in whole statements: storage, names of indexes, and the target of MERGE. */
const rewriteStatementForms = (text: string): string =>
  text
    .replace(/\) (?:PCTFREE \d+ INITRANS \d+|ORGANIZATION INDEX COMPRESS \d+)$/, ")")
    .replace(/^CREATE INDEX (?:\w+\.)?(\w+) ON/, "CREATE INDEX $1 ON")
    .replace(/^(CREATE INDEX \w+ ON [\w.]+) \((CASE [^()]* END)\)$/, "$1 (($2))")
    .replace(
      /^CREATE VECTOR INDEX (?:\w+\.)?(\w+) ON ([\w.]+) \((\w+)\) ORGANIZATION (.*) DISTANCE COSINE .*$/,
      vectorIndex,
    )
    .replace(/^(ALTER TABLE [\w.]+) ADD \((\w+) VECTOR\((\d+), FLOAT32\)\)$/, "$1 ADD $2 public.vector($3)")
    .replace(/\bUPDATE SET t\./g, "UPDATE SET ");

const vectorIndex = (_: string, name: string, table: string, column: string, organization: string): string =>
  `CREATE INDEX ${name} ON ${table} USING ${/GRAPH/.test(organization) ? "hnsw" : "ivfflat"} (${column} public.vector_cosine_ops)`;
