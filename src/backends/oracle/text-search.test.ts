import oracledb from "oracledb";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { onMessage } from "../../../test/oracle-stand-in/install.ts";
import { describeWithStandIn } from "../../../test/oracle-stand-in/with-oracle.ts";
import { catchUp } from "../../checkpoint/sql-log/catch-up.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { markAt, put } from "../../testing/thread-log-cases/sample-records.ts";
import { recordSaying, wordsOf } from "../../testing/thread-log-cases/speaking-records.ts";
import { oracleLogOptions } from "./checkpointer.ts";
import { type OracleCheckpointerOptions, oracleCheckpointer, oracleConnection, oracleDdl } from "./index.ts";
import { tableNames } from "./layout.ts";
import { OracleLog } from "./log.ts";
import { storageOf } from "./storage.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

await describeWithStandIn((place, postgresUrl) => {
  const { dsn, user, password } = place;
  const where = (tableName: string): OracleCheckpointerOptions => ({ dsn, user, password, tableName });

  /** A session of the tables' owner. */
  const owner = { execute: async (_sql: string): Promise<unknown> => undefined };
  let pool: oracledb.Pool;
  beforeAll(async () => {
    pool = await oracledb.createPool({ connectString: dsn, user, password, poolMin: 0, poolAlias: "text search" });
    owner.execute = async (sql) => {
      const session = await pool.getConnection();
      try {
        return await session.execute(sql, {}, { autoCommit: true });
      } finally {
        await session.close();
      }
    };
  });
  afterAll(() => pool.close(0));

  test("a user with only row privileges searches through the index, and with read access by a scan", async () => {
    const tableName = place.tableName();
    const app = await place.addUser();
    for (const statement of oracleDdl({ tableName, role: app.user.toUpperCase() })) await owner.execute(statement);
    const asApp = { dsn, user: app.user, password: app.password, tableName: `${user.toUpperCase()}.${tableName}` };
    await using checkpointer = oracleCheckpointer(asApp);
    await checkpointer.save(said("a word in private"), "t");
    expect((await checkpointer.connect()).searchMethod).toBe("index");
    expect((await checkpointer.search("private")).map(({ threadId }) => threadId)).toEqual(["t"]);
    await using reader = oracleCheckpointer({ ...asApp, access: "read" });
    expect((await reader.connect()).searchMethod).toBe("scan");
    expect((await reader.search("private")).map(({ threadId }) => threadId)).toEqual(["t"]);
  });

  test("a query of hundreds of words, in every script, is answered", async () => {
    const tableName = place.tableName();
    await using checkpointer = oracleCheckpointer(where(tableName));
    const words = Array.from({ length: 300 }, (_, at) => `слово${at} naïve_${at}`).join(" ");
    await checkpointer.save(said(words), "t");
    await checkpointer.save(said(words.replace("слово299", "другое")), "u");
    expect((await checkpointer.search(words)).map(({ threadId }) => threadId)).toEqual(["t"]);
  });

  test("a save stays one round trip; a search is three, and two more for each thread that was saved since", async () => {
    await using checkpointer = oracleCheckpointer({ ...where(place.tableName()), maxConnections: 1 });
    const costOf = async (call: () => Promise<unknown>): Promise<number> => {
      let messages = 0;
      const stop = onMessage(() => messages++);
      await call();
      stop();
      return messages;
    };
    await checkpointer.save(said("first words"), "t");
    await checkpointer.search("first");
    expect(await costOf(() => checkpointer.search("first")), "nothing new").toBe(3);
    expect(await costOf(() => checkpointer.save(said("other words"), "u"))).toBe(1);
    expect(await costOf(() => checkpointer.search("other")), "one thread is new").toBe(5);
  });

  describe("indexing", () => {
    test("words of a record that is replaced while it is indexed are not stored", async () => {
      const tableName = place.tableName();
      const log = new OracleLog(oracleLogOptions(where(tableName)));
      await put(log, "t", recordSaying(1, "secret"));
      const connection = oracleConnection({ dsn, user, password });
      const handle = connection.lease((each) => storageOf(each, tableNames(tableName), 100));
      const storage = await handle.get();
      let edits = 0;
      await catchUp(
        {
          ...storage,
          index: async (batch) => {
            if (batch.found.length === 1 && edits++ === 0) {
              await put(log, "t", markAt(2, { head: 1 }), { replace: [recordSaying(1, "harmless")] });
            }
            return storage.index(batch);
          },
        },
        wordsOf,
        undefined,
      );
      expect(edits).toBeGreaterThan(1);
      const stored = await place.sql(`SELECT convert_from(word, 'UTF8') AS word FROM ${user}.${tableName}_words`);
      expect(stored.map(({ word }) => word)).toEqual(["harmless"]);
      await handle.release();
      await log.close();
    });

    test("a thread whose row stays locked does not keep other threads from being found", async () => {
      const tableName = place.tableName();
      await using checkpointer = oracleCheckpointer(where(tableName));
      for (const id of ["a", "b", "c"]) await checkpointer.save(said(`word of ${id}`), id);
      const other = new Client({ connectionString: postgresUrl });
      await other.connect();
      await other.query("BEGIN");
      await other.query(`SELECT FROM ${user}.${tableName} WHERE thread_id = 'b' FOR UPDATE`);
      expect((await checkpointer.search("word")).map(({ threadId }) => threadId).sort()).toEqual(["a", "c"]);
      await other.query("ROLLBACK");
      await other.end();
      expect((await checkpointer.search("word")).map(({ threadId }) => threadId).sort()).toEqual(["a", "b", "c"]);
    });

    test("a deleted thread leaves no word, neither in the table nor in the index", async () => {
      const tableName = place.tableName();
      await using checkpointer = oracleCheckpointer(where(tableName));
      await checkpointer.save(said("confidential"), "t");
      expect((await checkpointer.search("confidential")).length).toBe(1);
      await checkpointer.delete("t");
      expect(await place.sql(`SELECT FROM ${user}.${tableName}_words`)).toEqual([]);
      expect((await checkpointer.search("confidential")).length).toBe(0);
    });
  });
});
