import { describe, expect, test } from "vitest";
import { everyStatement } from "./every-statement.ts";
import { answersOfH2, canHaveH2 } from "./h2.ts";

/** What H2 lacks: blocks, rights, vectors, functions of JSON, indexes of expressions, the dictionary of a server, its session. */
const BEYOND_H2 =
  /^(?:DECLARE|BEGIN|GRANT|ALTER)\b|VECTOR|\bembedding\b|JSON_EXISTS|JSON_TABLE|\bnls_|\bsession_privs\b|\ball_(?:tab_columns|indexes)\b|_BY_WORDS\b/;

/** The same in H2's words: storage, a row generator, the clock in UTC, parts of a time as numbers; and any value for a bind. */
const inH2 = (statement: string): string =>
  statement
    .replace(/\) (?:PCTFREE \d+ INITRANS \d+|ORGANIZATION INDEX COMPRESS \d+)$/, ")")
    .replace(/SELECT LEVEL - 1 FROM dual CONNECT BY LEVEL <= (\d+)/, "SELECT x - 1 FROM SYSTEM_RANGE(1, $1)")
    .replaceAll("SYS_EXTRACT_UTC(SYSTIMESTAMP)", "LOCALTIMESTAMP")
    .replaceAll(" * 86400000 ", " * CAST(86400000 AS NUMBER) ")
    .replace(/FETCH FIRST :\w+ ROWS/g, "FETCH FIRST 10 ROWS")
    .replace(/:b_(?:seq|before|most|bytes|from_seq|to_seq|member|thread_no|word_count)\b/g, "1")
    .replace(/:b_(?:low|high)\w*/g, "'00'")
    .replace(/:b_\w+/g, "'x'");

const isRefused = (answer: string | undefined): boolean => /Exception/.test(answer ?? "");

const hasH2 = await canHaveH2();
if (!hasH2) console.log("no second opinion: H2 needs java, and mvn to get it");

describe.skipIf(!hasH2)("H2 in its Oracle mode", () => {
  test("every plain statement of ours runs there: tables, indexes, MERGE and queries", async () => {
    const plain = [...everyStatement("HF")].filter((statement) => !BEYOND_H2.test(statement)).map(inH2);
    const isMaking = (statement: string): boolean => /^(?:CREATE|INSERT|MERGE)\b/.test(statement);
    const inOrder = [...plain.filter(isMaking), ...plain.filter((statement) => !isMaking(statement))];
    const answers = await answersOfH2(inOrder);
    const refused = inOrder.map((statement, at) => [statement, answers[at]] as const);
    expect(refused.filter(([, answer]) => isRefused(answer))).toEqual([]);
    console.log(`oracle: ${inOrder.length} plain statements run on H2 in its Oracle mode`);
  });

  test("it agrees with the stand-in about '', MERGE and the sizes of types", async () => {
    const merge = [...everyStatement("HF")].find((statement) => statement.startsWith("MERGE")) ?? "";
    const table = [...everyStatement("HF")].find((statement) => /^CREATE TABLE HF_SCHEMA/.test(statement)) ?? "";
    const asked: readonly (readonly [statement: string, expected: RegExp])[] = [
      [table, /^done$/],
      [merge, /^done$/],
      [merge, /^done$/],
      ["SELECT COUNT(*), MAX(version) FROM HF_SCHEMA", /^--> 1 1$/],
      ["SELECT CASE WHEN '' IS NULL THEN 'null' END FROM dual", /^--> null$/],
      ["INSERT INTO HF_SCHEMA (part, version) VALUES ('', 1)", /NULL not allowed/],
      ["SELECT COUNT(*) FROM HF_SCHEMA WHERE part >= ''", /^--> 0$/],
      [`INSERT INTO HF_SCHEMA (part, version) VALUES ('${"x".repeat(65)}', 1)`, /Value too long/],
      ["INSERT INTO HF_SCHEMA (part, version) VALUES ('y', 1234567)", /Value too long/],
      ["INSERT INTO HF_SCHEMA (part, version) VALUES ('checkpoints', 2)", /Unique index or primary key violation/],
      ["CREATE TABLE J (a CLOB CHECK (a IS JSON), b RAW(2))", /^done$/],
      ["INSERT INTO J (a) VALUES ('{')", /Check constraint violation/],
      ["INSERT INTO J (a) VALUES ('{\"a\": 1}')", /^done$/],
      ["INSERT INTO J (b) VALUES (X'010203')", /Value too long/],
    ];
    const answers = await answersOfH2(asked.map(([statement]) => statement));
    for (const [at, [statement, expected]] of asked.entries()) expect(answers[at], statement).toMatch(expected);
  });

  test("a wrong statement is refused there", async () => {
    const wrong = ["SELECT part FROM HF_NONE", "UPDTE HF SET a = 1", "SELECT COUNT( FROM dual"];
    expect((await answersOfH2(wrong)).map(isRefused)).toEqual([true, true, true]);
  });
});
