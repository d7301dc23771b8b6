import { setTimeout as sleep } from "node:timers/promises";
import { Client, Pool } from "pg";
import { afterAll, expect, test, vi } from "vitest";
import { observedPool } from "../../../test/services/postgres-observed-pool.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import { postgresLogOptions } from "./checkpointer.ts";
import { PostgresLog } from "./log.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  /** Writers that save as fast as possible until stopped: into new threads, and over an existing name. */
  function writers(tablePrefix: string): { saves(): number; stop(): Promise<void> } {
    let stopped = false;
    const counts = [0, 0];
    const write = async (checkpointer: Checkpointer, name: string, index: number): Promise<void> => {
      let saves = 0;
      while (!stopped) {
        await checkpointer.save(said(`noise ${saves}`), `zz ${name} ${saves++}`);
        await checkpointer.save(said(`named ${saves}`), `named ${name}`, {
          checkpointId: "the same",
          expectedHead: saves === 1 ? null : "the same",
        });
        counts[index] = saves;
      }
    };
    const running = counts.map((_, index) => write(place.open({ dsn: url, tablePrefix }), `writer ${index}`, index));
    return {
      saves: () => counts.reduce((sum, saves) => sum + saves),
      stop: async () => {
        stopped = true;
        await Promise.all(running);
      },
    };
  }

  test("a search ends while two writers never stop, and finds what was saved before it began", async () => {
    const tablePrefix = place.prefix();
    const searcher = place.open({ dsn: url, tablePrefix });
    for (let thread = 0; thread < 40; thread++) await searcher.save(said(`needle ${thread}`), `t${thread}`);
    const busy = writers(tablePrefix);
    try {
      for (let round = 0; round < 5; round++) {
        await vi.waitUntil(() => busy.saves() > 10 * (round + 1), { timeout: 60_000 });
        await searcher.save(said(`needle of round ${round}`), `u${round}`);
        // The writers go on meanwhile: a search that ended only after them would never end.
        expect(await searcher.search("needle", { limit: 100 })).toHaveLength(41 + round);
      }
      expect(busy.saves()).toBeGreaterThan(50);
    } finally {
      await busy.stop();
    }
  });

  test("a thread whose checkpoint is replaced all the time is still indexed", async () => {
    const tablePrefix = place.prefix();
    const writer = place.open({ dsn: url, tablePrefix });
    const pool = new Pool({ connectionString: url });
    let replacements = 0;
    const replace = async (): Promise<void> => {
      const state = (await writer.load("t1")) ?? said("kept");
      await writer.save(state.withMessage(userMessage(`newest${replacements++}`)), "t1", { checkpointId: "newest" });
    };
    const first = await writer.save(said("kept"), "t1");
    const observed = observedPool(pool, async ({ text }) => {
      if (text.includes("index_words")) await replace();
    });
    const searcher = place.open({ pool: observed, tablePrefix });
    expect((await searcher.search("kept")).map(({ checkpointId }) => checkpointId)).toEqual([first]);
    expect(replacements).toBeLessThan(5);
    await pool.end();
  });

  test("close() does not wait for a long indexing, and the search under way fails with CLOSED", async () => {
    const tablePrefix = place.prefix();
    const checkpointer = place.open({ dsn: url, tablePrefix, statementTimeoutMs: 240_000 });
    for (let thread = 0; thread < 20; thread++) await checkpointer.save(said("needle"), `t${thread}`);
    const holder = new Client({ connectionString: url });
    await holder.connect();
    await holder.query("BEGIN");
    await holder.query(`SELECT FROM ${schema}.${tablePrefix}threads FOR UPDATE`);
    const searching = checkpointer.search("needle").catch((error: unknown) => error);
    await sleep(300);
    const began = performance.now();
    await checkpointer.close();
    expect(performance.now() - began, "the indexing would wait for as long as a statement may").toBeLessThan(120_000);
    await holder.end();
    expect(await searching).toMatchObject({ code: "CLOSED" });
  });

  test("a thread whose row stays locked does not keep other threads from being found", async () => {
    const tablePrefix = place.prefix();
    const checkpointer = place.open({ dsn: url, tablePrefix });
    for (const thread of ["a", "b", "c"]) await checkpointer.save(said("needle"), thread);
    const holder = new Client({ connectionString: url });
    await holder.connect();
    await holder.query("BEGIN");
    await holder.query(`SELECT FROM ${schema}.${tablePrefix}threads WHERE thread_id = 'b' FOR UPDATE`);
    expect((await checkpointer.search("needle")).map(({ threadId }) => threadId).toSorted()).toEqual(["a", "c"]);
    await holder.end();
    expect(await checkpointer.search("needle")).toHaveLength(3);
  });

  test("a record whose words cannot be read, and one with a word of 8 MB, do not keep others from being found", async () => {
    const tablePrefix = place.prefix();
    const log = new PostgresLog(postgresLogOptions({ dsn: url, schema, tablePrefix }));
    for (const thread of ["a", "b", "c"]) await log.append(thread, requestFor(recordAt(1)));
    for (let seq = 2; seq < 5; seq++) await log.append("b", requestFor(recordAt(seq)));
    await log.catchUp(({ seq }) => {
      if (seq === 2) throw new Error("a record of a newer format");
      return seq === 3 ? `${"w".repeat(8_000_000)} needle` : "needle";
    });
    const { hits: found } = await log.search(["needle"], { limit: 10 });
    expect(found.map(({ threadId, entry }) => `${threadId}${entry.seq}`).toSorted()).toEqual([
      "a1",
      "b1",
      "b3",
      "b4",
      "c1",
    ]);
    expect((await log.search(["w".repeat(400)], { limit: 10 })).hits).toHaveLength(1);
    expect(await sql(`SELECT FROM ${schema}.${tablePrefix}threads WHERE stale`)).toEqual([]);
    await log.close();
  });

  test("one record of a newer format in the tables does not make every search INCOMPATIBLE", async () => {
    const tablePrefix = place.prefix();
    const checkpointer = place.open({ dsn: url, tablePrefix });
    for (const thread of ["a", "b", "c"]) await checkpointer.save(said("needle"), thread);
    await sql(
      `UPDATE ${schema}.${tablePrefix}records SET header = regexp_replace(header, '"format":[0-9]+', '"format":99') WHERE thread_id = 'b'`,
    );
    expect((await checkpointer.search("needle")).map(({ threadId }) => threadId).toSorted()).toEqual(["a", "c"]);
  });
});
