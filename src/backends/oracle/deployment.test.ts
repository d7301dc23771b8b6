import { expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { describeWithStandIn } from "../../../test/oracle-stand-in/with-oracle.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { oracleCheckpointer, oracleConnection, oracleDdl } from "./index.ts";
import { tableNames } from "./layout.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

await describeWithStandIn((place) => {
  const { dsn, user: owner, password: ownersPassword, sql } = place;

  /** Runs statements as the owner of the tables, as in SQL*Plus or in a deployment. */
  async function runAsOwner(statements: readonly string[]): Promise<void> {
    const lease = oracleConnection({ dsn, user: owner, password: ownersPassword }).lease(async (handle) => handle);
    const handle = await lease.get();
    for (const statement of statements) await handle.ask(statement, {}, true);
    await lease.release();
  }

  const asOwner = (tableName: string): Checkpointer =>
    oracleCheckpointer({ dsn, user: owner, password: ownersPassword, tableName });

  test("a user with only SELECT, INSERT, UPDATE and DELETE on the owner's tables can do everything", async () => {
    const { user, password } = await place.addUser();
    const tableName = `${owner}.AGENTS`;
    await runAsOwner(oracleDdl({ tableName, role: user }));
    await using checkpointer = oracleCheckpointer({ dsn, user, password, tableName });
    let state = said("one");
    const first = await checkpointer.save(state, "t", { metadata: { a: 1 }, ttlSeconds: 60 });
    state = state.withMessage(userMessage("x".repeat(100_000)));
    await checkpointer.save(state, "t", { metadata: { a: 2 } });
    await checkpointer.withLease("t", (lease) =>
      checkpointer.save(state.withMessage(userMessage("three")), "t", { lease }),
    );
    await checkpointer.fork("t", "u", { at: first });
    await checkpointer.copyThread("t", "v");
    await checkpointer.delete("t", { checkpointId: first });
    expect((await checkpointer.load("t"))?.messages).toHaveLength(3);
    expect(await checkpointer.listThreads()).toEqual(["t", "u", "v"]);
    expect(await checkpointer.queryByMetadata("a", 1)).toMatchObject([{ threadId: "u" }]);
    await checkpointer.vacuum({ keepLast: 1 });
    await checkpointer.delete("t");
    expect(await checkpointer.exists("t")).toBe(false);
  });

  test("a user who may not create tables is told which statements their owner runs", async () => {
    const { user, password } = await place.addUser();
    const failure = await failureOf(() =>
      oracleCheckpointer({ dsn, user, password, tableName: `${owner}.NOT_THERE` }).load("t"),
    );
    expect(failure).toMatchObject({ code: "PERMISSION_DENIED", message: expect.stringContaining("oracleDdl(") });
  });

  test("another program's table of that name is recognised by its columns, refused, and not changed", async () => {
    await sql(`CREATE TABLE ${owner}.locus_checkpoints (thread_id text, data text)`);
    await sql(`ALTER TABLE ${owner}.locus_checkpoints OWNER TO ${owner}`);
    const failure = await failureOf(() => asOwner("locus_checkpoints").save(said("x"), "t"));
    expect(failure).toMatchObject({
      code: "INCOMPATIBLE",
      message: expect.stringMatching(/LOCUS_CHECKPOINTS .* DATA, THREAD_ID/),
    });
    const rows = await sql(`SELECT count(*) AS n FROM ${owner}.locus_checkpoints`);
    expect(Number(rows[0]?.["n"])).toBe(0);
    // The next attempt fails in the same way: no version was written.
    expect(await failureOf(() => asOwner("locus_checkpoints").load("t"))).toMatchObject({ code: "INCOMPATIBLE" });
  });

  test("many processes that create the tables at once all succeed", async () => {
    const tableName = place.tableName();
    const all = Array.from({ length: 6 }, () => asOwner(tableName));
    await Promise.all(all.map((checkpointer, index) => checkpointer.save(said("x"), `t${index}`)));
    expect(await all[0]?.listThreads()).toHaveLength(6);
    await Promise.all(all.map((checkpointer) => checkpointer.close()));
    const rows = await sql(`SELECT part, version::int AS version FROM ${owner}.${tableName}_SCHEMA`);
    expect(rows).toEqual([{ part: "checkpoints", version: 1 }]);
  });

  test("tables that a process left incomplete are completed by the next", async () => {
    const tableName = place.tableName();
    await runAsOwner(oracleDdl({ tableName }).slice(0, 4));
    await using checkpointer = asOwner(tableName);
    await checkpointer.save(said("x"), "t");
    expect(await checkpointer.listThreads()).toEqual(["t"]);
  });

  test("tables of a newer version are refused", async () => {
    const tableName = place.tableName();
    await asOwner(tableName).connect();
    await sql(`UPDATE ${owner}.${tableName}_SCHEMA SET version = 99`);
    expect(await failureOf(() => asOwner(tableName).load("t"))).toMatchObject({ code: "INCOMPATIBLE" });
  });

  test("the row of a thread shows the newest checkpoint and its metadata in SQL", async () => {
    const tableName = place.tableName();
    await using checkpointer = asOwner(tableName);
    const state = said("x");
    await checkpointer.save(state, "t", { metadata: { tenant: "acme" } });
    const second = await checkpointer.save(state.withMessage(userMessage("y")), "t", {
      metadata: { tenant: "acme", step: 2 },
    });
    const rows = await sql(`SELECT thread_id, checkpoint_id, metadata::json AS metadata, summary::json AS summary
      FROM ${owner}.${tableName}`);
    expect(rows).toMatchObject([
      { thread_id: "t", checkpoint_id: second, metadata: { tenant: "acme", step: 2 }, summary: { messages: 2 } },
    ]);
  });

  test("statements name the tables with their owner, and grant no more than is needed", () => {
    const { threads, records } = tableNames("app_owner.Agents");
    expect([threads, records]).toEqual(["APP_OWNER.AGENTS", "APP_OWNER.AGENTS_RECORDS"]);
    const grants = oracleDdl({ tableName: "A", role: "APP" }).filter((statement) => statement.startsWith("GRANT"));
    expect(grants).toEqual([
      "GRANT SELECT ON A_SCHEMA TO APP",
      "GRANT SELECT, INSERT, UPDATE, DELETE ON A TO APP",
      "GRANT SELECT, INSERT, UPDATE, DELETE ON A_RECORDS TO APP",
      "GRANT SELECT, INSERT, UPDATE, DELETE ON A_NAMES TO APP",
      "GRANT SELECT, INSERT, UPDATE, DELETE ON A_MEMBERS TO APP",
      "GRANT SELECT, INSERT, UPDATE, DELETE ON A_WORDS TO APP",
    ]);
    expect(() => oracleDdl({ role: "a; DROP TABLE B" })).toThrow(/role must be/);
  });
});
