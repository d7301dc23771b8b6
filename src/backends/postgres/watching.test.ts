import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "pg";
import { afterAll, expect, test, vi } from "vitest";
import { behindProxy } from "../../../test/network/outage-proxy.ts";
import { observedPool } from "../../../test/services/postgres-observed-pool.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { tableNames } from "./layout.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  test("a pending next() ends when the checkpointer closes, also while the server is away", async () => {
    const tablePrefix = place.prefix();
    for (const isAway of [false, true]) {
      const { url: dsn, outage, cleanup } = await behindProxy(url);
      const watcher = place.open({ dsn, tablePrefix, connectTimeoutMs: 120_000, statementTimeoutMs: 120_000 });
      await watcher.save(said("hello"), `t ${isAway}`);
      const next = watcher.watch(`t ${isAway}`)[Symbol.asyncIterator]().next();
      await sleep(300);
      if (isAway) await outage();
      const began = performance.now();
      await watcher.close();
      expect(await next).toEqual({ done: true, value: undefined });
      expect(performance.now() - began, "no limit of a connection had to pass").toBeLessThan(60_000);
      await cleanup();
    }
  });

  test("LISTEN is sent on a connection of its own, never on one of the pool's, and is gone with the watch", async () => {
    const tablePrefix = place.prefix();
    const { channel } = tableNames(schema, tablePrefix);
    const pool = new Pool({ connectionString: url });
    const sent: string[] = [];
    const watcher = place.open({
      pool: Object.assign(
        observedPool(pool, ({ text }) => void sent.push(text)),
        { options: { connectionString: url } },
      ),
      tablePrefix,
    });
    const next = watcher.watch("t1")[Symbol.asyncIterator]().next();
    const listeners = (): Promise<unknown[]> =>
      sql("SELECT FROM pg_stat_activity WHERE query = $1", [`LISTEN ${channel}`]);
    await vi.waitUntil(async () => (await listeners()).length === 1, { timeout: 60_000 });
    await watcher.close();
    await next;
    await vi.waitUntil(async () => (await listeners()).length === 0, { timeout: 60_000 });
    expect(sent.filter((text) => text.startsWith("LISTEN"))).toEqual([]);
    await pool.end();
  });

  test("once the server was reached, a failover of three seconds is ridden out; the first contact fails fast", async () => {
    const { url: dsn, outage, cleanup } = await behindProxy(url);
    const tablePrefix = place.prefix();
    // By default it would try for five seconds; a busy machine may need longer to come back.
    const checkpointer = place.open({ dsn, tablePrefix, retry: { forMs: 240_000 } });
    const first = said("before");
    await checkpointer.save(first, "t1");
    const restore = await outage();
    const saving = checkpointer.save(first.withMessage(userMessage("during")), "t1");
    const loading = checkpointer.load("t1");
    const stranger = place.open({ dsn, tablePrefix, retry: { forMs: 240_000 } });
    const began = performance.now();
    await expect(stranger.load("t1")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(performance.now() - began, "not as long as it would try later").toBeLessThan(60_000);
    await sleep(Math.max(0, 3_000 - (performance.now() - began)));
    await restore();
    await saving;
    expect((await loading)?.messages.length).toBeGreaterThan(0);
    expect(await checkpointer.listCheckpoints("t1")).toHaveLength(2);
    await cleanup();
  });

  test("a time to live counts by the server's clock, whatever the client's says", async () => {
    const tablePrefix = place.prefix();
    for (const skewMs of [-120_000, 120_000]) {
      const now = (): number => Date.now() + skewMs;
      vi.useFakeTimers({ now: now(), toFake: ["Date"] });
      try {
        const skewed = place.open({ dsn: url, tablePrefix, now });
        const [kept, brief] = [`kept ${skewMs}`, `brief ${skewMs}`];
        const state = said("hello");
        await skewed.save(state, kept, { ttlSeconds: 60 });
        await skewed.save(state.withMessage(userMessage("more")), kept, { ttlSeconds: 60 });
        await skewed.save(said("hello"), brief, { ttlSeconds: 0.2 });
        const upright = place.open({ dsn: url, tablePrefix });
        expect(await upright.exists(kept)).toBe(true);
        expect(await skewed.exists(kept)).toBe(true);
        await vi.waitUntil(async () => !(await upright.exists(brief)), { timeout: 60_000 });
        expect(await skewed.exists(brief)).toBe(false);
        await skewed.copyThread(kept, `copy ${skewMs}`);
        await skewed.save(said("new"), brief, { ttlSeconds: 60 });
        expect(await upright.exists(brief)).toBe(true);
      } finally {
        vi.useRealTimers();
      }
    }
    const left = await sql(
      `SELECT extract(epoch FROM expires_at - now()) AS seconds FROM ${schema}.${tablePrefix}threads`,
    );
    expect(left).toHaveLength(6);
    for (const { seconds } of left) expect(Number(seconds)).toBeGreaterThan(20);
    for (const { seconds } of left) expect(Number(seconds)).toBeLessThanOrEqual(60);
  });
});
