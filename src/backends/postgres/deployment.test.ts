import { Pool } from "pg";
import { afterAll, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { observedPool } from "../../../test/services/postgres-observed-pool.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { migrate, type Part } from "../../driver/migrations.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { postgresqlDdl, postgresqlStore } from "./index.ts";
import { tableNames } from "./layout.ts";
import { checkpoints } from "./parts.ts";
import { migratedStore } from "./prepare-tables.ts";

const BOUNDS = { connectTimeoutMs: 10_000, statementTimeoutMs: 30_000 };

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql, open, count } = place;
  afterAll(place.dispose);

  test("a role that may only read and write rows is enough for everything", async () => {
    const tablePrefix = place.prefix();
    const role = await place.role();
    for (const statement of postgresqlDdl({ schema, tablePrefix, role: role.name })) await sql(statement);
    const granted = await sql(
      "SELECT DISTINCT privilege_type AS may FROM information_schema.table_privileges WHERE grantee = $1 ORDER BY 1",
      [role.name],
    );
    expect(granted.map(({ may }) => may)).toEqual(["DELETE", "INSERT", "SELECT", "UPDATE"]);
    const checkpointer = open({ dsn: role.url, tablePrefix });
    const first = said("a canary in a coal mine");
    const checkpointId = await checkpointer.save(first, "t1", { metadata: { tenant: "acme" }, ttlSeconds: 60 });
    await checkpointer.save(first.withMessage(userMessage("and another")), "t1", { metadata: { tenant: "acme" } });
    expect((await checkpointer.load("t1"))?.messages).toHaveLength(2);
    expect(await checkpointer.search("canary")).toHaveLength(1);
    expect(await checkpointer.queryByMetadata("tenant", "acme")).toHaveLength(1);
    await checkpointer.fork("t1", "t2", { at: checkpointId });
    expect(await checkpointer.withLease("t2", async () => "held")).toBe("held");
    expect(await checkpointer.delete("t1", { checkpointId })).toBe(true);
    await checkpointer.vacuum({ keepLast: 1 });
    expect(await checkpointer.delete("t1")).toBe(true);
    expect(await checkpointer.listThreads()).toEqual(["t2"]);
    const store = postgresqlStore({ dsn: role.url, schema, tablePrefix });
    await store.putWithEmbedding(["a"], "k", { text: "a canary" }, { embedding: [1, 0], ttlSeconds: 60 });
    await store.put(["a"], "k", { text: "a canary" });
    expect(await store.search(["a"], "canary")).toHaveLength(1);
    expect(await store.searchByEmbedding(["a"], { query: [1, 0] })).toEqual([]);
    expect([await store.delete(["a"], "k"), await store.clearNamespace(["a"])]).toEqual([true, 0]);
    await store.close();
  });

  test("tables in parts by the hash of the thread id work as whole ones do", async () => {
    const tablePrefix = place.prefix();
    const role = await place.role();
    for (const statement of postgresqlDdl({ schema, tablePrefix, role: role.name, partitions: 4 }))
      await sql(statement);
    const checkpointer = open({ dsn: role.url, tablePrefix });
    for (let thread = 0; thread < 12; thread++) {
      const state = said(`needle ${thread}`);
      await checkpointer.save(state, `t${thread}`, { metadata: { tenant: thread % 2 } });
      await checkpointer.save(state.withMessage(userMessage("more")), `t${thread}`, {
        metadata: { tenant: thread % 2 },
      });
    }
    const parts = await Promise.all([0, 1, 2, 3].map((part) => count(`${tablePrefix}records_${part}`)));
    expect(Math.max(...parts)).toBeLessThan(24);
    expect(parts.reduce((sum, rows) => sum + rows)).toBe(24);
    expect(await checkpointer.search("needle", { limit: 100 })).toHaveLength(12);
    expect(await checkpointer.queryByMetadata("tenant", 1)).toHaveLength(6);
    await checkpointer.copyThread("t1", "copy");
    await expect(checkpointer.save(said("late"), "t1")).rejects.toMatchObject({ code: "CONFLICT" });
    await checkpointer.vacuum({ keepLast: 1 });
    for (let thread = 0; thread < 12; thread++) await checkpointer.delete(`t${thread}`);
    expect(await sql(`SELECT DISTINCT thread_id FROM ${schema}.${tablePrefix}records`)).toEqual([
      { thread_id: "copy" },
    ]);
    expect((await checkpointer.load("copy"))?.messages).toHaveLength(2);
  });

  test("a role that may not make the tables is told which statements to run", async () => {
    const role = await place.role();
    await sql(`GRANT USAGE ON SCHEMA ${schema} TO ${role.name}`);
    const checkpointer = open({ dsn: role.url, tablePrefix: place.prefix() });
    const failure = checkpointer.load("t1");
    await expect(failure).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    await expect(failure).rejects.toThrow(/the tables of "checkpoints" are not there.*postgresqlDdl\(\)/);
  });

  test("a role that may not create is not asked to: nothing but questions is sent", async () => {
    const role = await place.role();
    await sql(`GRANT USAGE ON SCHEMA ${schema} TO ${role.name}`);
    const pool = new Pool({ connectionString: role.url });
    const sent: string[] = [];
    const checkpointer = open({
      pool: observedPool(pool, ({ text }) => void sent.push(text)),
      tablePrefix: place.prefix(),
    });
    await expect(checkpointer.load("t1")).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    expect(sent.length).toBeGreaterThan(0);
    expect(sent.filter((text) => !text.startsWith("SELECT ") || text.includes("lock"))).toEqual([]);
    await checkpointer.close();
    await pool.end();
  });

  test("a role that may only read and write rows keeps working when another part was migrated", async () => {
    const tablePrefix = place.prefix();
    const role = await place.role();
    for (const statement of postgresqlDdl({ schema, tablePrefix, role: role.name })) await sql(statement);
    await sql(`UPDATE ${schema}.${tablePrefix}schema SET version = 99 WHERE part = 'store'`);
    const checkpointer = open({ dsn: role.url, tablePrefix });
    await checkpointer.save(said("hello"), "t1");
    expect(await checkpointer.listThreads()).toEqual(["t1"]);
  });

  test("a role that may create and does not own the older tables is told which statements upgrade them", async () => {
    const names = tableNames(schema, place.prefix());
    const table = `${schema}.${names.prefix}notes`;
    const part = (...migrations: string[][]): Part => ({ name: "notes", migrations });
    const created = [`CREATE TABLE ${table} (id integer)`];
    const owner = new Pool({ connectionString: url });
    await migrate(migratedStore(owner, names, BOUNDS), [checkpoints(names), part(created)]);
    const role = await place.role();
    await sql(`GRANT CREATE, USAGE ON SCHEMA ${schema} TO ${role.name}`);
    await sql(`GRANT SELECT ON ${names.version} TO ${role.name}`);
    const pool = new Pool({ connectionString: role.url });
    const newer = part(created, [`ALTER TABLE ${table} ADD COLUMN words integer`]);
    const failure = await failureOf(() => migrate(migratedStore(pool, names, BOUNDS), [newer]));
    expect(failure.code).toBe("PERMISSION_DENIED");
    expect(failure.message).toMatch(
      /^the tables of "notes" have version 1 and need 2, .*may not create or change them/,
    );
    expect(failure.message).toContain('postgresqlDdl({ from: {"checkpoints":1} })');
    await Promise.all([owner.end(), pool.end()]);
  });

  test("postgresqlDdl() is exactly what is executed, in order", async () => {
    const own = `${schema}_own`;
    const pool = new Pool({ connectionString: url });
    const sent: string[] = [];
    const checkpointer = open({ pool: observedPool(pool, ({ text }) => void sent.push(text)), schema: own });
    await checkpointer.connect();
    const executed = sent.slice(sent.indexOf("BEGIN") + 1, sent.indexOf("COMMIT"));
    const statements = postgresqlDdl({ schema: own, parts: ["checkpoints"] });
    expect(executed.filter((text) => !text.startsWith("SELECT "))).toEqual(statements);
    sent.length = 0;
    const store = postgresqlStore({ pool: observedPool(pool, ({ text }) => void sent.push(text)), schema: own });
    await store.connect();
    const added = sent.slice(sent.indexOf("BEGIN") + 1, sent.indexOf("COMMIT"));
    expect(added.filter((text) => !text.startsWith("SELECT "))).toEqual(
      postgresqlDdl({ schema: own, from: { checkpoints: 1 } }),
    );
    expect(postgresqlDdl({ schema: own, from: { checkpoints: 1, store: 1 } })).toEqual([]);
    await store.close();
    await checkpointer.close();
    await pool.end();
    await sql(`DROP SCHEMA ${own} CASCADE`);
  });
});

test("versions that no part had are refused", () => {
  expect(() => postgresqlDdl({ from: { checkpoint: 1 } })).toThrow(/no part "checkpoint"; known: checkpoints/);
  expect(() => postgresqlDdl({ from: { checkpoints: 9 } })).toThrow(/has the versions 0 to 1, not 9/);
  expect(() => postgresqlDdl({ parts: ["stores"] })).toThrow(/no part "stores"; known: checkpoints, store/);
});
