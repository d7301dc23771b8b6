import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { HeldTimers } from "../../../test/held-timers.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithPgbouncer } from "../../../test/services/with-pgbouncer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { tableNames } from "./layout.ts";
import { postgresqlStore } from "./store.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

/** A sample; `npm run test:chaos` runs both suites whole, in session and in transaction mode. */
await describeWithPgbouncer(["session", "transaction", "statement"], (pooledUrl, url, mode) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  /** Tables, created over a direct connection to the server: that takes a transaction, which statement mode forbids. */
  async function tables(): Promise<string> {
    const tablePrefix = place.prefix();
    await place.open({ dsn: mode === "statement" ? url : pooledUrl, tablePrefix }).connect();
    return tablePrefix;
  }

  test("every kind of call works", async () => {
    const checkpointer = place.open({ dsn: pooledUrl, tablePrefix: await tables() });
    let state = said("a needle");
    const first = await checkpointer.save(state, "t1", { metadata: { a: 1 }, ttlSeconds: 600 });
    state = state.withMessage(userMessage("and more"));
    await checkpointer.save(state, "t1");
    await checkpointer.withLease("t1", (lease) =>
      checkpointer.save(state.withMessage(userMessage("held")), "t1", { lease }),
    );
    await expect(checkpointer.save(said("late"), "t1")).rejects.toMatchObject({ code: "CONFLICT" });
    expect((await checkpointer.load("t1"))?.messages).toHaveLength(3);
    expect(await checkpointer.search("needle")).toHaveLength(1);
    await checkpointer.fork("t1", "t2", { at: first });
    await checkpointer.copyThread("t1", "t3");
    expect(await checkpointer.queryByMetadata("a", 1)).toHaveLength(1);
    await checkpointer.delete("t1", { checkpointId: first });
    await checkpointer.vacuum({ keepLast: 1 });
    await checkpointer.delete("t1");
    expect(await checkpointer.listThreads()).toEqual(["t2", "t3"]);
  });

  test("no statement is kept on a connection of the pooler's", async () => {
    const checkpointer = place.open({ dsn: pooledUrl, tablePrefix: await tables() });
    let state = AgentState.create();
    for (let number = 0; number < 10; number++) {
      state = state.withMessage(userMessage(`message ${number}`));
      await checkpointer.save(state, "t1");
    }
    const stranger = new Client({ connectionString: pooledUrl });
    await stranger.connect();
    const kept: unknown[] = [];
    for (let look = 0; look < 10; look++) {
      kept.push(...(await stranger.query("SELECT name FROM pg_prepared_statements WHERE name LIKE 'holdfast%'")).rows);
    }
    await stranger.end();
    expect(kept).toEqual([]);
  });

  test("every kind of call of a store works", async () => {
    const tablePrefix = place.prefix();
    const direct = postgresqlStore({ dsn: mode === "statement" ? url : pooledUrl, schema, tablePrefix });
    await direct.connect();
    await direct.close();
    const store = postgresqlStore({ dsn: pooledUrl, schema, tablePrefix });
    await store.putBatch(
      Array.from({ length: 20 }, (_, index) => ({
        namespace: ["n"],
        key: `${index}`,
        value: { text: `walrus ${index}`, index },
        embedding: [1, index],
      })),
    );
    expect(await store.list(["n"], { filter: { index: { $gte: 18 } } })).toHaveLength(2);
    expect(await store.search(["n"], "walrus")).toHaveLength(10);
    expect((await store.searchByEmbedding(["n"], { query: [1, 19], limit: 1 }))[0]?.key).toBe("19");
    await Promise.all(Array.from({ length: 5 }, () => store.update<number>(["c"], "n", (n = 0) => n + 1)));
    expect(await store.get(["c"], "n")).toBe(5);
    await expect(store.put(["c"], "n", 0, { expectedVersion: null })).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await store.clearNamespace(["n"])).toBe(20);
    await store.close();
  });

  test("a watch sees what another process saves, and LISTEN stays on no connection of the pooler's", async () => {
    const tablePrefix = await tables();
    const [watcher, writer] = [
      place.open({ dsn: pooledUrl, tablePrefix }),
      place.open({ dsn: pooledUrl, tablePrefix }),
    ];
    let state = said("one");
    await writer.save(state, "t1");
    let seen: unknown;
    const next = watcher
      .watch("t1")
      [Symbol.asyncIterator]()
      .next()
      .then(({ value }) => {
        seen = value;
      });
    // A watch shows what comes after it began. The test cannot see when that is, so saves go on until the watch shows one.
    while (seen === undefined) {
      state = state.withMessage(userMessage("more"));
      await writer.save(state, "t1");
      await sleep(100);
    }
    await next;
    expect(seen).toMatchObject({ messageCount: expect.any(Number) });
    await watcher.close();
    const channel = `LISTEN ${tableNames(schema, tablePrefix).channel}`;
    const listening = "SELECT FROM pg_stat_activity WHERE query = $1";
    await vi.waitUntil(async () => (await sql(listening, [channel])).length === 0, { timeout: 60_000 });
    const heard: unknown[] = [];
    const stranger = new Client({ connectionString: pooledUrl });
    await stranger.connect();
    for (let look = 0; look < 10; look++) heard.push(...(await stranger.query("SELECT pg_listening_channels()")).rows);
    await stranger.end();
    expect(heard).toEqual([]);
  });

  test("what timed out is given up by the server, and no limit stays on a connection of the pooler's", async () => {
    const tablePrefix = await tables();
    const owner = place.open({ dsn: url, tablePrefix });
    await owner.save(said("hello"), "t1");
    const statementTimeoutMs = 400;
    // A client waits half a second longer than the server works. Here the server has the last word, however late it comes.
    HeldTimers.forThisTest(statementTimeoutMs + 500);
    const hasty = place.open({ dsn: pooledUrl, tablePrefix, statementTimeoutMs, retry: { attempts: 1 } });
    const state = (await owner.load("t1"))!.withMessage(userMessage("late"));
    await vi.waitFor(() => hasty.connect(), { timeout: 60_000 });
    const holder = new Client({ connectionString: url });
    onTestFinished(() => holder.end());
    await holder.connect();
    await holder.query(`BEGIN; SELECT FROM ${schema}.${tablePrefix}threads FOR UPDATE`);
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${schema}%${tablePrefix}%'`;
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 7 }, () => hasty.save(state, "t1")),
      hasty.delete("t1"),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ reason: { code: "TIMEOUT", context: { written: "no" } } });
    }
    await vi.waitUntil(async () => (await sql(waiting)).length === 0, { timeout: 60_000 });
    await holder.end();
    await sleep(200);
    expect((await owner.load("t1"))?.messages).toHaveLength(1);
    const stranger = new Client({ connectionString: pooledUrl });
    await stranger.connect();
    for (let look = 0; look < 10; look++) {
      expect((await stranger.query("SHOW statement_timeout")).rows).toEqual([{ statement_timeout: "0" }]);
    }
    await stranger.end();
  });

  test("a parameter that the pooler does not take is INVALID_ARGUMENT and says what to do", async () => {
    const dsn = `${pooledUrl}?options=${encodeURIComponent("-c work_mem=8MB")}`;
    await expect(place.open({ dsn, tablePrefix: place.prefix() }).connect()).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("ignore_startup_parameters"),
    });
  });
});
