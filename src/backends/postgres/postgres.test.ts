import { Client, Pool } from "pg";
import { afterAll, expect, test, vi } from "vitest";
import { observedPool } from "../../../test/services/postgres-observed-pool.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { openCheckpointer } from "../open.ts";
import { durabilityOf } from "./durability.ts";
import { postgresqlCheckpointer } from "./index.ts";
import { tableNames } from "./layout.ts";

/** How long to wait for events that come at their own pace: a loaded machine is slow, and no test here is about speed. */
const PATIENCE = { timeout: 60_000 };

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql, open, count } = place;
  afterAll(place.dispose);

  test("a URL says the schema and the prefix of the tables, and hands the rest to the client", async () => {
    const tablePrefix = place.prefix();
    const address = `${url}?schema=${schema}&tablePrefix=${tablePrefix}&application_name=by-url`;
    await using checkpointer = await openCheckpointer(address);
    await checkpointer.save(said("hello"), "t1");
    expect(await count(`${tablePrefix}threads`)).toBe(1);
    expect(await sql("SELECT 1 FROM pg_stat_activity WHERE application_name = 'by-url'")).not.toEqual([]);
    await expect(openCheckpointer(`${url}?shema=a`)).rejects.toThrow(/unknown parameter "shema"; known: schema, /);
  });

  test("two table prefixes are two stores in one schema", async () => {
    const [a, b] = [open({ dsn: url, tablePrefix: "a_" }), open({ dsn: url, tablePrefix: "b_" })];
    await a.save(said("of a"), "t1");
    expect(await b.load("t1")).toBeUndefined();
  });

  test("tables of a newer version are refused and left alone", async () => {
    const tablePrefix = place.prefix();
    await open({ dsn: url, tablePrefix }).save(said("hello"), "t1");
    await sql(`UPDATE ${schema}.${tablePrefix}schema SET version = 99`);
    await expect(open({ dsn: url, tablePrefix }).load("t1")).rejects.toMatchObject({ code: "INCOMPATIBLE" });
    expect(await count(`${tablePrefix}records`)).toBe(1);
  });

  test("a pool that was handed in and has no connection to spare is TIMEOUT, after the time that was given", async () => {
    const pool = new Pool({ connectionString: url, max: 1 });
    const limits = { connectTimeoutMs: 50, statementTimeoutMs: 50, retry: { attempts: 1 } };
    const checkpointer = open({ pool, tablePrefix: place.prefix(), ...limits });
    const taken = await pool.connect();
    await expect(checkpointer.load("t1")).rejects.toMatchObject({ code: "TIMEOUT" });
    taken.release();
    await pool.end();
  });

  test("idle connections that the server ends do no harm, neither in our pool nor in one handed in", async () => {
    const tablePrefix = place.prefix();
    const named = new URL(url);
    named.searchParams.set("application_name", "to be ended");
    const pool = new Pool({ connectionString: named.href });
    const ours = open({ dsn: named.href, tablePrefix });
    const theirs = open({ pool, tablePrefix });
    await Promise.all([ours.save(said("hello"), "t1"), theirs.save(said("hello"), "t2")]);
    const ended = await sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'to be ended'",
    );
    expect(ended.length).toBeGreaterThanOrEqual(2);
    await vi.waitUntil(() => pool.idleCount === 0, PATIENCE);
    expect((await ours.load("t1"))?.messages).toHaveLength(1);
    expect((await theirs.load("t2"))?.messages).toHaveLength(1);
    await theirs.close();
    expect((await pool.query("SELECT 1 AS still")).rows).toEqual([{ still: 1 }]);
    await pool.end();
  });

  test("a watcher is notified of another process's save by the server, and again after its connection was lost", async () => {
    const tablePrefix = place.prefix();
    const [writer, watcher] = [open({ dsn: url, tablePrefix }), open({ dsn: url, tablePrefix })];
    let state = said("one");
    await writer.save(state, "t1");
    const stop = new AbortController();
    const seen: number[] = [];
    const saveMore = async (): Promise<number> => {
      state = state.withMessage(userMessage("more"));
      await writer.save(state, "t1");
      return state.messages.length;
    };
    const watching = (async () => {
      for await (const { messageCount } of watcher.watch("t1", { signal: stop.signal })) seen.push(messageCount ?? 0);
    })();
    // Its own alone: other suites listen on this server at the same time.
    const { channel } = tableNames(schema, tablePrefix);
    const listening = `SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN ${channel}' AND state = 'idle'`;
    const watchers = (): Promise<number> => count(`${tablePrefix}watchers`);
    await vi.waitUntil(async () => (await watchers()) === 1, PATIENCE);
    // A watch shows what comes after it began, which is some time after it registered: saves go on until it shows one.
    await vi.waitUntil(async () => {
      await saveMore();
      return seen.length > 0;
    }, PATIENCE);
    await sql(`SELECT pg_terminate_backend(pid) FROM (${listening}) l`);
    const last = await saveMore();
    await vi.waitUntil(() => seen.includes(last), PATIENCE);
    stop.abort();
    await watching;
    expect(seen).toEqual(Array.from({ length: seen.length }, (_, index) => last - seen.length + 1 + index));
    await vi.waitUntil(async () => (await watchers()) === 0, PATIENCE);
  });

  test("only a save of a watched thread notifies: notifications make commits wait for one another", async () => {
    const tablePrefix = place.prefix();
    const checkpointer = open({ dsn: url, tablePrefix });
    await checkpointer.connect();
    const client = new Client({ connectionString: url });
    await client.connect();
    const heard: (string | undefined)[] = [];
    client.on("notification", ({ payload }) => heard.push(payload));
    await client.query(`LISTEN ${tableNames(schema, tablePrefix).channel}`);
    await checkpointer.save(said("unwatched"), "t1");
    await sql(`INSERT INTO ${schema}.${tablePrefix}watchers VALUES ('t2', 'a test', now() + interval '1 minute')`);
    await checkpointer.save(said("watched"), "t2");
    await vi.waitUntil(() => heard.length > 0, PATIENCE);
    expect(heard).toEqual(["t2"]);
    await client.end();
  });

  test("deleting a thread leaves no row of it in any table", async () => {
    const tablePrefix = place.prefix();
    const checkpointer = open({ dsn: url, tablePrefix });
    await checkpointer.save(said("secret canary"), "t1", { metadata: { a: 1 } });
    await checkpointer.search("canary");
    expect(await count(`${tablePrefix}words`)).toBe(1);
    await checkpointer.delete("t1");
    for (const table of ["threads", "records", "words", "watchers"]) {
      expect(await count(tablePrefix + table), table).toBe(0);
    }
  });

  test("saves leave the index alone; a search catches up and indexes each message once", async () => {
    const tablePrefix = place.prefix();
    const checkpointer = open({ dsn: url, tablePrefix });
    let state = AgentState.create();
    for (let step = 0; step < 10; step++) {
      state = state.withMessage(userMessage(`word${step} everywhere`));
      await checkpointer.save(state, "t1");
    }
    expect(await count(`${tablePrefix}words`)).toBe(0);
    expect(await checkpointer.search("everywhere", { limit: 100 })).toHaveLength(10);
    expect(await checkpointer.search("word7")).toHaveLength(1);
    expect(await sql(`SELECT sum(length(words)) AS n FROM ${schema}.${tablePrefix}words`)).toEqual([{ n: "20" }]);
  });

  test("two processes that catch up at once index everything once", async () => {
    const tablePrefix = place.prefix();
    const [one, two] = [open({ dsn: url, tablePrefix }), open({ dsn: url, tablePrefix })];
    for (let thread = 0; thread < 30; thread++) await one.save(said(`needle ${thread}`), `t${thread}`);
    const found = await Promise.all([one, two].map((either) => either.search("needle", { limit: 100 })));
    expect(found.map(({ length }) => length)).toEqual([30, 30]);
    expect(await count(`${tablePrefix}words`)).toBe(30);
  });

  test("words of a checkpoint that is deleted while they are being indexed are not kept", async () => {
    const tablePrefix = place.prefix();
    const pool = new Pool({ connectionString: url });
    const writer = open({ dsn: url, tablePrefix });
    const first = said("a canary");
    const checkpointId = await writer.save(first, "t1");
    await writer.save(AgentState.create().withMessage(userMessage("rewritten")), "t1", { expectedHead: checkpointId });
    let interruptions = 0;
    const interrupted = observedPool(pool, async ({ text }) => {
      // The words have been found by now and are about to be stored.
      if (text.includes("index_words") && interruptions++ === 0) await writer.delete("t1", { checkpointId });
    });
    const searcher = open({ pool: interrupted, tablePrefix });
    expect(await searcher.search("canary")).toEqual([]);
    expect(await searcher.search("rewritten")).toHaveLength(1);
    expect(interruptions).toBeGreaterThan(1);
    const kept = await sql(`SELECT tsvector_to_array(words) AS words FROM ${schema}.${tablePrefix}words`);
    expect(kept).toEqual([{ words: ["rewritten"] }]);
    await pool.end();
  });

  test("an expired thread is invisible at once; later saves and one statement of SQL remove it", async () => {
    const tablePrefix = place.prefix();
    const checkpointer = open({ dsn: url, tablePrefix });
    await checkpointer.save(said("short-lived"), "t1", { ttlSeconds: 60 });
    await checkpointer.save(said("short-lived"), "t2", { ttlSeconds: 60 });
    expect(await checkpointer.exists("t2")).toBe(true);
    await sql(`UPDATE ${schema}.${tablePrefix}threads SET expires_at = now()`);
    expect(await checkpointer.listThreads()).toEqual([]);
    expect(await count(`${tablePrefix}records`)).toBe(2);
    const another = open({ dsn: url, tablePrefix });
    await another.save(said("new"), "t3", { ttlSeconds: 60 });
    await vi.waitUntil(async () => (await count(`${tablePrefix}records`)) === 1, PATIENCE);
    await sql(`UPDATE ${schema}.${tablePrefix}threads SET expires_at = now() - interval '1 day'`);
    await sql(`DELETE FROM ${schema}.${tablePrefix}threads WHERE expires_at < now()`);
    expect(await count(`${tablePrefix}records`)).toBe(0);
  });

  test("metadata is jsonb for SQL of your own, and exactly what was saved for the program", async () => {
    const tablePrefix = place.prefix();
    const checkpointer = open({ dsn: url, tablePrefix });
    const metadata = { z: 1, a: "nul \u0000 inside", tenant: "acme" };
    await checkpointer.save(said("hello"), "t1", { metadata });
    await checkpointer.save(said("hello"), "t2", { metadata: { tenant: "acme" } });
    const [listed] = await checkpointer.listCheckpoints("t1");
    expect(Object.entries(listed?.metadata ?? {})).toEqual(Object.entries(metadata));
    const own = `SELECT thread_id FROM ${schema}.${tablePrefix}threads WHERE metadata @> '{"tenant": "acme"}'`;
    expect(await sql(own)).toEqual([{ thread_id: "t2" }]);
    const found = await checkpointer.queryByMetadata("tenant", "acme");
    expect(found.map(({ threadId }) => threadId)).toEqual(["t1", "t2"]);
    expect(await checkpointer.queryByMetadata("a", "nul \u0000 inside")).toHaveLength(1);
  });

  test("a row that was changed or taken out behind our back is CORRUPT, and not an empty thread", async () => {
    const tablePrefix = place.prefix();
    const checkpointer = open({ dsn: url, tablePrefix, cacheBytes: 0 });
    for (const thread of ["t1", "t2", "t3"]) await checkpointer.save(said("what was said first"), thread);
    await sql(`UPDATE ${schema}.${tablePrefix}records SET body = set_byte(body, 20, 65) WHERE thread_id = 't1'`);
    await sql(`DELETE FROM ${schema}.${tablePrefix}records WHERE thread_id = 't2'`);
    await expect(checkpointer.load("t1")).rejects.toMatchObject({ code: "CORRUPT", context: { threadId: "t1" } });
    await expect(checkpointer.load("t2")).rejects.toMatchObject({ code: "CORRUPT", context: { threadId: "t2" } });
    expect((await checkpointer.load("t3"))?.messages).toHaveLength(1);
  });

  test("the program's own parsers for the client's types change nothing here", async () => {
    const { types } = await import("pg");
    const pool = new Pool({
      connectionString: url,
      types: { getTypeParser: () => () => "parsed" } as unknown as typeof types,
    });
    const checkpointer = open({ pool, tablePrefix: place.prefix() });
    await checkpointer.save(said("hello"), "t1");
    expect((await checkpointer.load("t1"))?.messages).toHaveLength(1);
    await pool.end();
  });

  test("durability is what the server's settings give", async () => {
    const role = await place.role("SET synchronous_commit = off");
    await sql(`GRANT CREATE, USAGE ON SCHEMA ${schema} TO ${role.name}`);
    expect((await open({ dsn: url }).connect()).durability).toBe("fsync");
    expect((await open({ dsn: role.url, tablePrefix: place.prefix() }).connect()).durability).toBe("os");
  });
});

test.each([
  ["off", "on", "", "os"],
  ["on", "off", "", "os"],
  ["on", "off", "standby", "os"],
  ["on", "local", "standby", "fsync"],
  ["on", "remote_write", "standby", "fsync"],
  ["on", "on", "", "fsync"],
  ["on", "on", "standby", "replicated"],
  ["on", "remote_apply", "ANY 1 (a, b)", "replicated"],
])(
  "fsync %s, synchronous_commit %s, standbys %j: %s",
  (fsync, synchronous_commit, synchronous_standby_names, expected) => {
    expect(durabilityOf({ fsync, synchronous_commit, synchronous_standby_names })).toBe(expected);
  },
);

test("a misspelt, mistyped or missing option is refused", () => {
  const wrong =
    (options: object): (() => unknown) =>
    () =>
      postgresqlCheckpointer(options as never);
  expect(wrong({ dns: "postgres://h/d" })).toThrow(/no option "dns"; it takes dsn, /);
  expect(wrong({})).toThrow(/either a dsn or a pool/);
  expect(wrong({ dsn: "postgres://h/d", pool: {} })).toThrow(/either a dsn or a pool/);
  expect(wrong({ dsn: "user:hunter2@host" })).toThrow(/^dsn must look like postgres:\/\/user:password@host/);
  expect(wrong({ dsn: "postgres://h/d", schema: 'a"; DROP' })).toThrow(/schema must be/);
  expect(wrong({ dsn: "postgres://h/d", tablePrefix: "x".repeat(41) })).toThrow(/tablePrefix must be/);
  expect(wrong({ dsn: "postgres://h/d", statementTimeoutMs: 0 })).toThrow(/statementTimeoutMs must be/);
});
