import { Pool } from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import type { PostgresPool, PostgresQuery } from "./connect.ts";
import { postgresqlCheckpointer } from "./index.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema } = place;
  afterAll(place.dispose);
  const pool = new Pool({ connectionString: url });
  afterAll(() => pool.end());

  /** Every query that goes through the pool, in order. */
  function recording(): { pool: PostgresPool; sent: PostgresQuery[] } {
    const sent: PostgresQuery[] = [];
    const recorded: PostgresPool = {
      query: (query) => {
        sent.push(query);
        return pool.query(query);
      },
      connect: () => pool.connect(),
      on: (event, listener) => pool.on(event, listener),
      removeListener: (event, listener) => pool.removeListener(event, listener),
      end: () => pool.end(),
    };
    return { pool: recorded, sent };
  }

  test("every common call is one round trip", async () => {
    const { pool, sent } = recording();
    const checkpointer = postgresqlCheckpointer({ pool, schema, tablePrefix: place.prefix() });
    await checkpointer.connect();
    const costOf = async (call: () => Promise<unknown>): Promise<number> => {
      sent.length = 0;
      await call();
      return sent.length;
    };
    const first = said("one");
    const second = first.withMessage(userMessage("two"));
    let checkpointId = "";
    expect(await costOf(async () => (checkpointId = await checkpointer.save(first, "t1"))), "a first save").toBe(1);
    expect(await costOf(() => checkpointer.save(second, "t1", { metadata: { a: 1 } })), "a save").toBe(1);
    expect(await costOf(() => checkpointer.load("t1")), "a load").toBe(1);
    expect(await costOf(() => checkpointer.load("t1", { checkpointId })), "a load of an older one").toBe(1);
    expect(await costOf(() => checkpointer.exists("t1")), "exists").toBe(1);
    expect(await costOf(() => checkpointer.listCheckpoints("t1")), "a page of history").toBe(1);
    expect(await costOf(() => checkpointer.listThreads()), "a page of threads").toBe(1);
    expect(await costOf(() => checkpointer.queryByMetadata("a", 1)), "a query").toBe(1);
    expect(await costOf(() => checkpointer.copyThread("t1", "t2")), "a copy").toBe(1);
    expect(await costOf(() => checkpointer.save(said("late"), "t1").catch(() => 0)), "a refused save").toBe(2);
    expect(await costOf(() => checkpointer.delete("t1")), "a deletion").toBe(1);
    await checkpointer.close();
  });

  describe("behind a pooler that lends a connection for one transaction", () => {
    /** Each query goes to another connection, on which nothing of a session is left. */
    function pooled(): { pool: PostgresPool; sent: PostgresQuery[] } {
      const { pool: recorded, sent } = recording();
      const query = async (query: PostgresQuery): Promise<{ rows: readonly unknown[] }> => {
        sent.push(query);
        const client = await pool.connect();
        try {
          return await client.query(query);
        } finally {
          await client.query("DISCARD ALL");
          client.release(true);
        }
      };
      return { pool: { ...recorded, query }, sent };
    }

    test("a watch sees what another process saves, though it hears of nothing", async () => {
      const { pool } = pooled();
      const tablePrefix = place.prefix();
      const watcher = postgresqlCheckpointer({ pool, schema, tablePrefix });
      await using writer = postgresqlCheckpointer({ dsn: url, schema, tablePrefix });
      const watching = watcher.watch("t1")[Symbol.asyncIterator]();
      const seen = watching.next();
      await writer.save(said("one"), "t1");
      expect((await seen).value).toMatchObject({ messageCount: 1 });
      await watching.return?.();
      await watcher.close();
    });

    test("everything works, and nothing is sent that belongs to a session", async () => {
      const { pool, sent } = pooled();
      const checkpointer = postgresqlCheckpointer({ pool, schema, tablePrefix: place.prefix() });
      let state = said("a needle");
      const first = await checkpointer.save(state, "t1", { metadata: { a: 1 }, ttlSeconds: 60 });
      state = state.withMessage(userMessage("and more"));
      await checkpointer.save(state, "t1");
      await checkpointer.withLease("t1", (lease) =>
        checkpointer.save(state.withMessage(userMessage("held")), "t1", { lease }),
      );
      expect((await checkpointer.load("t1"))?.messages).toHaveLength(3);
      expect(await checkpointer.search("needle")).toHaveLength(1);
      await checkpointer.fork("t1", "t2", { at: first });
      await checkpointer.delete("t1", { checkpointId: first });
      await checkpointer.delete("t1");
      expect(await checkpointer.listThreads()).toEqual(["t2"]);
      await checkpointer.close();
      expect(sent.filter((query) => "name" in query)).toEqual([]);
      expect(
        sent.filter(({ text }) => /\b(SET SESSION|LISTEN|PREPARE|DECLARE|TEMP|pg_advisory_lock)\b/i.test(text)),
      ).toEqual([]);
      expect(sent.filter(({ text }) => /^\s*(SET|BEGIN)\b/i.test(text))).toEqual([]);
    });
  });
});
