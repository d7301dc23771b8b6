import { Pool } from "pg";
import { afterAll, expect, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { AppendOutcome, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import { postgresLogOptions } from "./checkpointer.ts";
import { PostgresLog } from "./log.ts";

const THREADS = Array.from({ length: 16 }, (_, index) => `thread ${index}`);

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  afterAll(place.dispose);

  /** The threads with one record each, and a way to append to all of them at once. */
  async function opened() {
    const tablePrefix = place.prefix();
    const pool = new Pool({ connectionString: url, max: 10 });
    const log = new PostgresLog(postgresLogOptions({ pool, schema: place.schema, tablePrefix }));
    await log.connect();
    for (const threadId of THREADS) await log.append(threadId, requestFor(recordAt(1)));
    const close = async (): Promise<void> => {
      await log.close();
      await pool.end();
    };
    const statements = (): Promise<Record<string, unknown>[]> =>
      place.sql(
        `SELECT count(DISTINCT xmin::text) AS transactions FROM ${place.schema}.${tablePrefix}records WHERE seq = 2`,
      );
    return { log, tables: `${place.schema}.${tablePrefix}`, close, statements };
  }

  const appendToAll = (
    log: PostgresLog,
    fieldsOf: (index: number) => Partial<LogRecord> = () => ({}),
  ): Promise<readonly PromiseSettledResult<AppendOutcome>[]> =>
    Promise.allSettled(
      THREADS.map((threadId, index) => log.append(threadId, requestFor(recordAt(2, fieldsOf(index))))),
    );

  const tails = (log: PostgresLog): Promise<readonly (number | undefined)[]> =>
    Promise.all(THREADS.map(async (threadId) => (await log.tail(threadId))?.entry.seq));

  test("appends of one moment share transactions, with everything that a record has", async () => {
    const { log, close, statements } = await opened();
    const fieldsOf = (index: number): Partial<LogRecord> => ({
      metadata: index % 3 === 0 ? undefined : JSON.stringify({ step: index, quoted: '"\\{},' }),
      body: Buffer.from([index, 0, 255, 92, 39]),
      ...(index % 5 === 0 && { checkpointId: undefined, head: 1, body: Buffer.from("{}") }),
    });
    await appendToAll(log, fieldsOf);
    const [{ transactions } = {}] = await statements();
    expect(Number(transactions)).toBeLessThan(THREADS.length / 2);
    for (const [index, threadId] of THREADS.entries()) {
      const { words: _, ...expected } = recordAt(2, fieldsOf(index));
      expect((await log.readTail(threadId))?.records.at(-1)).toMatchObject(expected);
    }
    const matching = await log.queryMetadata("step", "4", { limit: 10 });
    expect(matching.items.map(({ threadId }) => threadId)).toEqual(["thread 4"]);
    await close();
  });

  test("one whose metadata the server cannot read fails alone in its group", async () => {
    const { log, close } = await opened();
    const answers = await appendToAll(log, (index) => (index === 11 ? { metadata: "{no json" } : {}));
    expect(answers.flatMap(({ status }, index) => (status === "rejected" ? index : []))).toEqual([11]);
    expect(await tails(log)).toEqual(THREADS.map((_, index) => (index === 11 ? 1 : 2)));
    await close();
  });

  test("a thread whose row another transaction holds delays no other of its batch", async () => {
    const { log, tables, close } = await opened();
    const other = new Pool({ connectionString: url, max: 1 });
    const holder = await other.connect();
    await holder.query("BEGIN");
    await holder.query(`SELECT FROM ${tables}threads WHERE thread_id = 'thread 9' FOR UPDATE`);
    const appends = THREADS.map((threadId) => log.append(threadId, requestFor(recordAt(2))));
    const answers = await Promise.all(appends.filter((_, index) => index !== 9));
    expect(answers.every(({ appended }) => appended)).toBe(true);
    await holder.query("COMMIT");
    expect(await appends[9]).toEqual({ appended: true });
    holder.release();
    await other.end();
    await close();
  });

  test("a conflict in a group fails only its own call, with the record that won", async () => {
    const { log, close } = await opened();
    await log.append("thread 3", requestFor(recordAt(2, { writeId: "another's" })));
    const answers = await appendToAll(log);
    const refused = answers.flatMap((answer, index) =>
      answer.status === "fulfilled" && !answer.value.appended ? { index, ...answer.value } : [],
    );
    expect(refused).toMatchObject([{ index: 3, occupant: { writeId: "another's" } }]);
    await close();
  });
});
