import { createHash } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import { postgresLogOptions } from "./checkpointer.ts";
import { postgresqlDdl } from "./ddl.ts";
import { PostgresLog } from "./log.ts";

/** More than the newest rows that a search looks at before it asks the index of words. */
const ROWS = 5000;
const RANKED = 20;
/** The rows that have a word, by their number: the oldest is 1. Even ones are of the thread `b/t`, the others of `a/t`. */
const WORDS: Readonly<Record<string, (row: number) => boolean>> = {
  atonce: (row) => row > ROWS - 100 && row <= ROWS - 100 + RANKED + 1,
  limit: (row) => row > ROWS - 100 && row <= ROWS - 100 + RANKED,
  spread: (row) => row % 200 === 1,
  lately: (row) => row <= RANKED - 1 || row > ROWS - 2,
  evenly: (row) => row <= RANKED - 2 || row > ROWS - 2,
  old: (row) => row <= RANKED + 1,
  fewold: (row) => row <= RANKED,
  verbose: (row) => row > ROWS - RANKED - 1,
};
/** Words that do not fit into a row beside the others, and hardly compress. */
const manyWords = (row: number): readonly string[] =>
  Array.from({ length: 400 }, (_, at) => createHash("sha256").update(`${row} ${at}`).digest("hex").slice(0, 12));

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  async function filled(tablePrefix: string): Promise<PostgresLog> {
    const log = new PostgresLog(postgresLogOptions({ dsn: url, schema, tablePrefix, searchRanksUpTo: RANKED }));
    for (const thread of ["a/t", "b/t"]) await log.append(thread, requestFor(recordAt(1)));
    await log.catchUp(() => undefined);
    const tables = `${schema}.${tablePrefix}`;
    await sql(`INSERT INTO ${tables}records (thread_id, seq, base, head, header, body)
      SELECT r.thread_id, n, r.base, r.head, r.header, r.body FROM ${tables}records r, generate_series(2, ${ROWS / 2}) n`);
    const lines = Array.from({ length: ROWS }, (_, index) => {
      const own = Object.keys(WORDS).filter((word) => WORDS[word]?.(index + 1));
      return [...own, ...(own.includes("verbose") ? manyWords(index + 1) : ["filler"])].join(" ");
    });
    await sql(
      `INSERT INTO ${tables}words (thread_id, seq, at, words)
      SELECT CASE row % 2 WHEN 0 THEN 'b/t' ELSE 'a/t' END, (row + 1) / 2, row, array_to_tsvector(string_to_array(line, ' '))
      FROM unnest($1::text[]) WITH ORDINALITY AS l (line, row)`,
      [lines],
    );
    return log;
  }

  /** The rows that must be found, as the answer names them, newest first. */
  const rowsWith = (words: readonly string[], prefix: string): readonly string[] =>
    Array.from({ length: ROWS }, (_, index) => ROWS - index)
      .filter((row) => words.every((word) => WORDS[word]?.(row)))
      .map((row) => `${row % 2 === 0 ? "b/t" : "a/t"}/${Math.floor((row + 1) / 2)}`)
      .filter((name) => name.startsWith(prefix));

  for (const partitions of [0, 2]) {
    test(`the order depends on how many records have the words, wherever they stand (${partitions} parts)`, async () => {
      const tablePrefix = place.prefix();
      if (partitions > 0)
        for (const statement of postgresqlDdl({ schema, tablePrefix, partitions })) await sql(statement);
      const log = await filled(tablePrefix);
      const orders = new Set<string>();
      for (const words of [...Object.keys(WORDS).map((word) => [word]), ["old", "fewold"], ["atonce", "lately"]]) {
        for (const prefix of ["", "a/", "b/"]) {
          const expected = rowsWith(words, prefix);
          const order = expected.length > RANKED ? "newest" : "best";
          const found = await log.search(words, { limit: ROWS, prefix });
          const names = found.hits.map(({ threadId, entry }) => `${threadId}/${entry.seq}`);
          expect([found.order, names.length], `${words} within ${prefix}`).toEqual([order, expected.length]);
          expect(order === "newest" ? names : names.toSorted()).toEqual(
            order === "newest" ? expected : expected.toSorted(),
          );
          orders.add(order);
        }
      }
      expect(orders).toEqual(new Set(["newest", "best"]));
      await log.close();
    });
  }
});
