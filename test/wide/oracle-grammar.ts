/** The parts of the parser that are used: its package says nothing of its types that a strict compiler finds. */
interface Recogniser {
  _interp: { predictionMode: number };
  removeErrorListeners(): void;
  addErrorListener(listener: object): void;
  sql_script(): unknown;
}

type Maker = new (from: unknown) => Recogniser;

const importOf = async (name: string): Promise<Readonly<Record<string, Maker>>> => import(name);
const antlr = await importOf("antlr4");
const grammar = await importOf("@griffithswaite/ts-plsql-parser");

function make(from: Readonly<Record<string, Maker>>, name: string, given: unknown): Recogniser {
  const Made = from[name];
  if (Made === undefined) throw new Error(`the parser has no ${name}`);
  return new Made(given);
}

/** What the grammar takes and a server does not: PostgreSQL's words, and mistakes that are easily made beside it. */
const FOREIGN: readonly (readonly [RegExp, string])[] = [
  [/::/, "a cast with ::"],
  [/\$\d/, "a placeholder like $1"],
  [/\bLIMIT\b/i, "LIMIT"],
  [/\bON CONFLICT\b/i, "ON CONFLICT"],
  [
    /\b(?:TEXT|BYTEA|BOOLEAN|JSONB|SERIAL|TIMESTAMPTZ|INTEGER|BIGINT)\b/i,
    "a type that is not Oracle's, or not of every version",
  ],
  [/\bIF NOT EXISTS\b/i, "IF NOT EXISTS, which only 23ai has"],
  [/\b(?:FROM|JOIN) [\w.]+ AS \w+/i, "AS before the alias of a table"],
  [/\bRETURNING\b(?![\s\S]*\bINTO\b)/i, "RETURNING without INTO"],
  [/(?<![\w'])''(?!')/, "an empty literal, which is NULL"],
  [/\([^()]*,[^()]*\)\s*[<>]=?\s*\([^()]*,/, "rows compared as one with < or >"],
  [/\b(?:FOR|INTO) (?:old|new)\b/i, "a variable named OLD or NEW, which are words of RETURNING since 23ai"],
  [/\bVARCHAR2\(\d+\)/i, "VARCHAR2 without BYTE or CHAR"],
];

/** Forms that servers know and the grammar does not, as others of the same meaning to it. */
const KNOWN: readonly (readonly [RegExp, string])[] = [
  [/\bVECTOR\(\d+, FLOAT32\)/g, "RAW(2000)"],
  [
    /^CREATE VECTOR INDEX ([\w.]+ ON [\w.]+ \(\w+\)) ORGANIZATION (?:INMEMORY NEIGHBOR GRAPH|NEIGHBOR PARTITIONS) DISTANCE COSINE WITH TARGET ACCURACY \d+$/,
    "CREATE INDEX $1",
  ],
  [/\bVECTOR_DISTANCE\(([\w.]+), (:\w+), COSINE\)/g, "NVL($1, $2)"],
  [/\bFETCH APPROX FIRST\b/g, "FETCH FIRST"],
  [/JSON_EXISTS\(([\w.]+), ('[^']*') PASSING (:\w+) AS "v"\)/g, "JSON_VALUE($1, $2) = $3"],
];

/** Why this is not a statement of Oracle's; empty where it is one. Slow at first: the parser learns the grammar as it goes. */
export function grammarErrors(sql: string): readonly string[] {
  const code = sql.replace(/'(?:[^']|'')+'/g, "'x'");
  const foreign = FOREIGN.filter(([pattern]) => pattern.test(code)).map(([, what]) => what);
  return foreign.length > 0 ? foreign : syntaxErrors(sql);
}

function syntaxErrors(sql: string): readonly string[] {
  const known = KNOWN.reduce((text, [pattern, instead]) => text.replace(pattern, instead), sql);
  const found: string[] = [];
  const nothing = (): void => undefined;
  const listener = {
    syntaxError: (_recogniser: unknown, _symbol: unknown, line: number, column: number, message: string) =>
      void found.push(`${line}:${column} ${message.slice(0, 200)}`),
    reportAmbiguity: nothing,
    reportAttemptingFullContext: nothing,
    reportContextSensitivity: nothing,
  };
  const listening = (recogniser: Recogniser): Recogniser => {
    recogniser.removeErrorListeners();
    recogniser.addErrorListener(listener);
    return recogniser;
  };
  const text = known.trimEnd().endsWith(";") ? `${known}\n/` : `${known};`;
  const lexer = listening(make(grammar, "PlSqlLexer", make(antlr, "CharStream", text)));
  const parser = listening(make(grammar, "PlSqlParser", make(antlr, "CommonTokenStream", lexer)));
  // One alternative at a time, which is many times faster: what it refuses wrongly would show, for all of ours must pass.
  parser._interp.predictionMode = 0;
  parser.sql_script();
  return found;
}
