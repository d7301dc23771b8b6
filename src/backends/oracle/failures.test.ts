import { Client } from "pg";
import { afterEach, describe, expect, test, vi } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { drainSessions, type MessageSeen, setFaults } from "../../../test/oracle-stand-in/install.ts";
import { describeWithStandIn } from "../../../test/oracle-stand-in/with-oracle.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { classify } from "./classify.ts";
import { isDeclined } from "./declined.ts";
import { explained } from "./explain.ts";
import { OracleCheckpointSaver, OracleStore, oracleCheckpointer } from "./index.ts";

const PATIENCE = { timeout: 60_000 };
const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));
const isAppend = ({ sql = "" }: MessageSeen): boolean => /:b_appended/.test(sql);

/** Fails the first message that matches, and no other. */
function once(kind: "before" | "after" | "silence" | number, fits: (seen: MessageSeen) => boolean): void {
  let isDone = false;
  setFaults((seen) => {
    if (isDone || !fits(seen)) return undefined;
    isDone = true;
    return kind;
  });
}

describe("errors are classified by the number of the server or of the client", () => {
  test.each([
    ["ORA-00001", "CONFLICT"],
    ["ORA-00054", "TIMEOUT"],
    ["ORA-00060", "UNAVAILABLE"],
    ["ORA-08177", "UNAVAILABLE"],
    ["ORA-01461", "TOO_LARGE"],
    ["ORA-12899", "TOO_LARGE"],
    ["ORA-01017", "PERMISSION_DENIED"],
    ["ORA-28000", "PERMISSION_DENIED"],
    ["ORA-12514", "UNAVAILABLE"],
    ["ORA-12541", "UNAVAILABLE"],
    ["ORA-12545", "UNAVAILABLE"],
    ["ORA-03113", "UNAVAILABLE"],
    ["ORA-03135", "UNAVAILABLE"],
    ["ORA-01653", "STORAGE_FULL"],
    ["ORA-01578", "CORRUPT"],
    ["NJS-500", "UNAVAILABLE"],
    ["NJS-503", "UNAVAILABLE"],
    ["NJS-040", "TIMEOUT"],
    ["NJS-123", "TIMEOUT"],
    ["NJS-076", "RATE_LIMITED"],
    ["NJS-097", "INVALID_ARGUMENT"],
    ["ECONNRESET", "UNAVAILABLE"],
  ])("%s is %s", (code, expected) => {
    expect(classify(Object.assign(new Error(`${code}: …`), { code }))).toBe(expected);
  });

  test("the error inside a wrapper counts, and a refused connection is classified by its cause", () => {
    const wrapped = new Error("ORA-06550: line 1, column 7:\nPLS-00201: …\nORA-00942: table or view does not exist");
    expect(classify(Object.assign(wrapped, { code: "ORA-06550" }))).toBe("PERMISSION_DENIED");
    const refused = new Error("NJS-511: connection to listener was refused. Cause: ORA-12516");
    expect(classify(Object.assign(refused, { code: "NJS-511" }))).toBe("RATE_LIMITED");
    expect(classify(new Error("something else"))).toBeUndefined();
  });

  test("a server error proves that nothing was written; a lost connection proves nothing", () => {
    expect(isDeclined(Object.assign(new Error("x"), { code: "ORA-00060" }))).toBe(true);
    expect(isDeclined(Object.assign(new Error("x"), { code: "NJS-500" }))).toBe(false);
    expect(isDeclined(Object.assign(new Error("x"), { code: "NJS-123" }))).toBe(false);
  });

  test("messages of the client that repeat a connect string are not shown", () => {
    const error = Object.assign(new Error('NJS-515: error in Easy Connect string: "scott/tiger@db"'), {
      code: "NJS-515",
    });
    const shown = explained(error) as Error;
    expect(`${shown.message} ${String(shown.cause)}`).not.toContain("tiger");
  });
});

await describeWithStandIn((place, url) => {
  const { dsn, user, password, sql } = place;
  afterEach(() => setFaults(undefined));

  test.each(["before", "after"] as const)(
    "a line that is cut %s a save was carried out costs no save and makes none twice",
    async (kind) => {
      await using checkpointer = oracleCheckpointer({ dsn, user, password, tableName: place.tableName() });
      let state = said("one");
      await checkpointer.save(state, "t");
      once(kind, isAppend);
      state = state.withMessage(userMessage("two"));
      await checkpointer.save(state, "t");
      expect((await checkpointer.load("t"))?.messages).toHaveLength(2);
      expect(await checkpointer.listCheckpoints("t")).toHaveLength(2);
    },
  );

  test.each(["before", "after"] as const)(
    "a saver's put and a store's write whose line is cut %s they were made are made once",
    async (kind) => {
      const where = { dsn, user, password };
      const saver = new OracleCheckpointSaver({ ...where, tableName: place.tableName() });
      const store = new OracleStore({ ...where, tableName: place.tableName() });
      await saver.put({ threadId: "t", checkpointId: "1", checkpointData: {} });
      await store.put(["n"], "count", 1);
      once(kind, isAppend);
      await saver.putWrites({ threadId: "t", checkpointId: "1", taskId: "a", writes: [["c", 1]] });
      once(kind, ({ sql = "" }) => /:b_refused/.test(sql));
      await store.update<number>(["n"], "count", (count = 0) => count + 1);
      expect((await saver.get({ threadId: "t" }))?.pendingWrites).toHaveLength(1);
      expect(await store.getItem(["n"], "count")).toMatchObject({ value: 2 });
      await Promise.all([saver.close(), store.close()]);
    },
  );

  test.each([60, 8177, 54, 4068, 12838])("ORA-%i, where nothing was written, is retried", async (number) => {
    await using checkpointer = oracleCheckpointer({ dsn, user, password, tableName: place.tableName() });
    await checkpointer.connect();
    once(number, isAppend);
    await checkpointer.save(said("one"), "t");
    expect(await checkpointer.listCheckpoints("t")).toHaveLength(1);
  });

  test.each([
    [1653, "STORAGE_FULL"],
    [1536, "STORAGE_FULL"],
    [1031, "PERMISSION_DENIED"],
    [1578, "CORRUPT"],
  ])("ORA-%i is %s, and the error says that nothing was written", async (number, code) => {
    await using checkpointer = oracleCheckpointer({ dsn, user, password, tableName: place.tableName() });
    await checkpointer.connect();
    once(number, isAppend);
    const failure = await failureOf(() => checkpointer.save(said("one"), "t"));
    expect(failure).toMatchObject({ code, context: { written: "no" } });
    expect(await checkpointer.exists("t")).toBe(false);
  });

  test("drained sessions are replaced by the pool, and no call fails", async () => {
    await using checkpointer = oracleCheckpointer({
      dsn,
      user,
      password,
      tableName: place.tableName(),
      retry: { attempts: 1 },
    });
    await checkpointer.save(said("one"), "t");
    drainSessions();
    expect((await checkpointer.load("t"))?.messages).toHaveLength(1);
  });

  test("a connection that is cut during any message of a large save leaves all of it or nothing", async () => {
    const tableName = place.tableName();
    for (let at = 0; at < 5; at++) {
      await using checkpointer = oracleCheckpointer({ dsn, user, password, tableName, retry: { attempts: 1 } });
      await checkpointer.connect();
      let seen = 0;
      setFaults(() => (seen++ === at ? "after" : undefined));
      await checkpointer.save(said("x".repeat(100_000)), `t${at}`).catch(() => undefined);
      setFaults(undefined);
      const state = await checkpointer.load(`t${at}`);
      expect(state?.messages.length ?? 1).toBe(1);
    }
  });

  test("a row that stays locked is TIMEOUT, nothing is written, and the next save works", async () => {
    const tableName = place.tableName();
    const options = { dsn, user, password, tableName, statementTimeoutMs: 300, retry: { attempts: 1 } };
    await using checkpointer = oracleCheckpointer(options);
    let state = said("one");
    await vi.waitFor(() => checkpointer.save(state, "t"), PATIENCE);
    const other = new Client(url);
    await other.connect();
    await other.query(`BEGIN; SELECT 1 FROM ${user}.${tableName} FOR UPDATE`);
    state = state.withMessage(userMessage("two"));
    expect(await failureOf(() => checkpointer.save(state, "t"))).toMatchObject({ code: "TIMEOUT" });
    await other.query("ROLLBACK");
    await other.end();
    await vi.waitFor(() => checkpointer.save(state, "t"), PATIENCE);
    expect(await vi.waitFor(() => checkpointer.listCheckpoints("t"), PATIENCE)).toHaveLength(2);
  });

  test("a connection that falls silent is abandoned with its pool: the next call uses a new one", async () => {
    const options = { dsn, user, password, tableName: place.tableName(), statementTimeoutMs: 200, maxConnections: 1 };
    await using checkpointer = oracleCheckpointer({ ...options, retry: { attempts: 1 } });
    const state = said("one");
    await vi.waitFor(() => checkpointer.save(state, "t"), PATIENCE);
    once("silence", () => true);
    expect(await failureOf(() => checkpointer.load("t"))).toMatchObject({ code: "TIMEOUT" });
    expect((await vi.waitFor(() => checkpointer.load("t"), PATIENCE))?.messages).toHaveLength(1);
  });

  test("one thread whose metadata or names were damaged ends no list and no query", async () => {
    const tableName = place.tableName();
    await using checkpointer = oracleCheckpointer({ dsn, user, password, tableName });
    for (const threadId of ["a", "b", "c"]) await checkpointer.save(said("one"), threadId, { metadata: { tag: "x" } });
    for (const column of ["metadata", "names"]) {
      await sql(`UPDATE ${user}.${tableName}_records SET ${column} = '{' WHERE thread_id = 'b'`);
      const found = await checkpointer.queryByMetadata("tag", "x");
      expect(found.map(({ threadId }) => threadId)).toEqual(["a", "c"]);
      expect(found.warnings).toMatchObject([{ threadId: "b", code: "CORRUPT" }]);
      const listed = await checkpointer.listWithMetadata();
      expect(listed.map(({ threadId }) => threadId).sort()).toEqual(["a", "b", "c"]);
      expect(listed.warnings).toMatchObject([{ threadId: "b", code: "CORRUPT" }]);
    }
  });

  test("a session that ended in the pool is noticed and replaced", async () => {
    await using checkpointer = oracleCheckpointer({ dsn, user, password, tableName: place.tableName() });
    await checkpointer.save(said("one"), "t");
    await sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", [user]);
    expect((await checkpointer.load("t"))?.messages).toHaveLength(1);
  });

  test("a state of ten megabytes comes back unchanged, and so do ids of four-byte characters", async () => {
    await using checkpointer = oracleCheckpointer({ dsn, user, password, tableName: place.tableName() });
    const text = "ä😀x".repeat(1_500_000);
    const id = "😀".repeat(256);
    await checkpointer.save(said(text), id, { checkpointId: "🦊".repeat(256), metadata: { long: "ö".repeat(40_000) } });
    const [message] = (await checkpointer.load(id))?.messages ?? [];
    expect(JSON.stringify(message)).toContain(text);
    expect(await checkpointer.listThreads()).toEqual([id]);
    expect(await checkpointer.queryByMetadata("long", "ö".repeat(40_000))).toHaveLength(1);
  });
});
