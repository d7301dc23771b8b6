import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { Client, Pool } from "pg";
import { afterAll, expect, test, vi } from "vitest";
import { HeldTimers } from "../../../test/held-timers.ts";
import { startCuttingProxy } from "../../../test/network/cutting-proxy.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));
const LIMITS = { statementTimeoutMs: 400, retry: { attempts: 1 } };
/** By how much longer a client waits than the server works: its GRACE_MS. */
const GRACE_MS = 500;
const PATIENCE = { timeout: 60_000, interval: 50 };

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  const named = (name: string, address: string = url): string => {
    const own = new URL(address);
    own.searchParams.set("application_name", name);
    return own.href;
  };
  /** Statements of that name that the server is running. */
  const busy = async (name: string): Promise<number> =>
    (await sql("SELECT FROM pg_stat_activity WHERE application_name = $1 AND state = 'active'", [name])).length;

  /** Runs `work` while another connection locks the row of every thread. */
  async function whileLocked(tablePrefix: string, work: () => Promise<void>): Promise<void> {
    const holder = new Client({ connectionString: url });
    await holder.connect();
    await holder.query("BEGIN");
    await holder.query(`SELECT FROM ${schema}.${tablePrefix}threads FOR UPDATE`);
    try {
      await work();
    } finally {
      await holder.query("COMMIT");
      await holder.end();
    }
  }

  async function filled(): Promise<string> {
    const tablePrefix = place.prefix();
    const owner = place.open({ dsn: url, tablePrefix });
    for (let thread = 0; thread < 8; thread++) await owner.save(said("hello"), `t${thread}`);
    return tablePrefix;
  }

  /** Seven saves and a deletion that wait for locks: all end meanwhile, here and on the server, and nothing is written later. */
  async function nothingStays(checkpointer: Checkpointer, tablePrefix: string, name: string): Promise<void> {
    // The server has the last word, which is that nothing was written, however long the machine keeps it from saying so.
    HeldTimers.forThisTest(LIMITS.statementTimeoutMs + GRACE_MS);
    const patient = place.open({ dsn: url, tablePrefix });
    const states = await Promise.all(Array.from({ length: 7 }, (_, thread) => patient.load(`t${thread}`)));
    await vi.waitFor(() => checkpointer.connect(), PATIENCE);
    await whileLocked(tablePrefix, async () => {
      const saves = states.map((state, thread) =>
        checkpointer.save(state!.withMessage(userMessage("late")), `t${thread}`),
      );
      const outcomes = await Promise.allSettled([...saves, checkpointer.delete("t7")]);
      for (const outcome of outcomes) {
        expect(outcome).toMatchObject({
          reason: {
            code: "TIMEOUT",
            context: { written: "no" },
            message: expect.stringContaining("Nothing was written"),
          },
        });
      }
      // The rows stay locked until then: a statement that was not given up would wait with them.
      await vi.waitUntil(async () => (await busy(name)) === 0, PATIENCE);
    });
    await sleep(200);
    for (let thread = 0; thread < 8; thread++) {
      expect((await patient.load(`t${thread}`))?.messages, `t${thread}`).toHaveLength(1);
    }
  }

  test("statements that timed out leave nothing on the server, and none of them is carried out later", async () => {
    const tablePrefix = await filled();
    const checkpointer = place.open({ dsn: named("ours gives up"), tablePrefix, ...LIMITS });
    await nothingStays(checkpointer, tablePrefix, "ours gives up");
  });

  test("nor on a pool that was handed in without any limit of its own", async () => {
    const tablePrefix = await filled();
    const pool = new Pool({ connectionString: named("theirs gives up"), max: 10 });
    await nothingStays(place.open({ pool, tablePrefix, ...LIMITS }), tablePrefix, "theirs gives up");
    expect((await pool.query("SHOW statement_timeout")).rows).toEqual([{ statement_timeout: "0" }]);
    await pool.end();
  });

  test("a smaller limit of the role is left as it is", async () => {
    const tablePrefix = await filled();
    const role = await place.role("SET statement_timeout = '150ms'");
    await sql(`GRANT USAGE ON SCHEMA ${schema} TO ${role.name}`);
    await sql(`GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${role.name}`);
    const checkpointer = place.open({ dsn: role.url, tablePrefix, statementTimeoutMs: 20_000, retry: { attempts: 1 } });
    await vi.waitFor(() => checkpointer.connect(), PATIENCE);
    await whileLocked(tablePrefix, async () => {
      await expect(checkpointer.delete("t1")).rejects.toMatchObject({ code: "TIMEOUT" });
    });
  });

  test("where the answer never came, TIMEOUT says that it may have been written, and the server is done with it", async () => {
    const tablePrefix = await filled();
    const { port, hostname } = new URL(url);
    const proxy = await startCuttingProxy({ targetPort: Number(port), targetHost: hostname });
    const through = new URL(url);
    through.port = String(proxy.port);
    const statementTimeoutMs = 240_000;
    const limits = HeldTimers.forThisTest(statementTimeoutMs + GRACE_MS);
    const other = place.open({ dsn: url, tablePrefix });
    const slow = { statementTimeoutMs, retry: { attempts: 1 } };
    const checkpointer = place.open({ dsn: named("unheard", through.href), tablePrefix, ...slow });
    const loaded = await vi.waitUntil(() => checkpointer.load("t1").catch(() => undefined), PATIENCE);
    const state = loaded.withMessage(userMessage("written"));
    proxy.swallow("to client");
    const saving = expect(checkpointer.save(state, "t1")).rejects.toMatchObject({
      code: "TIMEOUT",
      context: { written: "unknown" },
      message: expect.stringContaining("It may have been written"),
    });
    await vi.waitUntil(async () => (await other.load("t1"))?.messages.length === 2, PATIENCE);
    limits.expire();
    await saving;
    proxy.restore();
    // So that a connection to send it on exists.
    await vi.waitFor(() => checkpointer.load("t2"), PATIENCE);
    const heard = proxy.forwarded["to client"];
    const deleting = expect(checkpointer.delete("t2")).rejects.toMatchObject({
      code: "TIMEOUT",
      message: expect.stringContaining("It may have been carried out; deleting again is safe"),
    });
    // The first answer says that there are no legal holds. The one after it is that of the deletion.
    while (proxy.forwarded["to client"] === heard) await nextTurn();
    proxy.swallow("to client");
    await vi.waitUntil(async () => !(await other.exists("t2")), PATIENCE);
    limits.expire();
    await deleting;
    await vi.waitUntil(async () => (await busy("unheard")) === 0, PATIENCE);
    expect((await other.load("t1"))?.messages).toHaveLength(2);
    expect(await other.exists("t2")).toBe(false);
    await proxy.close();
  });

  test("a statement that runs on is cancelled when its caller no longer waits for it", async () => {
    const { ask } = await import("./ask.ts");
    const pool = new Pool({ connectionString: named("cancelled") });
    const impatience = new AbortController();
    const bounds = { connectTimeoutMs: 60_000, statementTimeoutMs: 240_000 };
    const asked = ask(pool, bounds, "SELECT pg_sleep(200)", [], { signal: impatience.signal }).catch(
      (error: unknown) => error,
    );
    await vi.waitUntil(async () => (await busy("cancelled")) === 1, PATIENCE);
    impatience.abort(new Error("enough"));
    expect(await asked).toMatchObject({ message: "enough" });
    await vi.waitUntil(async () => (await busy("cancelled")) === 0, PATIENCE);
    await pool.end();
  });
});
