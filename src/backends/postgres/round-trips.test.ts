import { setTimeout as sleep } from "node:timers/promises";
import { Pool, type PoolClient } from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { observedPool, type SentQuery } from "../../../test/services/postgres-observed-pool.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { CheckpointSummary } from "../../checkpoint/base-checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import type { PostgresPool } from "./connect.ts";
import { postgresqlCheckpointer } from "./index.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema } = place;
  afterAll(place.dispose);
  const pool = new Pool({ connectionString: url });
  afterAll(() => pool.end());

  /** Every query that goes through the pool, in order. */
  function recording(onRelease?: (client: PoolClient) => Promise<void>): { pool: PostgresPool; sent: SentQuery[] } {
    const sent: SentQuery[] = [];
    return { pool: observedPool(pool, (query) => void sent.push(query), onRelease), sent };
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
    const copy = "a copy, which looks before and after, and whether a person was erased meanwhile";
    expect(await costOf(() => checkpointer.copyThread("t1", "t2")), copy).toBe(5);
    expect(await costOf(() => checkpointer.save(said("late"), "t1").catch(() => 0)), "a refused save").toBe(2);
    expect(await costOf(() => checkpointer.delete("t1")), "a deletion, which looks for legal holds").toBe(2);
    await checkpointer.close();
  });

  describe("behind a pooler that lends a connection for one transaction", () => {
    /** Each query goes to another connection, on which no session state is left. */
    const pooled = (): { pool: PostgresPool; sent: SentQuery[] } =>
      recording(async (client) => void (await client.query("DISCARD ALL")));

    test("a watch sees what another process saves, though no notification arrives", async () => {
      const { pool } = pooled();
      const tablePrefix = place.prefix();
      const watcher = postgresqlCheckpointer({ pool, schema, tablePrefix });
      await using writer = postgresqlCheckpointer({ dsn: url, schema, tablePrefix });
      const watching = watcher.watch("t1")[Symbol.asyncIterator]();
      let seen: CheckpointSummary | undefined;
      const first = watching.next().then(({ value }) => {
        seen = value as CheckpointSummary;
      });
      // A watch shows what comes after it began. The test cannot see when that is, so saves go on until the watch shows one.
      let state = AgentState.create();
      while (seen === undefined) {
        state = state.withMessage(userMessage("more"));
        await writer.save(state, "t1");
        await sleep(100);
      }
      await first;
      expect(seen).toMatchObject({ messageCount: expect.any(Number) });
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
      expect(sent.filter(({ name }) => name !== undefined)).toEqual([]);
      // The body of a function runs inside the server.
      const statements = sent.filter(({ text }) => !text.startsWith("CREATE FUNCTION "));
      expect(
        statements.filter(({ text }) => /\b(SET SESSION|LISTEN|PREPARE|DECLARE|TEMP|pg_advisory_lock)\b/i.test(text)),
      ).toEqual([]);
      // Creating the tables is the only transaction.
      const transactions = sent.filter(({ text }) => /^\s*(SET|BEGIN)\b/i.test(text));
      expect(transactions.map(({ text }) => text)).toEqual(["BEGIN"]);
    });
  });
});
