import { Pool } from "pg";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  afterAll(place.dispose);

  /** A checkpointer with one connection, which the test can use too. */
  function withOneConnection(tablePrefix = place.prefix()): { pool: Pool; checkpointer: Checkpointer } {
    const pool = new Pool({ connectionString: url, max: 1 });
    onTestFinished(() => pool.end());
    return { pool, checkpointer: place.open({ pool, tablePrefix }) };
  }

  const keptOn = async (pool: Pool): Promise<readonly string[]> =>
    (await pool.query<{ statement: string }>("SELECT statement FROM pg_prepared_statements")).rows.map(
      ({ statement }) => statement,
    );

  async function saves(checkpointer: Checkpointer, state: AgentState, count: number): Promise<AgentState> {
    let saved = state;
    for (let number = 0; number < count; number++) {
      saved = saved.withMessage(userMessage(`message ${number}`));
      await checkpointer.save(saved, "t");
    }
    return saved;
  }

  test("20.1: the server keeps the few statements that are sent again and again, and no others", async () => {
    const { pool, checkpointer } = withOneConnection();
    await saves(checkpointer, AgentState.create(), 5);
    for (let load = 0; load < 5; load++) await checkpointer.load("t");
    await checkpointer.listCheckpoints("t");
    const kept = await keptOn(pool);
    expect(kept.filter((text) => text.includes("append")).length).toBe(1);
    expect(kept.filter((text) => text.includes("statement_timeout")).length).toBe(1);
    expect(kept).toHaveLength(2);
  });

  test("20.1: a session that somebody has cleared is found out, and the save is made once", async () => {
    const { pool, checkpointer } = withOneConnection();
    let state = await saves(checkpointer, AgentState.create(), 3);
    await pool.query("DISCARD ALL");
    state = await saves(checkpointer, state, 3);
    expect(await checkpointer.load("t")).toEqual(state);
    expect(await checkpointer.listCheckpoints("t")).toHaveLength(6);
    // Whoever clears it once does so again: from now on nothing is kept there.
    expect(await keptOn(pool)).toEqual([]);
  });

  test("20.1: a name that is taken on the connection is left alone", async () => {
    const tablePrefix = place.prefix();
    const { pool, checkpointer } = withOneConnection(tablePrefix);
    const state = await saves(checkpointer, AgentState.create(), 3);
    const { rows } = await pool.query<{ name: string }>(
      "SELECT name FROM pg_prepared_statements WHERE statement LIKE '%append%'",
    );
    const name = rows[0]?.name ?? "";
    const other = withOneConnection(tablePrefix);
    await other.pool.query(`PREPARE "${name}" AS SELECT 1`);
    await saves(other.checkpointer, (await other.checkpointer.load("t")) ?? state, 3);
    expect((await checkpointer.load("t"))?.messages).toHaveLength(6);
    expect(await keptOn(other.pool)).toContain(`PREPARE "${name}" AS SELECT 1`);
  });
});
