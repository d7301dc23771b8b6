import { expect, test } from "vitest";
import { oracleDdl } from "../../src/backends/oracle/index.ts";
import { everyStatement } from "../oracle-stand-in/every-statement.ts";
import { grammarErrors } from "./oracle-grammar.ts";

/** The parser is slow until it is warm, and so is a busy machine. */
const PATIENCE = 900_000;

test("every statement that can be sent parses as Oracle SQL", { timeout: PATIENCE }, () => {
  const all = [...everyStatement("OWNER.HF"), ...oracleDdl({ tableName: "HF", role: "APP" })];
  const refused = all.map((sql) => [sql, grammarErrors(sql)] as const).filter(([, found]) => found.length > 0);
  expect(Object.fromEntries(refused)).toEqual({});
  console.log(`oracle: ${new Set(all).size} distinct statements are Oracle's language by its grammar`);
});

/** Each is one of ours with a mistake in it. */
const PLANTED: Readonly<Record<string, string>> = {
  limit: "SELECT seq FROM HF_RECORDS WHERE thread_id = :b_thread ORDER BY seq LIMIT 10",
  "on conflict": "INSERT INTO HF (thread_id) VALUES (:b_thread) ON CONFLICT (thread_id) DO NOTHING",
  "returning without into": "UPDATE HF SET tail = 1 WHERE thread_id = :b_thread RETURNING head",
  cast: "SELECT seq::text FROM HF_RECORDS",
  placeholder: "SELECT seq FROM HF_RECORDS WHERE thread_id = $1",
  "a type of another server": "CREATE TABLE HF (thread_id text NOT NULL)",
  "an alias with as": "SELECT t.seq FROM HF_RECORDS AS t",
  "an unknown word": "UPDTE HF SET tail = 1",
  "a missing end if": "BEGIN\n  IF 1 = 1 THEN\n    DELETE FROM HF;\nEND;",
  "a missing semicolon": "BEGIN\n  DELETE FROM HF\n  DELETE FROM HF_NAMES;\nEND;",
  "== in sql": "SELECT seq FROM HF_RECORDS WHERE seq == 1",
  "merge without parentheses": "MERGE INTO HF t USING dual d ON t.tail = 1 WHEN MATCHED THEN UPDATE SET t.head = 1",
  "default behind not null": "CREATE TABLE HF (a NUMBER NOT NULL DEFAULT 1)",
  "an empty literal": "SELECT seq FROM HF_RECORDS WHERE write_id = ''",
  "a vector index without its organization": "CREATE VECTOR INDEX I ON HF (embedding) DISTANCE COSINE",
  "a vector of a type that is none": "ALTER TABLE HF ADD (embedding VECTOR(3 FLOAT32))",
  "approx in the wrong place": "SELECT id FROM HF ORDER BY id FETCH FIRST APPROX 5 ROWS ONLY",
  "rows compared as one": "SELECT id FROM HF WHERE (namespace, key) > (:b_1, :b_2)",
  "a variable named old":
    "BEGIN\n  FOR old IN (SELECT id FROM HF) LOOP\n    DELETE FROM HF WHERE id = old.id;\n  END LOOP;\nEND;",
  "a table that is an index of nothing": "CREATE TABLE HF (a NUMBER PRIMARY KEY) ORGANIZATION COMPRESS 1",
  "a lock that waits for no number": "SELECT tail FROM HF WHERE thread_id = :b_thread FOR UPDATE WAIT",
  "an unclosed bracket": "SELECT COUNT(seq FROM HF_RECORDS",
};

test.each(Object.entries(PLANTED))("a wrong statement is rejected: %s", { timeout: PATIENCE }, (_, sql) => {
  expect(grammarErrors(sql)).not.toEqual([]);
});
