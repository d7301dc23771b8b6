import { afterAll, expect, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { postgresqlDdl } from "./index.ts";

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
});
