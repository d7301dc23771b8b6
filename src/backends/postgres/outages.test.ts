import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { inspect } from "node:util";
import { Client } from "pg";
import { afterAll, describe, expect, test, vi } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { freePort } from "../../../test/services/server-process.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { classify } from "./classify.ts";
import type { PostgresqlCheckpointerOptions } from "./index.ts";

/** How long to wait for events that come at their own pace: a loaded machine is slow, and no test here is about speed. */
const PATIENCE = { timeout: 60_000 };

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));
const ONCE = { attempts: 1 };

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  const open = (options: PostgresqlCheckpointerOptions): Checkpointer => place.open({ retry: ONCE, ...options });

  /** Tables with one thread in them, created by their owner. */
  async function filled(): Promise<{ readonly tablePrefix: string; readonly owner: Checkpointer }> {
    const tablePrefix = place.prefix();
    const owner = open({ dsn: url, tablePrefix });
    await owner.save(said("hello"), "t1");
    return { tablePrefix, owner };
  }

  /** Reading must fail as loudly as writing: "no thread" would be a lie. */
  async function bothFail(checkpointer: Checkpointer, code: ErrorCode, secret: string, message: RegExp): Promise<void> {
    for (const call of [() => checkpointer.load("t1"), () => checkpointer.save(said("hello"), "t9")]) {
      const error = await call().then(
        () => expect.fail("it answered"),
        (failure: unknown) => failure,
      );
      expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
      expect(StateError.is(error)).toBe(true);
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(secret);
    }
  }

  const altered = (change: (address: URL) => void): { readonly dsn: string; readonly secret: string } => {
    const address = new URL(url);
    change(address);
    return { dsn: address.href, secret: decodeURIComponent(address.password) };
  };

  test("a wrong password is PERMISSION_DENIED, and is in no error", async () => {
    const { dsn, secret } = altered((address) => (address.password = "hunter2-is-wrong"));
    await bothFail(open({ dsn }), "PERMISSION_DENIED", secret, /password authentication failed/);
  });

  test("a database that is not there is INVALID_ARGUMENT", async () => {
    const { dsn, secret } = altered((address) => (address.pathname = "/no_such_database"));
    await bothFail(open({ dsn }), "INVALID_ARGUMENT", secret, /"no_such_database" does not exist/);
  });

  test("a server that is not there is UNAVAILABLE", async () => {
    const port = String(await freePort());
    const { dsn, secret } = altered((address) => (address.port = port));
    await bothFail(open({ dsn }), "UNAVAILABLE", secret, /ECONNREFUSED/);
  });

  test("a server that takes the connection and never answers is TIMEOUT, after the time that was given", async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket)).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const port = String((silent.address() as AddressInfo).port);
    const { dsn, secret } = altered((address) => (address.port = port));
    await bothFail(open({ dsn, connectTimeoutMs: 200 }), "TIMEOUT", secret, /timeout/i);
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  test("no free connection for this role is UNAVAILABLE", async () => {
    const role = await place.role("CONNECTION LIMIT 0");
    await bothFail(open({ dsn: role.url }), "UNAVAILABLE", new URL(role.url).password, /too many connections/);
  });

  test("a role that was granted nothing is PERMISSION_DENIED", async () => {
    const { tablePrefix } = await filled();
    const role = await place.role();
    await sql(`GRANT USAGE ON SCHEMA ${schema} TO ${role.name}`);
    const { password } = new URL(role.url);
    await bothFail(open({ dsn: role.url, tablePrefix }), "PERMISSION_DENIED", password, /permission denied for table/);
  });

  test("where only reading is allowed, saves are UNAVAILABLE and loads work", async () => {
    const { tablePrefix } = await filled();
    const role = await place.role("SET default_transaction_read_only = on");
    await sql(`GRANT USAGE ON SCHEMA ${schema} TO ${role.name}`);
    await sql(`GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${role.name}`);
    const reader = open({ dsn: role.url, tablePrefix });
    expect((await reader.load("t1"))?.messages).toHaveLength(1);
    await expect(reader.save(said("hello"), "t9")).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("read-only transaction"),
    });
    expect(await reader.load("t9")).toBeUndefined();
  });

  /** Runs `work` while another connection locks the thread's row. */
  async function whileLocked(
    tablePrefix: string,
    work: (release: () => Promise<unknown>) => Promise<void>,
  ): Promise<void> {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query("BEGIN");
    await client.query(`SELECT FROM ${schema}.${tablePrefix}threads WHERE thread_id = 't1' FOR UPDATE`);
    await work(() => client.query("COMMIT"));
    await client.end();
  }

  test("a statement that takes too long is TIMEOUT, and the save that is repeated is there once", async () => {
    const { tablePrefix } = await filled();
    const hasty = open({ dsn: url, tablePrefix, statementTimeoutMs: 200 });
    const loaded = await vi.waitUntil(() => hasty.load("t1").catch(() => undefined), PATIENCE);
    const state = loaded.withMessage(userMessage("again"));
    await whileLocked(tablePrefix, async (release) => {
      await expect(hasty.save(state, "t1")).rejects.toMatchObject({ code: "TIMEOUT", retryable: true });
      await release();
    });
    await vi.waitFor(() => hasty.save(state, "t1"), PATIENCE);
    expect(await open({ dsn: url, tablePrefix }).listCheckpoints("t1")).toHaveLength(2);
  });

  test("the server's own statement timeout is TIMEOUT too", async () => {
    const { tablePrefix } = await filled();
    const role = await place.role("SET statement_timeout = '200ms'");
    await sql(`GRANT USAGE ON SCHEMA ${schema} TO ${role.name}`);
    await sql(`GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${role.name}`);
    const hasty = open({ dsn: role.url, tablePrefix });
    const loaded = await vi.waitUntil(() => hasty.load("t1").catch(() => undefined), PATIENCE);
    const state = loaded.withMessage(userMessage("again"));
    await whileLocked(tablePrefix, async () => {
      await expect(hasty.save(state, "t1")).rejects.toMatchObject({ code: "TIMEOUT" });
    });
  });

  test("a connection that the server ends in the middle of a save is made again, and the save is there once", async () => {
    const { tablePrefix } = await filled();
    const named = altered((address) => address.searchParams.set("application_name", "ended while saving"));
    const checkpointer = open({ dsn: named.dsn, tablePrefix, retry: { attempts: 5 } });
    const state = (await checkpointer.load("t1"))?.withMessage(userMessage("again")) as AgentState;
    await whileLocked(tablePrefix, async (release) => {
      const saving = checkpointer.save(state, "t1");
      const waiting = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'ended while saving' AND wait_event_type = 'Lock'`;
      await vi.waitUntil(async () => (await sql(waiting)).length > 0, PATIENCE);
      await release();
      await saving;
    });
    expect(await checkpointer.listCheckpoints("t1")).toHaveLength(2);
  });
});

describe("what the client throws", () => {
  const coded = (code: string): Error => Object.assign(new Error("…"), { code });

  test.each<[ErrorCode | undefined, readonly string[]]>([
    ["UNAVAILABLE", ["08000", "08006", "57P01", "57P02", "57P03", "53300", "53200", "40001", "40P01", "25006"]],
    ["UNAVAILABLE", ["ECONNREFUSED", "ECONNRESET", "EPIPE", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH"]],
    ["PERMISSION_DENIED", ["28P01", "28000", "42501"]],
    ["STORAGE_FULL", ["53100"]],
    ["TIMEOUT", ["57014", "55P03", "ETIMEDOUT"]],
    ["TOO_LARGE", ["54000"]],
    ["CORRUPT", ["XX001", "XX002"]],
    ["INVALID_ARGUMENT", ["3D000", "22021"]],
    [undefined, ["42601", "XX000", "23505"]],
  ])("%s: %j", (expected, codes) => {
    for (const code of codes) expect(classify(coded(code)), code).toBe(expected);
  });

  test.each<[ErrorCode, string]>([
    ["UNAVAILABLE", "Connection terminated unexpectedly"],
    ["UNAVAILABLE", "Connection terminated"],
    ["UNAVAILABLE", "Client has encountered a connection error and is not queryable"],
    ["TIMEOUT", "Connection terminated due to connection timeout"],
    ["TIMEOUT", "timeout exceeded when trying to connect"],
    ["TIMEOUT", "timeout expired"],
    ["TIMEOUT", "Query read timeout"],
  ])("%s: %s", (expected, message) => {
    expect(classify(new Error(message))).toBe(expected);
  });
});
