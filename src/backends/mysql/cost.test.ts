import { createPool, type RowDataPacket } from "mysql2/promise";
import { afterAll, expect, test } from "vitest";
import { mysqlPlace } from "../../../test/services/mysql-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import { recordSaying, wordsOf } from "../../testing/thread-log-cases/speaking-records.ts";
import { mysqlLogOptions } from "./checkpointer.ts";
import { MysqlLog } from "./log.ts";

const RECORDS = 2000;
/** Records that each checkpoint builds on. */
const CHAIN = 20;

await describeWithService("mysql", async (url) => {
  const place = await mysqlPlace(url);
  afterAll(place.dispose);

  /** A log with one session, and how many rows that session reads for a call. */
  async function counted() {
    const pool = createPool({ uri: place.url, connectionLimit: 1 });
    const log = new MysqlLog(mysqlLogOptions({ pool, tablePrefix: place.prefix() }));
    await log.connect();
    const rowsFor = async (call: () => Promise<unknown>): Promise<number> => {
      await pool.query("FLUSH STATUS");
      await call();
      const [status] = await pool.query<RowDataPacket[]>("SHOW SESSION STATUS LIKE 'Handler\\_read%'");
      return status
        .filter(({ Variable_name: name }) => !String(name).includes("tmp") && !String(name).includes("rnd_deleted"))
        .reduce((sum, { Value: value }) => sum + Number(value), 0);
    };
    return { log, pool, rowsFor };
  }

  test("every read of a long thread reads no other rows than its own", async () => {
    const { log, pool, rowsFor } = await counted();
    const records = Array.from({ length: RECORDS }, (_, index) => {
      const seq = index + 1;
      return recordAt(seq, { base: seq - ((seq - 1) % CHAIN), ...(seq === 700 && { names: ["a", "b"] }) });
    });
    const statements = async (): Promise<number> => {
      const [[row]] = await pool.query<RowDataPacket[]>("SHOW SESSION STATUS LIKE 'Com_stmt_execute'");
      return Number(row?.["Value"]);
    };
    const before = await statements();
    for (let from = 0; from < RECORDS; from += 250) {
      const [first = recordAt(1), ...more] = records.slice(from, from + 250);
      expect(await log.append("t", requestFor(first, { more }))).toEqual({ appended: true });
    }
    expect(await statements(), "an append of 250 records is few statements").toBeLessThan(before + 8 * 20);
    const middle = "checkpoint-1015";
    expect((await log.readCheckpoint("t", middle))?.records).toHaveLength(15);
    const place = { generation: "first", seq: RECORDS - 5, writeId: `write-${RECORDS - 5}` };
    const found = {
      tail: await rowsFor(() => log.tail("t")),
      readTail: await rowsFor(() => log.readTail("t")),
      readNewer: await rowsFor(() => log.readTail("t", { newerThan: place })),
      readCheckpoint: await rowsFor(() => log.readCheckpoint("t", middle)),
      readNamed: await rowsFor(() => log.readCheckpoint("t", "a")),
      readAbsent: await rowsFor(() => log.readCheckpoint("t", "nothing")),
      entry: await rowsFor(() => log.entry("t", middle)),
      readRecords: await rowsFor(() => log.readRecords("t", { before: 1000, limit: CHAIN })),
      list: await rowsFor(() => log.list("t", { before: 1000, limit: CHAIN })),
      refusal: await rowsFor(() => log.append("t", requestFor(recordAt(1000)))),
    };
    for (const [call, rows] of Object.entries(found)) expect(rows, call).toBeLessThan(RECORDS / 4);
    await log.close();
    await pool.end();
  });

  test("a search for words that few records have reads few rows, however many records have one of them", async () => {
    const { log, pool, rowsFor } = await counted();
    const records = Array.from({ length: 250 }, (_, index) =>
      recordSaying(index + 1, index === 100 ? "common zebra" : "common word"),
    );
    const [first = recordSaying(1, ""), ...more] = records;
    await log.append("t", requestFor(first, { more }));
    await log.catchUp(wordsOf);
    expect((await log.search(["common", "zeb"], { limit: 10 })).hits.map(({ entry }) => entry.seq)).toEqual([101]);
    expect(await rowsFor(() => log.search(["zebra"], { limit: 10 }))).toBeLessThan(60);
    expect(await rowsFor(() => log.search(["absent"], { limit: 10 }))).toBeLessThan(60);
    await log.close();
    await pool.end();
  });
});
