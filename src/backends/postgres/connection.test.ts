import { inspect } from "node:util";
import { Pool } from "pg";
import { afterAll, describe, expect, test, vi } from "vitest";
import { AT_ONCE_MS, endingOf } from "../../../test/ending.ts";
import { observedPool } from "../../../test/services/postgres-observed-pool.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Lease } from "../../driver/connection.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import type { TextRow } from "./ask.ts";
import type { PostgresHandle } from "./handle.ts";
import { type PostgresqlConnection, postgresqlConnection } from "./index.ts";
import { tableNames } from "./layout.ts";

const PATIENCE = { timeout: 60_000 };

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql, open } = place;
  afterAll(place.dispose);

  /** A second facet, as small as possible: texts in a table of its own, in a part of its own. */
  class Notes {
    readonly #handle: Lease<PostgresHandle>;
    readonly #table: string;

    constructor(connection: PostgresqlConnection, tablePrefix: string) {
      this.#table = `${schema}.${tablePrefix}notes`;
      const part = { name: "notes", migrations: [[`CREATE TABLE ${this.#table} (note text)`]] };
      this.#handle = connection.lease(async (handle) => {
        await handle.prepare(tableNames(schema, tablePrefix), part);
        return handle;
      });
    }

    add(text: string): Promise<readonly TextRow[]> {
      return this.ask(`INSERT INTO ${this.#table} (note) VALUES ($1)`, [text]);
    }

    async all(): Promise<readonly unknown[]> {
      return (await this.ask(`SELECT note FROM ${this.#table} ORDER BY note`)).map((row) => row["note"]);
    }

    async ask(text: string, values: readonly unknown[] = []): Promise<readonly TextRow[]> {
      return (await this.#handle.get()).ask(text, values);
    }

    close(): Promise<void> {
      return this.#handle.release();
    }
  }

  /** Both facets over one connection, and the number of connections that the server sees. */
  function both(options: { maxConnections?: number; dsn?: string } = {}) {
    const tablePrefix = place.prefix();
    const dsn = new URL(options.dsn ?? url);
    dsn.searchParams.set("application_name", `${schema} ${tablePrefix}`);
    const connection = postgresqlConnection({ ...options, dsn: dsn.href });
    const count = async (): Promise<number> => {
      const text = "SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = $1";
      return Number((await sql(text, [`${schema} ${tablePrefix}`]))[0]?.["n"]);
    };
    const checkpointer = open({ connection, tablePrefix });
    return { tablePrefix, connection, checkpointer, notes: new Notes(connection, tablePrefix), count };
  }

  describe("a log and a second facet over one connection", () => {
    test("use one pool, and each has its own part of the tables", async () => {
      const { checkpointer, notes, count, tablePrefix } = both({ maxConnections: 2 });
      const calls = Array.from({ length: 10 }, (_, index) => [
        checkpointer.save(said(`${index}`), `t${index}`),
        notes.add(`${index}`),
      ]);
      await Promise.all(calls.flat());
      expect(await count()).toBe(2);
      expect(await notes.all()).toHaveLength(10);
      expect(await checkpointer.listThreads()).toHaveLength(10);
      const parts = await sql(`SELECT part, version FROM ${schema}.${tablePrefix}schema ORDER BY part`);
      expect(parts).toEqual([
        { part: "checkpoints", version: 1 },
        { part: "notes", version: 1 },
      ]);
      await Promise.all([checkpointer.close(), notes.close()]);
      await vi.waitFor(async () => expect(await count()).toBe(0), PATIENCE);
    });

    test("the log is closed first: the other goes on, and closes the pool", async () => {
      const { checkpointer, notes, count } = both();
      await checkpointer.save(said("hello"), "t1");
      await notes.add("a");
      await checkpointer.close();
      await expect(checkpointer.load("t1")).rejects.toMatchObject({ code: "CLOSED" });
      expect(await notes.all()).toEqual(["a"]);
      expect(await count()).toBeGreaterThan(0);
      await notes.close();
      await expect(notes.all()).rejects.toMatchObject({ code: "CLOSED" });
      await vi.waitFor(async () => expect(await count()).toBe(0), PATIENCE);
    });

    test("the log is closed last: it goes on until then", async () => {
      const { checkpointer, notes, count } = both();
      await checkpointer.save(said("hello"), "t1");
      await notes.add("a");
      await notes.close();
      expect((await checkpointer.load("t1"))?.messages).toHaveLength(1);
      expect(await count()).toBeGreaterThan(0);
      await checkpointer.close();
      await vi.waitFor(async () => expect(await count()).toBe(0), PATIENCE);
    });

    test("a checkpointer that was never used also keeps the pool open until it is closed", async () => {
      const { checkpointer, notes, count } = both();
      await notes.add("a");
      await notes.close();
      expect(await count()).toBe(1);
      await checkpointer.close();
      await vi.waitFor(async () => expect(await count()).toBe(0), PATIENCE);
    });

    test("a call in progress is not disturbed when the other facet closes", async () => {
      const { checkpointer, notes } = both();
      await checkpointer.save(said("hello"), "t1");
      const slow = notes.ask("SELECT 'awake' AS word FROM pg_sleep(0.5)");
      await checkpointer.close();
      expect(await slow).toEqual([{ word: "awake" }]);
      await notes.close();
    });

    test("a call in progress when the last facet closes is answered or fails with CLOSED, and is never half done", async () => {
      const { checkpointer, notes, tablePrefix } = both();
      await checkpointer.save(said("hello"), "t1");
      await notes.close();
      const saving = checkpointer.save(said("second"), "t2").then(
        () => 2,
        (error: unknown) => {
          expect(error).toMatchObject({ code: "CLOSED" });
          return 1;
        },
      );
      await checkpointer.close();
      expect(await place.count(`${tablePrefix}threads`)).toBe(await saving);
    });

    test("a server that refuses both is asked again by the next call of either", async () => {
      const role = await place.role("NOLOGIN");
      await sql(`GRANT ALL ON DATABASE ${new URL(url).pathname.slice(1)} TO ${role.name}`);
      await sql(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
      await sql(`GRANT ALL ON SCHEMA ${schema} TO ${role.name}`);
      const { checkpointer, notes, count } = both({ dsn: role.url });
      const password = new URL(role.url).password;
      for (const failing of [() => checkpointer.save(said("hello"), "t1"), () => notes.add("a")]) {
        const failure: unknown = await failing().catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(Error);
        expect(String(failure)).not.toContain(password);
      }
      await sql(`ALTER ROLE ${role.name} LOGIN`);
      await Promise.all([checkpointer.save(said("hello"), "t1"), notes.add("a")]);
      expect(await notes.all()).toEqual(["a"]);
      await Promise.all([checkpointer.close(), notes.close()]);
      await vi.waitFor(async () => expect(await count()).toBe(0), PATIENCE);
    });

    test("tables that one facet cannot use do not affect the other", async () => {
      const { checkpointer, notes, tablePrefix } = both();
      await notes.add("a");
      await checkpointer.save(said("hello"), "t1");
      await sql(`UPDATE ${schema}.${tablePrefix}schema SET version = 99 WHERE part = 'notes'`);
      const other = both();
      const late = new Notes(other.connection, tablePrefix);
      const log = open({ connection: other.connection, tablePrefix });
      await expect(late.all()).rejects.toMatchObject({ code: "INCOMPATIBLE" });
      expect((await log.load("t1"))?.messages).toHaveLength(1);
      await expect(late.all()).rejects.toMatchObject({ code: "INCOMPATIBLE" });
      expect((await log.load("t1"))?.messages).toHaveLength(1);
      await Promise.all([late.close(), log.close(), other.checkpointer.close(), other.notes.close()]);
    });

    test("a second checkpointer over it finds the tables prepared, and asks no more about them", async () => {
      const pool = new Pool({ connectionString: url, max: 2 });
      const sent: string[] = [];
      const connection = postgresqlConnection({ pool: observedPool(pool, ({ text }) => void sent.push(text)) });
      const tablePrefix = place.prefix();
      const [first, second] = [open({ connection, tablePrefix }), open({ connection, tablePrefix })];
      await first.save(said("hello"), "t1");
      sent.length = 0;
      expect((await second.load("t1"))?.messages).toHaveLength(1);
      expect(sent).toHaveLength(1);
      await Promise.all([first.close(), second.close()]);
      await pool.end();
    });

    test("a pool that was handed in survives both, and no listener is left on it", async () => {
      const pool = new Pool({ connectionString: url });
      const listeners = (): readonly number[] => ["error", "acquire"].map((event) => pool.listenerCount(event));
      const before = listeners();
      const tablePrefix = place.prefix();
      const connection = postgresqlConnection({ pool });
      const [checkpointer, notes] = [open({ connection, tablePrefix }), new Notes(connection, tablePrefix)];
      await Promise.all([checkpointer.save(said("hello"), "t1"), notes.add("a")]);
      await notes.close();
      await checkpointer.close();
      expect(listeners()).toEqual(before);
      expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
      await pool.end();
    });
  });

  test("a program that closes no facet of a shared connection still ends by itself", async () => {
    const { code, said: words, complaints, lingeredMs } = await endingOf("postgres", url, schema);
    expect({ code, words, complaints }).toEqual({ code: 0, words: ["loaded", "loaded"], complaints: [] });
    expect(lingeredMs).toBeLessThan(AT_ONCE_MS);
  });

  test("a connection shows no password when printed", () => {
    const connection = postgresqlConnection({ dsn: "postgres://me:s3cret-word@db.example/agents" });
    expect(connection.secrets).toContain("s3cret-word");
    const printed = inspect(connection, { depth: 10, showHidden: true }) + JSON.stringify(connection);
    expect(printed).not.toContain("s3cret-word");
  });

  test("options that belong to the connection are refused beside one, and so is a value that is not a connection", () => {
    const connection = postgresqlConnection({ dsn: url });
    expect(() => open({ connection, dsn: url })).toThrow(
      /dsn is the connection's own; give it to postgresqlConnection/,
    );
    expect(() => open({ connection, statementTimeoutMs: 1 })).toThrow(/statementTimeoutMs is the connection's own/);
    expect(() => open({ connection: {} as never })).toThrow(
      /connection must be what postgresqlConnection\(\) returned/,
    );
    expect(() => open({})).toThrow("postgresqlCheckpointer() takes either a dsn or a pool, or a connection");
    expect(() => postgresqlConnection({})).toThrow("postgresqlConnection() takes either a dsn or a pool");
    expect(() => postgresqlConnection({ dsn: url, schema: "a" } as never)).toThrow(
      /postgresqlConnection\(\).*"schema"/,
    );
    expect(() => postgresqlConnection({ dsn: url, maxConnections: 0 })).toThrow(
      /maxConnections must be a whole number/,
    );
  });

  test("a server that ends connections while they are being closed does not end this process", async () => {
    const ending = vi.spyOn(Pool.prototype, "end");
    const checkpointer = open({ dsn: url, schema });
    await checkpointer.listThreads();
    await checkpointer.close();
    const [pool] = ending.mock.contexts;
    ending.mockRestore();
    const report = new Error("terminating connection due to administrator command");
    expect((pool as Pool).emit("error", report), "the pool has a listener").toBe(true);
  });
});
