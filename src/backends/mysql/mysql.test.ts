import { createPool as createCallbackPool } from "mysql2";
import { createPool, type PoolConnection } from "mysql2/promise";
import { afterAll, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { mysqlPlace } from "../../../test/services/mysql-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { AgentState } from "../../state/agent-state.ts";
import { assistantMessage, userMessage } from "../../state/message.ts";
import { mysqlCheckpointer, mysqlConnection, mysqlDdl } from "./index.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

await describeWithService("mysql", async (url) => {
  const place = await mysqlPlace(url);
  afterAll(place.dispose);

  test("a load is one round trip, and a save is the five of a plain transaction", async () => {
    const pool = createPool({ uri: place.url, connectionLimit: 1 });
    let sent = 0;
    const counted = (connection: PoolConnection): PoolConnection =>
      new Proxy(connection, {
        get: (target, name) => {
          if (name === "query" || name === "execute") sent++;
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    const getConnection = async (): Promise<PoolConnection> => counted(await pool.getConnection());
    const checkpointer = mysqlCheckpointer({
      pool: { getConnection, end: () => pool.end() },
      tablePrefix: place.prefix(),
    });
    await checkpointer.connect();
    const costOf = async (call: () => Promise<unknown>): Promise<number> => {
      sent = 0;
      await call();
      return sent;
    };
    const first = said("one");
    const second = first.withMessage(userMessage("two"));
    const third = second.withMessage(userMessage("three"));
    const answered = AgentState.create({ messages: [userMessage("one"), assistantMessage("two")] });
    const metadata = { a: 1 };
    expect(await costOf(() => checkpointer.save(answered, "t0")), "a first save, which locks nothing").toBe(4);
    expect(await costOf(() => checkpointer.save(first, "t1")), "one of an unfinished turn, which an index finds").toBe(
      5,
    );
    expect(await costOf(() => checkpointer.save(second, "t1", { metadata })), "a save with new metadata").toBe(6);
    expect(await costOf(() => checkpointer.save(third, "t1", { metadata })), "a save").toBe(5);
    expect(await costOf(() => checkpointer.load("t1")), "a load").toBe(1);
    expect(await costOf(() => checkpointer.exists("t1")), "exists").toBe(1);
    expect(await costOf(() => checkpointer.listCheckpoints("t1")), "a page of history").toBe(1);
    expect(await costOf(() => checkpointer.listThreads()), "a page of threads").toBe(1);
    expect(await costOf(() => checkpointer.queryByMetadata("a", 1)), "a query").toBe(1);
    await checkpointer.close();
    await pool.end();
  });

  describe("a pool that is handed in", () => {
    test("stays open and as it is, whether it has promises or callbacks, and whatever form it gives to rows", async () => {
      const tablePrefix = place.prefix();
      const options = {
        uri: place.url,
        rowsAsArray: true,
        dateStrings: true,
        charset: "latin1",
        namedPlaceholders: true,
      };
      for (const pool of [createPool(options), createCallbackPool(options)]) {
        const checkpointer = mysqlCheckpointer({ pool, tablePrefix });
        await checkpointer.save(said("\u4f1a\u8bdd \ud83e\udd8a"), "thread \u4f1a");
        expect((await checkpointer.load("thread \u4f1a"))?.messages).toHaveLength(1);
        await checkpointer.delete("thread \u4f1a");
        await checkpointer.close();
        const ended =
          "getConnection" in pool && !("promise" in pool)
            ? pool
            : (pool as ReturnType<typeof createCallbackPool>).promise();
        expect((await ended.query("SELECT 1"))[0]).toEqual([[1]]);
        await ended.end();
      }
    });

    test("is refused where its sessions would cut values that are too long", async () => {
      const pool = createPool({ uri: place.url });
      pool.pool.on("connection", (connection) => connection.query("SET SESSION sql_mode = ''"));
      const checkpointer = mysqlCheckpointer({ pool, tablePrefix: place.prefix() });
      expect(await failureOf(() => checkpointer.connect())).toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining("STRICT_TRANS_TABLES"),
      });
      await checkpointer.close();
      await pool.end();
    });
  });

  test("an account without CREATE works once the statements of mysqlDdl() were run, and is told which before", async () => {
    const tablePrefix = place.prefix();
    const role = await place.role();
    const dsn = role.url;
    const checkpointer = mysqlCheckpointer({ dsn, tablePrefix });
    const database = new URL(place.url).pathname.slice(1);
    await place.sql(`GRANT USAGE ON *.* TO ${role.name}`);
    expect(await failureOf(() => checkpointer.connect())).toMatchObject({ code: "PERMISSION_DENIED" });
    for (const statement of mysqlDdl({ tablePrefix, role: role.name })) {
      await place.sql(statement.replaceAll(`\`${tablePrefix}`, `\`${database}\`.\`${tablePrefix}`));
    }
    await checkpointer.save(said("a needle"), "t", { metadata: { a: 1 }, ttlSeconds: 60 });
    expect(await checkpointer.search("needle")).toHaveLength(1);
    expect(await checkpointer.queryByMetadata("a", 1)).toHaveLength(1);
    await checkpointer.delete("t");
    await checkpointer.close();
  });

  test("with read access nothing is created, and the server refuses every write", async () => {
    const tablePrefix = place.prefix();
    const nothing = mysqlCheckpointer({ dsn: place.url, tablePrefix, access: "read" });
    expect(await failureOf(() => nothing.load("t"))).toMatchObject({ code: "NOT_FOUND" });
    await nothing.close();
    await using writer = mysqlCheckpointer({ dsn: place.url, tablePrefix });
    await writer.save(said("one"), "t");
    await using reader = mysqlCheckpointer({ dsn: place.url, tablePrefix, access: "read" });
    expect((await reader.load("t"))?.messages).toHaveLength(1);
    expect(await failureOf(() => reader.delete("t"))).toMatchObject({ code: "PERMISSION_DENIED" });
  });

  test("a thread that another session holds is given up in time, and nothing of the save was made", async () => {
    const tablePrefix = place.prefix();
    await using checkpointer = mysqlCheckpointer({
      dsn: place.url,
      tablePrefix,
      statementTimeoutMs: 1_000,
      retry: { attempts: 1 },
    });
    const state = said("one");
    await checkpointer.save(state, "t");
    const pool = createPool({ uri: place.url });
    const holder = await pool.getConnection();
    await holder.query(`START TRANSACTION`);
    await holder.query(`SELECT 1 FROM ${tablePrefix}threads FOR UPDATE`);
    const begun = performance.now();
    expect(await failureOf(() => checkpointer.save(state.withMessage(userMessage("two")), "t"))).toMatchObject({
      code: "TIMEOUT",
      context: { written: "no" },
    });
    expect(performance.now() - begun).toBeLessThan(10_000);
    await holder.query("ROLLBACK");
    holder.release();
    await pool.end();
    await checkpointer.save(state.withMessage(userMessage("two")), "t");
  });

  test("what is wrong with an address is said without its password", async () => {
    const wrong = new URL(place.url);
    wrong.password = "zebra%40quokka";
    const nowhere = new URL(place.url);
    nowhere.pathname = "/not_there";
    for (const [dsn, code] of [
      [wrong.href, "PERMISSION_DENIED"],
      [nowhere.href, "INVALID_ARGUMENT"],
      [`${wrong.href}?ssl-mode=required`, "INVALID_ARGUMENT"],
    ] as const) {
      const checkpointer = mysqlCheckpointer({ dsn, retry: { attempts: 1 } });
      const failure = await failureOf(() => checkpointer.connect());
      expect(failure, dsn).toMatchObject({ code });
      expect(JSON.stringify(failure) + failure.stack).not.toMatch(/zebra|quokka/);
      await checkpointer.close();
    }
    for (const dsn of ["mysql://h", "mysql://u:p@h/d?sslmode=on", "postgres://u:p@h/d"]) {
      expect(() => mysqlConnection({ dsn }), dsn).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    }
  });

  test("an account whose plugin the client does not speak is told what to do", async () => {
    await place.sql("INSTALL SONAME 'auth_ed25519'").catch(() => undefined);
    const role = await place.role();
    const isThere = await place.sql(`ALTER USER ${role.name} IDENTIFIED VIA ed25519 USING PASSWORD('secret')`).then(
      () => true,
      () => false,
    );
    if (!isThere) return;
    const checkpointer = mysqlCheckpointer({ dsn: role.url, retry: { attempts: 1 } });
    expect(await failureOf(() => checkpointer.connect())).toMatchObject({
      code: "PERMISSION_DENIED",
      message: expect.stringContaining("mysql_native_password"),
    });
    await checkpointer.close();
  });

  test("durability is what the server's settings give", async () => {
    const [settings] = await place.sql("SELECT @@innodb_flush_log_at_trx_commit AS synced, @@log_bin AS logged");
    await using checkpointer = mysqlCheckpointer({ dsn: place.url, tablePrefix: place.prefix() });
    expect(checkpointer.capabilities.durability).toBe("os");
    await checkpointer.connect();
    const isSynced = Number(settings?.["synced"]) === 1 && Number(settings?.["logged"]) === 0;
    expect(checkpointer.capabilities.durability).toBe(isSynced ? "fsync" : "os");
  });
});
