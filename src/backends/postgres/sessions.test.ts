import { Pool } from "pg";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { HeldTimers } from "../../../test/held-timers.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { type Asking, ask } from "./ask.ts";

const PATIENCE = { timeout: 60_000, interval: 50 };

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

  test("the server keeps the few statements that are sent again and again, and no others", async () => {
    const { pool, checkpointer } = withOneConnection();
    await saves(checkpointer, AgentState.create(), 5);
    for (let load = 0; load < 5; load++) await checkpointer.load("t");
    await checkpointer.listCheckpoints("t");
    const kept = await keptOn(pool);
    expect(kept.filter((text) => text.includes("append")).length).toBe(1);
    expect(kept.filter((text) => text.includes("statement_timeout")).length).toBe(1);
    expect(kept).toHaveLength(2);
  });

  test("a session that another client has cleared is noticed, and the save is made once", async () => {
    const { pool, checkpointer } = withOneConnection();
    let state = await saves(checkpointer, AgentState.create(), 3);
    await pool.query("DISCARD ALL");
    state = await saves(checkpointer, state, 3);
    expect(await checkpointer.load("t")).toEqual(state);
    expect(await checkpointer.listCheckpoints("t")).toHaveLength(6);
    // A session that was cleared once will be cleared again: from now on nothing is kept there.
    expect(await keptOn(pool)).toEqual([]);
  });

  test("a name that is taken on the connection is left alone", async () => {
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

  /** One connection of a pool with a limit of 20 s for each statement. */
  function limited(given: { isOurs: boolean; options?: string; statementTimeoutMs?: number }): {
    pool: Pool;
    /** Asks for the limit that it is under itself. */
    limit: (asking?: Asking) => Promise<unknown>;
    sleep: (seconds: number, asking?: Asking) => Promise<unknown>;
    ofSession: () => Promise<unknown>;
  } {
    const { isOurs, options, statementTimeoutMs = 20_000 } = given;
    const pool = new Pool({ connectionString: url, max: 1, ...(options !== undefined && { options }) });
    pool.on("error", () => undefined);
    onTestFinished(() => pool.end());
    const bounds = { connectTimeoutMs: 60_000, statementTimeoutMs, isOurs };
    const one = async (text: string, values: unknown[], asking?: Asking): Promise<unknown> =>
      (await ask(pool, bounds, text, values, asking))[0]?.["found"];
    return {
      pool,
      limit: (asking) => one("SELECT current_setting('statement_timeout') AS found", [], asking),
      sleep: (seconds, asking) => one("SELECT pg_sleep($1) AS found", [seconds], asking),
      ofSession: async () => (await pool.query<{ found: string }>("SHOW statement_timeout")).rows[0],
    };
  }

  const KEPT: Asking = { isKept: true, columns: ["found"] };
  const none = { statement_timeout: "0" };

  test("a connection of ours gets its limit once, for the whole session, and a new one gets it again", async () => {
    const { pool, limit, ofSession } = limited({ isOurs: true });
    for (let session = 0; session < 2; session++) {
      expect(await limit()).toBe("20s");
      // Until something is kept there, it is not known whose session it is.
      expect(await ofSession()).toEqual(none);
      for (let time = 0; time < 3; time++) expect(await limit(KEPT)).toBe("20s");
      expect(await ofSession()).toEqual({ statement_timeout: "20s" });
      expect((await keptOn(pool)).filter((text) => text.includes("set_config"))).toEqual([]);
      await pool.query("SELECT pg_terminate_backend(pg_backend_pid())").catch(() => undefined);
    }
  });

  test("a connection of another owner never keeps a limit, and every statement has one", async () => {
    const { limit, ofSession } = limited({ isOurs: false });
    for (const asking of [{}, KEPT, KEPT, {}, KEPT]) {
      expect(await limit(asking)).toBe("20s");
      expect(await ofSession()).toEqual(none);
    }
  });

  test("a smaller limit stays, and a larger one does not", async () => {
    const smaller = limited({ isOurs: true, options: "-c statement_timeout=15s" });
    const larger = limited({ isOurs: true, options: "-c statement_timeout=1h" });
    for (const asking of [{}, KEPT, KEPT, {}]) {
      expect(await smaller.limit(asking)).toBe("15s");
      expect(await larger.limit(asking)).toBe("20s");
    }
  });

  test("the server aborts what is kept after its time, the first time and later", async () => {
    const statementTimeoutMs = 300;
    // A client waits half a second longer than the server works. Here the server has the last word, however late it comes.
    HeldTimers.forThisTest(statementTimeoutMs + 500);
    const { sleep, limit } = limited({ isOurs: true, statementTimeoutMs });
    for (let session = 0; session < 2; session++) {
      // A machine that stalls may make what is short too late as well: the next session begins anew.
      await vi.waitFor(async () => {
        await limit();
        for (let time = 0; time < session; time++) await sleep(0, KEPT);
      }, PATIENCE);
      await expect(sleep(60, KEPT)).rejects.toMatchObject({ code: "57014" });
    }
  });

  test("a session of ours that another client has cleared is under a limit again, statement by statement", async () => {
    const { pool, limit, ofSession } = limited({ isOurs: true });
    for (let time = 0; time < 3; time++) await limit(KEPT);
    await pool.query("DISCARD ALL");
    for (let time = 0; time < 3; time++) expect(await limit(KEPT)).toBe("20s");
    expect(await ofSession()).toEqual(none);
  });

  test("what the columns of an answer are makes no difference when it is known", async () => {
    const { pool } = limited({ isOurs: true });
    const bounds = { connectTimeoutMs: 60_000, statementTimeoutMs: 20_000 };
    const text = "SELECT $1::text AS a, $2::int AS b, $3::float8 AS c, $4::bytea AS d, $5::text AS e";
    const bytes = new Uint8Array([9, 0, 255, 9]).subarray(1, 3);
    const values = ["ä\u{1F600}", -7, 1.5, bytes, null];
    const expected = [{ a: "ä\u{1F600}", b: "-7", c: "1.5", d: "\\x00ff", e: null }];
    for (const asking of [
      {},
      { isKept: true },
      ...Array(3).fill({ isKept: true, columns: ["a", "b", "c", "d", "e"] }),
    ]) {
      expect(await ask(pool, bounds, text, values, asking)).toEqual(expected);
    }
  });
});
