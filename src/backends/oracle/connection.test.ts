import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import oracledb from "oracledb";
import { describe, expect, test, vi } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { describeWithStandIn } from "../../../test/oracle-stand-in/with-oracle.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { openCheckpointer } from "../open.ts";
import { partsOf } from "./dsn.ts";
import { type OracleCheckpointerOptions, oracleCheckpointer, oracleConnection } from "./index.ts";
import { inOrder } from "./storage.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));
const refusedAtOnce = (options: object): unknown => {
  try {
    oracleCheckpointer(options as OracleCheckpointerOptions);
  } catch (error) {
    return error;
  }
  return undefined;
};

describe("wrong options are refused at once, and no error shows them", () => {
  test.each([
    ["scott/t1ger@db.example.com:1521/service"],
    ["oracle://scott:t1ger@db.example.com:1521/service"],
    ["scott:t1ger@mydb_low"],
    ["my db"],
    [""],
    ["(DESCRIPTION=(ADDRESS=(HOST=h))(PASSWORD=t1ger))"],
  ])("the dsn %j", (dsn) => {
    const error = refusedAtOnce({ dsn, user: "scott", password: "t1ger" });
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(String(error)).not.toContain("t1ger");
  });

  test("neither a dsn nor a pool, both, a pool that was not awaited, and credentials beside one", () => {
    const pool = { getConnection: async () => ({}), close: async () => undefined };
    for (const options of [{}, { dsn: "db", pool }, { pool: Promise.resolve(pool) }, { pool, user: "scott" }]) {
      expect(refusedAtOnce(options), JSON.stringify(Object.keys(options))).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  });

  test("a name that no table can have, and an option that does not exist", () => {
    for (const tableName of ["a;b", "1a", "a".repeat(101), 'a"b', "a.b.c", ""]) {
      expect(refusedAtOnce({ dsn: "db", tableName }), tableName).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(String(refusedAtOnce({ dsn: "db", walletlocation: "x" }))).toContain("walletLocation");
  });
});

test("a page of threads that is not in byte order is an error, so that no walk skips threads", async () => {
  const walk = async (...ids: readonly string[]) => inOrder(ids.map((id) => ({ thread_id: id })));
  expect(await walk("a", "b", "Ä")).toHaveLength(3);
  expect(await failureOf(() => walk("a", "Ä", "b"))).toMatchObject({
    message: expect.stringContaining("sort as a language does"),
  });
});

test("a URL names a service or an alias, and its credentials are decoded", () => {
  expect(partsOf("oracle://app:p%40ss%2Fword@db.example.com:1522/my_service?protocol=tcps&tableName=A")).toEqual({
    dsn: "tcps://db.example.com:1522/my_service",
    user: "app",
    password: "p@ss/word",
    tableName: "A",
  });
  expect(partsOf("oracle://app@mydb_low?wallet=/w&walletPassword=x")).toEqual({
    dsn: "mydb_low",
    user: "app",
    walletLocation: "/w",
    walletPassword: "x",
  });
  expect(partsOf("oracle://app@db.example.com/service").dsn).toBe("db.example.com:1521/service");
  expect(() => partsOf("oracle://app@mydb_low?walet=/w")).toThrow(/unknown parameter "walet"/);
});

test("an alias without a tnsnames.ora, or missing from it, is refused with what to do", async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-wallet-"));
  const attempt = (walletLocation: string) =>
    failureOf(() => oracleCheckpointer({ dsn: "mydb_low", user: "app", password: "s3cret", walletLocation }).load("t"));
  expect(await attempt(directory)).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("there is no tnsnames.ora"),
  });
  await writeFile(join(directory, "tnsnames.ora"), "other = (DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h)(PORT=1)))\n");
  expect(await attempt(directory)).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("tnsnames.ora does not have"),
  });
  await rm(directory, { recursive: true });
});

test("a port without a listener is UNAVAILABLE, by the real client over a real socket", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  const dsn = `127.0.0.1:${port}/service`;
  const failure = await failureOf(() =>
    oracleCheckpointer({ dsn, user: "app", password: "s3cret", retry: { attempts: 1 } }).load("t"),
  );
  expect(failure).toMatchObject({ code: "UNAVAILABLE" });
  expect(String(failure)).not.toContain("s3cret");
});

await describeWithStandIn((place) => {
  const { dsn, sql } = place;
  const saved = async (options: OracleCheckpointerOptions): Promise<number | undefined> => {
    await using checkpointer = oracleCheckpointer(options);
    await checkpointer.save(said("hello"), "t");
    return (await checkpointer.load("t"))?.messages.length;
  };

  test("a password with @ and / and quotes works, as an option and in a URL", async () => {
    const password = `p@s/s"w'o:r?d#%`;
    await sql(`ALTER ROLE ${place.user} PASSWORD '${password.replaceAll("'", "''")}'`);
    const tableName = place.tableName();
    expect(await saved({ dsn, user: place.user, password, tableName })).toBe(1);
    const [host, service] = dsn.split("/");
    const url = `oracle://${place.user}:${encodeURIComponent(password)}@${host}/${service}?tableName=${tableName}`;
    await using byUrl = await openCheckpointer(url);
    expect(await byUrl.listThreads()).toEqual(["t"]);
    await sql(`ALTER ROLE ${place.user} PASSWORD '${place.password}'`);
  });

  test("a wrong password is PERMISSION_DENIED, and no error shows one", async () => {
    const wrong = "wr0ng-s3cret";
    const given = { dsn, user: place.user, password: wrong, walletPassword: "wallet-s3cret", retry: { attempts: 1 } };
    const failure = await failureOf(() => oracleCheckpointer(given).load("t"));
    expect(failure).toMatchObject({ code: "PERMISSION_DENIED", message: expect.stringContaining("ORA-01017") });
    for (const shown of [String(failure), JSON.stringify(failure), String((failure as Error).cause)]) {
      expect(shown).not.toMatch(/s3cret/);
    }
  });

  test("a password that was rotated is asked for again, and the program goes on", async () => {
    const { user } = await place.addUser("first-1");
    await sql(`CREATE SCHEMA ${user} AUTHORIZATION ${user}`);
    let current = "first-1";
    let asked = 0;
    const password = async (): Promise<string> => {
      asked++;
      return current;
    };
    const checkpointer = oracleCheckpointer({ dsn, user, password, tableName: "ROTATED" });
    await checkpointer.save(said("before"), "t");
    await sql(`ALTER ROLE ${user} PASSWORD 'second-2'`);
    current = "second-2";
    await sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", [user]);
    expect((await checkpointer.load("t"))?.messages).toHaveLength(1);
    expect(asked).toBeGreaterThan(1);
    await checkpointer.close();
    await sql(`DROP SCHEMA ${user} CASCADE`);
  });

  test("a pool that was handed in is used unchanged and stays open; one with a linguistic sort order is refused", async () => {
    const options = { connectString: dsn, user: place.user, password: place.password, poolMin: 0, poolMax: 2 };
    const binary = await oracledb.createPool({
      ...options,
      sessionCallback: (connection, _tag, done) => {
        connection.callTimeout = 12_345;
        connection.execute("ALTER SESSION SET NLS_SORT = BINARY NLS_COMP = BINARY").then(() => done(), done);
      },
    });
    expect(await saved({ pool: binary, tableName: place.tableName() })).toBe(1);
    const connection = await binary.getConnection();
    expect(connection.callTimeout, "the program's own setting").toBe(12_345);
    await connection.close();
    await binary.close(0);

    const german = await oracledb.createPool(options);
    const failure = await failureOf(() => oracleCheckpointer({ pool: german, tableName: place.tableName() }).load("t"));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("NLS_SORT = BINARY") });
    await german.close(0);
  });

  test("global settings of the program change nothing here", async () => {
    const before = { maxRows: oracledb.maxRows, outFormat: oracledb.outFormat, fetchAsString: oracledb.fetchAsString };
    Object.assign(oracledb, { maxRows: 1, outFormat: oracledb.OUT_FORMAT_ARRAY, fetchAsString: [oracledb.NUMBER] });
    try {
      await using checkpointer = oracleCheckpointer({ ...only(place), tableName: place.tableName() });
      for (const id of ["a", "b", "c"]) await checkpointer.save(said(id), id, { metadata: { n: 1 } });
      expect(await checkpointer.listThreads()).toEqual(["a", "b", "c"]);
      expect((await checkpointer.load("c"))?.messages).toHaveLength(1);
    } finally {
      Object.assign(oracledb, before);
    }
  });

  test("a database with another character set is refused: two ids could become equal in it", async () => {
    const { user, password } = await place.addUser();
    await sql(`ALTER ROLE ${user} SET standin.charset = 'WE8MSWIN1252'`);
    const failure = await failureOf(() => oracleCheckpointer({ dsn, user, password }).load("t"));
    expect(failure).toMatchObject({ code: "INCOMPATIBLE", message: expect.stringContaining("AL32UTF8") });
  });

  test("one connection serves several facets, and is closed with the last of them", async () => {
    const connection = oracleConnection({ dsn, user: place.user, password: place.password });
    const one = oracleCheckpointer({ connection, tableName: place.tableName() });
    const other = oracleCheckpointer({ connection, tableName: place.tableName() });
    await one.save(said("one"), "t");
    await other.save(said("other"), "t");
    await one.close();
    expect((await other.load("t"))?.messages).toHaveLength(1);
    await other.close();
    const sessions = "SELECT FROM pg_stat_activity WHERE usename = $1 AND query LIKE '%T%'";
    await vi.waitUntil(async () => (await sql(sessions, [place.user])).length < 2, { timeout: 60_000 });
  });
});

const only = ({ dsn, user, password }: { dsn: string; user: string; password: string }) => ({ dsn, user, password });
