import { Pool } from "pg";
import { afterAll, expect, test, vi } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { HeldTimers } from "../../../test/held-timers.ts";
import { readingCalls } from "../../../test/read-access/every-method.ts";
import { fillStore } from "../../../test/read-access/fill-store.ts";
import { type ObservedStore, testReadAccess } from "../../../test/read-access/proof.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { AgentState } from "../../state/agent-state.ts";
import { conversation } from "../../testing/checkpointer-cases/conversations.ts";
import { openCheckpointer } from "../open.ts";
import { ask } from "./ask.ts";
import type { PostgresPool } from "./connect.ts";
import { postgresqlCheckpointer } from "./index.ts";

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  /**
   * Every row of every table with the transactions that wrote it, every object of
   * the schema, and the locks that clients hold on any of them. Autovacuum is not a
   * client: it comes when it likes.
   */
  async function contents(within: string): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    const tables = await sql(
      "SELECT c.oid::regclass::text AS name, c.relkind, c.xmin::text AS version FROM pg_class c WHERE c.relnamespace = to_regnamespace($1)::oid ORDER BY 1",
      [within],
    );
    for (const { name, relkind, version } of tables) {
      const rows =
        relkind === "r" ? await sql(`SELECT t.ctid, t.xmin, t.xmax, t::text AS row FROM ${name} t ORDER BY ctid`) : [];
      found[String(name)] = JSON.stringify([relkind, version, rows]);
    }
    const locks = await sql(
      `SELECT l.mode FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a ON a.pid = l.pid
       WHERE c.relnamespace = to_regnamespace($1)::oid AND a.backend_type = 'client backend'`,
      [within],
    );
    return { ...found, locks: JSON.stringify(locks) };
  }

  async function observed(): Promise<ObservedStore> {
    const tablePrefix = place.prefix();
    return {
      open: (options) => place.open({ ...options, dsn: url, tablePrefix }),
      contents: () => contents(schema),
    };
  }

  async function nothing(): Promise<ObservedStore> {
    const absent = `${schema}_absent`;
    return {
      open: (options) => postgresqlCheckpointer({ ...options, dsn: url, schema: absent }),
      contents: async () => ({
        ...(await contents(absent)),
        schemas: JSON.stringify(await sql("SELECT nspname FROM pg_namespace WHERE nspname = $1", [absent])),
      }),
    };
  }

  testReadAccess({ name: "PostgreSQL", create: observed, missing: nothing });

  test("a role that may SELECT and nothing else is enough for everything that reads", async () => {
    const tablePrefix = place.prefix();
    const filled = await fillStore(place.open({ dsn: url, tablePrefix }));
    const role = await place.role();
    await sql(`GRANT USAGE ON SCHEMA ${schema} TO ${role.name}`);
    await sql(`GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role.name}`);
    const reader = place.open({ dsn: role.url, tablePrefix, access: "read" });
    for (const call of Object.values(readingCalls(reader, filled))) await call();
    expect((await reader.load("long"))?.messages).toHaveLength(70);
    expect((await reader.search("zebra")).map(({ threadId }) => threadId)).toEqual(["behind the index"]);
    // The same role without the option is refused when it searches, which indexes.
    expect((await failureOf(() => place.open({ dsn: role.url, tablePrefix }).search("zebra"))).code).toBe(
      "PERMISSION_DENIED",
    );
  });

  test("the server itself refuses a write on a connection for reading, and no transaction gets a number", async () => {
    const tablePrefix = place.prefix();
    await fillStore(place.open({ dsn: url, tablePrefix }));
    const bounds = { connectTimeoutMs: 10_000, statementTimeoutMs: 30_000 };
    const pool = new Pool({ connectionString: url, max: 1 });
    for (const asked of [pool, otherClient(pool)]) {
      const writing = `DELETE FROM ${schema}.${tablePrefix}threads`;
      await expect(ask(asked, { ...bounds, access: "read" }, writing)).rejects.toMatchObject({
        message: expect.stringContaining("read-only transaction"),
      });
      const [number] = await ask(
        asked,
        { ...bounds, access: "read" },
        "SELECT pg_current_xact_id_if_assigned()::text AS number",
      );
      expect(number?.["number"]).toBeNull();
      // The setting ends with the transaction: the connection is unchanged.
      const [after] = await ask(
        asked,
        bounds,
        "SELECT current_setting('transaction_read_only') AS set, current_setting('statement_timeout') AS ms",
      );
      expect(after?.["set"]).toBe("off");
      const limited = await ask(
        asked,
        { ...bounds, access: "read" },
        "SELECT current_setting('transaction_read_only') AS set",
      );
      expect(limited).toEqual([{ set: "on" }]);
    }
    await pool.end();
  });

  test("with read access the limit of a statement still holds", async () => {
    const pool = new Pool({ connectionString: url, max: 1 });
    const bounds = { connectTimeoutMs: 60_000, statementTimeoutMs: 200, access: "read" } as const;
    // A client waits half a second longer than the server works. Here the server has the last word, however late it comes.
    HeldTimers.forThisTest(bounds.statementTimeoutMs + 500);
    await expect(ask(pool, bounds, "SELECT pg_sleep(200)")).rejects.toMatchObject({ code: "57014" });
    await pool.end();
  });

  test("older tables are told and not migrated, newer ones INCOMPATIBLE, and a URL takes the option", async () => {
    const tablePrefix = place.prefix();
    await place.open({ dsn: url, tablePrefix }).save(conversation(1), "t");
    const address = new URL(url);
    address.searchParams.set("schema", schema);
    address.searchParams.set("tablePrefix", tablePrefix);
    const reader = await openCheckpointer(address.href, { access: "read" });
    expect((await reader.load("t"))?.messages).toHaveLength(1);
    await reader.close();
    await sql(`UPDATE ${schema}.${tablePrefix}schema SET version = 99`);
    const before = await contents(schema);
    const newer = await failureOf(() => place.open({ dsn: url, tablePrefix, access: "read" }).connect());
    expect([newer.code, newer.message]).toEqual(["INCOMPATIBLE", expect.stringContaining("Upgrade holdfast")]);
    await sql(`DELETE FROM ${schema}.${tablePrefix}schema`);
    const absent = await failureOf(() => place.open({ dsn: url, tablePrefix, access: "read" }).connect());
    expect([absent.code, absent.message]).toEqual(["NOT_FOUND", expect.stringContaining(tablePrefix)]);
    expect(Object.keys(await contents(schema))).toEqual(Object.keys(before));
  });

  test("a long statement of a reader does not block a writer", async () => {
    const tablePrefix = place.prefix();
    const writer = place.open({ dsn: url, tablePrefix, retry: { attempts: 1 } });
    await writer.save(conversation(1), "t");
    const pool = new Pool({ connectionString: url, max: 1 });
    const bounds = { connectTimeoutMs: 60_000, statementTimeoutMs: 240_000, access: "read" } as const;
    const stop = new AbortController();
    const long = `SELECT pg_sleep(200), t.* FROM ${schema}.${tablePrefix}threads t`;
    const slow = ask(pool, bounds, long, [], { signal: stop.signal }).catch((error: unknown) => error);
    const underWay = "SELECT FROM pg_stat_activity WHERE query = $1 AND wait_event = 'PgSleep'";
    await vi.waitUntil(async () => (await sql(underWay, [long])).length === 1, { timeout: 60_000 });
    await writer.save(((await writer.load("t")) ?? AgentState.create()).withMessages(conversation(2).messages), "t");
    await writer.delete("t");
    expect(await sql(underWay, [long]), "it is still under way").toHaveLength(1);
    stop.abort(new Error("enough"));
    expect(await slow).toMatchObject({ message: "enough" });
    await pool.end();
  });
});

/** A client that is not `pg`'s own: nothing can be sent before its statements. */
const otherClient = (pool: Pool): PostgresPool => ({
  connect: async () => {
    const client = await pool.connect();
    return {
      query: (query) => client.query(query as never),
      on: (event, listener) => client.on(event, listener),
      removeListener: (event, listener) => client.removeListener(event, listener),
      release: (failure) => client.release(failure),
    };
  },
  on: (event, listener) => pool.on(event, listener),
  removeListener: (event, listener) => pool.removeListener(event, listener),
  end: () => pool.end(),
});
