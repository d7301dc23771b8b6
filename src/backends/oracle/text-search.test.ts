import oracledb from "oracledb";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { onMessage, setFaults } from "../../../test/oracle-stand-in/install.ts";
import { describeWithOracle, describeWithStandIn } from "../../../test/oracle-stand-in/with-oracle.ts";
import { catchUp } from "../../checkpoint/sql-log/catch-up.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { markAt, put } from "../../testing/thread-log-cases/sample-records.ts";
import { searchingCases } from "../../testing/thread-log-cases/searching.ts";
import { recordSaying, wordsOf } from "../../testing/thread-log-cases/speaking-records.ts";
import { oracleLogOptions } from "./checkpointer.ts";
import { type OracleCheckpointerOptions, oracleCheckpointer, oracleConnection, oracleDdl } from "./index.ts";
import { tableNames } from "./layout.ts";
import { OracleLog } from "./log.ts";
import { storageOf } from "./storage.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

// The other cases do not search: conformance.test.ts has them.
const SEARCHING: ReadonlySet<string> = new Set(searchingCases.map(({ name }) => name));

await describeWithOracle(({ overLine }) => {
  testThreadLog({
    name: "oracle with a text index",
    test: (name, run) => void ([...SEARCHING].some((each) => name.includes(each)) && test(name, run)),
    afterAll,
    create: async () => {
      const { options, ...rest } = await overLine();
      const checked = oracleLogOptions({ ...options, textIndex: true });
      const open = async (): Promise<OracleLog> => {
        const log = new OracleLog(checked);
        await log.connect();
        return log;
      };
      return { subject: await open(), reopen: open, ...rest };
    },
  });
});

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

  async function foundBy(options: OracleCheckpointerOptions, query: string): Promise<readonly string[]> {
    await using checkpointer = oracleCheckpointer(options);
    return (await checkpointer.search(query)).map(({ threadId }) => threadId).sort();
  }

  test("search scans without a text index and uses one that the schema has; capabilities say which", async () => {
    const tableName = place.tableName();
    await using scanning = oracleCheckpointer(where(tableName));
    await scanning.save(said("the quick brown fox"), "before");
    expect((await scanning.connect()).searchMethod).toBe("scan");
    expect((await scanning.search("qui")).map(({ threadId }) => threadId)).toEqual(["before"]);

    const [created] = oracleDdl({ tableName, textIndex: true }).slice(-1);
    await owner.execute(created ?? "");
    await using indexed = oracleCheckpointer(where(tableName));
    expect((await indexed.connect()).searchMethod).toBe("index");
    await indexed.save(said("a quick dog"), "after");
    const found = (await indexed.search("qui")).map(({ threadId }) => threadId).sort();
    expect(found, "what was saved before there was an index, and after").toEqual(["after", "before"]);

    const log = new OracleLog(oracleLogOptions(where(tableName)));
    expect((await log.scrub()).remains.join(), "an erasure says what the index keeps").toContain("OPTIMIZE_INDEX");
    await log.close();
  });

  test("an index that is not synced on commit, or not intact, is not used, and is refused where one was asked for", async () => {
    const tableName = place.tableName();
    await using first = oracleCheckpointer(where(tableName));
    await first.save(said("hello there"), "t");
    await owner.execute(`CREATE INDEX own_${tableName} ON ${tableName}_WORDS (words) INDEXTYPE IS CTXSYS.CONTEXT`);
    await using scanning = oracleCheckpointer(where(tableName));
    expect((await scanning.connect()).searchMethod).toBe("scan");
    expect(await foundBy(where(tableName), "hello")).toEqual(["t"]);
    await using asking = oracleCheckpointer({ ...where(tableName), textIndex: true });
    expect(await failureOf(() => asking.load("t"))).toMatchObject({
      code: "INCOMPATIBLE",
      message: expect.stringContaining("synced on commit"),
    });

    const other = place.tableName();
    await using made = oracleCheckpointer({ ...where(other), textIndex: true });
    await made.connect();
    await place.sql("UPDATE oracle_sys.text_indexes SET opstatus = 'FAILED' WHERE table_name = $1", [`${other}_WORDS`]);
    await using after = oracleCheckpointer(where(other));
    expect((await after.connect()).searchMethod).toBe("scan");
  });

  test("a user with only row privileges searches through the owner's index, and with read access by a scan", async () => {
    const tableName = place.tableName();
    const app = await place.addUser();
    const role = app.user.toUpperCase();
    for (const statement of oracleDdl({ tableName, role, textIndex: true })) await owner.execute(statement);
    const asApp = { dsn, user: app.user, password: app.password, tableName: `${user.toUpperCase()}.${tableName}` };
    await using checkpointer = oracleCheckpointer({ ...asApp, textIndex: true });
    await checkpointer.save(said("a word in private"), "t");
    expect((await checkpointer.connect()).searchMethod).toBe("index");
    expect(await foundBy(asApp, "private")).toEqual(["t"]);
    await using reader = oracleCheckpointer({ ...asApp, access: "read" });
    expect((await reader.connect()).searchMethod).toBe("scan");
    expect((await reader.search("private")).map(({ threadId }) => threadId)).toEqual(["t"]);
  });

  test("a user who may not create the index is told which statement its owner runs", async () => {
    const tableName = place.tableName();
    const app = await place.addUser();
    for (const statement of oracleDdl({ tableName, role: app.user.toUpperCase() })) await owner.execute(statement);
    await using checkpointer = oracleCheckpointer({
      ...{ dsn, user: app.user, password: app.password, tableName: `${user.toUpperCase()}.${tableName}` },
      textIndex: true,
    });
    expect(await failureOf(() => checkpointer.load("t"))).toMatchObject({
      code: "PERMISSION_DENIED",
      message: expect.stringContaining("INDEXTYPE IS CTXSYS.CONTEXT"),
    });
  });

  test("a database without Oracle Text says so, and searches by a scan without the option", async () => {
    const tableName = place.tableName();
    setFaults(({ sql = "" }) => (/^CREATE INDEX .*CTXSYS/.test(sql) ? 29_833 : undefined));
    await using asking = oracleCheckpointer({ ...where(tableName), textIndex: true });
    expect(await failureOf(() => asking.load("t"))).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("no Oracle Text"),
    });
    setFaults(undefined);
    await using checkpointer = oracleCheckpointer(where(tableName));
    await checkpointer.save(said("plain words"), "t");
    expect(await foundBy(where(tableName), "plain")).toEqual(["t"]);
  });

  test("many processes that create the index at once all use it", async () => {
    const tableName = place.tableName();
    const all = Array.from({ length: 4 }, () => oracleCheckpointer({ ...where(tableName), textIndex: true }));
    const methods = await Promise.all(all.map(async (each) => (await each.connect()).searchMethod));
    expect(methods).toEqual(["index", "index", "index", "index"]);
    for (const each of all) await each.close();
  });

  test("an index that is dropped under a process is an error that says what to do, and never an empty answer", async () => {
    const tableName = place.tableName();
    await using checkpointer = oracleCheckpointer({ ...where(tableName), textIndex: true });
    await checkpointer.save(said("still here"), "t");
    expect((await checkpointer.search("still")).length).toBe(1);
    await place.sql("DELETE FROM oracle_sys.text_indexes WHERE table_name = $1", [`${tableName}_WORDS`]);
    expect(await failureOf(() => checkpointer.search("still"))).toMatchObject({
      code: "INCOMPATIBLE",
      message: expect.stringContaining("connect again"),
    });
    expect(await foundBy(where(tableName), "still")).toEqual(["t"]);
  });

  test("a beginning that too many words share is refused, and a longer one is found", async () => {
    const { user: limited, password: secret } = await place.addUser();
    await place.sql(`ALTER ROLE ${limited} SET standin.wildcard_maxterms = '3'`);
    const tableName = place.tableName();
    const role = limited.toUpperCase();
    for (const statement of oracleDdl({ tableName, role, textIndex: true })) await owner.execute(statement);
    const qualified = `${user.toUpperCase()}.${tableName}`;
    await using checkpointer = oracleCheckpointer({ dsn, user: limited, password: secret, tableName: qualified });
    await checkpointer.save(said("car cat cab can"), "t");
    expect(await failureOf(() => checkpointer.search("ca"))).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect((await checkpointer.search("cat")).map(({ threadId }) => threadId)).toEqual(["t"]);
  });

  test("a query of hundreds of words, in every script, is answered", async () => {
    const tableName = place.tableName();
    await using checkpointer = oracleCheckpointer({ ...where(tableName), textIndex: true });
    const words = Array.from({ length: 300 }, (_, at) => `слово${at} naïve_${at}`).join(" ");
    await checkpointer.save(said(words), "t");
    await checkpointer.save(said(words.replace("слово299", "другое")), "u");
    expect((await checkpointer.search(words)).map(({ threadId }) => threadId)).toEqual(["t"]);
  });

  test("a save stays one round trip; a search is two, and two more for each thread that was saved since", async () => {
    await using checkpointer = oracleCheckpointer({ ...where(place.tableName()), maxConnections: 1, textIndex: true });
    const costOf = async (call: () => Promise<unknown>): Promise<number> => {
      let messages = 0;
      const stop = onMessage(() => messages++);
      await call();
      stop();
      return messages;
    };
    await checkpointer.save(said("first words"), "t");
    await checkpointer.search("first");
    expect(await costOf(() => checkpointer.search("first")), "nothing new").toBe(2);
    expect(await costOf(() => checkpointer.save(said("other words"), "u"))).toBe(1);
    expect(await costOf(() => checkpointer.search("other")), "one thread is new").toBe(4);
  });

  describe("indexing", () => {
    test("words of a record that is replaced while it is indexed are not stored", async () => {
      const tableName = place.tableName();
      const log = new OracleLog(oracleLogOptions({ ...where(tableName), textIndex: true }));
      await put(log, "t", recordSaying(1, "secret"));
      const connection = oracleConnection({ dsn, user, password });
      const handle = connection.lease((each) => storageOf(each, tableNames(tableName), { createsIndex: true }));
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
      const stored = await place.sql(`SELECT words FROM ${user}.${tableName}_words`);
      expect(stored.map(({ words }) => words)).toEqual(["hfharmless"]);
      await handle.release();
      await log.close();
    });

    test("a thread whose row stays locked does not keep other threads from being found", async () => {
      const tableName = place.tableName();
      await using checkpointer = oracleCheckpointer({ ...where(tableName), textIndex: true });
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
      await using checkpointer = oracleCheckpointer({ ...where(tableName), textIndex: true });
      await checkpointer.save(said("confidential"), "t");
      expect((await checkpointer.search("confidential")).length).toBe(1);
      await checkpointer.delete("t");
      expect(await place.sql(`SELECT FROM ${user}.${tableName}_words`)).toEqual([]);
      expect((await checkpointer.search("confidential")).length).toBe(0);
    });
  });
});
