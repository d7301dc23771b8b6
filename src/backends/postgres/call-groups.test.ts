import { Pool } from "pg";
import { afterAll, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { placeAt, recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import { PersonalData } from "../../wiring/personal-data.ts";
import { InMemoryStore } from "../memory/index.ts";
import { postgresLogOptions, postgresqlCheckpointer } from "./checkpointer.ts";
import { PostgresLog } from "./log.ts";

const THREADS = Array.from({ length: 24 }, (_, index) => `thread ${index}`);
const FIRST = placeAt(2);

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  afterAll(place.dispose);

  /** A pool that counts how often a connection is borrowed: each time is one statement. */
  function countingPool(): { readonly pool: Pool; readonly statements: () => number } {
    const pool = new Pool({ connectionString: url, max: 8 });
    let borrowed = 0;
    pool.on("acquire", () => borrowed++);
    return { pool, statements: () => borrowed };
  }

  /** The threads with two records each. */
  async function opened() {
    const tablePrefix = place.prefix();
    const { pool, statements } = countingPool();
    const log = new PostgresLog(postgresLogOptions({ pool, schema: place.schema, tablePrefix }));
    await log.connect();
    for (const seq of [1, 2])
      await Promise.all(THREADS.map((threadId) => log.append(threadId, requestFor(recordAt(seq)))));
    const close = async (): Promise<void> => {
      await log.close();
      await pool.end();
    };
    return { log, statements, tables: `${place.schema}.${tablePrefix}`, close };
  }

  /** Another transaction that has one thread's row, until it is let go. */
  async function holding(tables: string, threadId: string): Promise<() => Promise<void>> {
    const pool = new Pool({ connectionString: url, max: 1 });
    const client = await pool.connect();
    await client.query("BEGIN");
    await client.query(`SELECT FROM ${tables}threads WHERE thread_id = $1 FOR UPDATE`, [threadId]);
    return async () => {
      await client.query("COMMIT");
      client.release();
      await pool.end();
    };
  }

  const edit = requestFor(recordAt(3, { base: 2 }), { dropBelow: 2, replace: [recordAt(2, { base: 2 })] });

  test("what is asked of many threads at one moment is a few statements", async () => {
    const { log, statements, close } = await opened();
    const asks: ((threadId: string) => Promise<unknown>)[] = [
      (threadId: string) => log.tail(threadId),
      (threadId: string) => log.list(threadId, { limit: 500 }),
      (threadId: string) => log.readCheckpoint(threadId, "checkpoint-2"),
      (threadId: string) => log.append(threadId, edit),
      (threadId: string) => log.remove(threadId, placeAt(3)),
    ];
    for (const ask of asks) {
      const before = statements();
      await Promise.all(THREADS.map(ask));
      expect(statements() - before).toBeLessThan(THREADS.length / 2);
    }
    expect((await log.listThreads({ prefix: "", limit: 10 })).items).toEqual([]);
    await close();
  });

  test("a thread whose row another transaction holds delays no other that is edited or removed with it", async () => {
    for (const act of ["edit", "remove"]) {
      const { log, tables, close } = await opened();
      const letGo = await holding(tables, "thread 9");
      const calls = THREADS.map(
        (threadId): Promise<unknown> => (act === "edit" ? log.append(threadId, edit) : log.remove(threadId, FIRST)),
      );
      const others = await Promise.all(calls.filter((_, index) => index !== 9));
      const expected = act === "edit" ? { appended: true } : "removed";
      expect(others).toEqual(others.map(() => expected));
      await letGo();
      expect(await calls[9]).toEqual(expected);
      await close();
    }
  });

  test("an edit that the server refuses fails alone in its group", async () => {
    const { log, close } = await opened();
    const missing = requestFor(recordAt(3), { replace: [recordAt(1)], drop: [] });
    await log.append("thread 5", requestFor(recordAt(3), { drop: [1] }));
    const late = { ...missing, expected: placeAt(3), record: recordAt(4) };
    const answers = await Promise.allSettled(
      THREADS.map((threadId) => log.append(threadId, threadId === "thread 5" ? late : edit)),
    );
    expect(answers.flatMap(({ status }, index) => (status === "rejected" ? index : []))).toEqual([5]);
    expect((await log.tail("thread 4"))?.entry.seq).toBe(3);
    await close();
  });

  test("a damaged thread is told to whom it concerns, and the others of its group are answered", async () => {
    const { log, tables, close } = await opened();
    await place.sql(`DELETE FROM ${tables}records WHERE thread_id = 'thread 7' AND seq = 2`);
    const answers = await Promise.allSettled(THREADS.map((threadId) => log.tail(threadId)));
    expect(answers.flatMap(({ status }, index) => (status === "rejected" ? index : []))).toEqual([7]);
    await close();
  });

  test("more than fits into the answer of a group is read all the same", async () => {
    const { log, close } = await opened();
    const body = Buffer.alloc(1024 * 1024, 7);
    await Promise.all(THREADS.map((threadId) => log.append(threadId, requestFor(recordAt(3, { base: 3, body })))));
    const chains = await Promise.all(THREADS.map((threadId) => log.readCheckpoint(threadId, "checkpoint-3")));
    expect(chains.map((chain) => chain?.records.map((record) => record.body.byteLength))).toEqual(
      THREADS.map(() => [body.byteLength]),
    );
    for (let seq = 4; seq <= 60; seq++) await log.append("thread 3", requestFor(recordAt(seq)));
    const lists = await Promise.all(THREADS.map((threadId) => log.list(threadId, { limit: 500 })));
    expect(lists.map((list) => list.length)).toEqual(THREADS.map((threadId) => (threadId === "thread 3" ? 60 : 3)));
    await close();
  });

  test("a vacuum of many threads takes few statements, and leaves what is held, damaged or young", async () => {
    const tablePrefix = place.prefix();
    const tables = `${place.schema}.${tablePrefix}`;
    const { pool, statements } = countingPool();
    const open = (now: () => number) => postgresqlCheckpointer({ pool, schema: place.schema, tablePrefix, now });
    const [past, present] = [open(() => Date.now() - 90 * 86_400_000), open(Date.now)];
    const ids = Array.from({ length: 120 }, (_, index) =>
      index === 11 ? "held" : index === 13 ? "damaged" : `old ${index}`,
    );
    await Promise.all(
      ids.map(async (threadId) => {
        let state = AgentState.create();
        for (const word of ["one", "two", "three"]) {
          state = state.withMessage(userMessage(word));
          await past.save(state, threadId);
        }
      }),
    );
    // Its indexing in the background ends with it, and is not counted below.
    await past.close();
    await present.save(AgentState.create().withMessage(userMessage("young")), "young");
    const data = new PersonalData({ checkpointers: [present], ledger: new InMemoryStore(), key: "k".repeat(32) });
    await data.placeHold({ threadPrefix: "held", by: "counsel", reason: "case 17" });
    await place.sql(`UPDATE ${tables}records SET header = '{}' WHERE thread_id = 'damaged'`);

    const before = statements();
    const pruned = await present.vacuum({ keepLast: 2 });
    expect(pruned).toMatchObject({ checkpoints: 118, threads: 0, skipped: 2 });
    expect(pruned.warnings.map(({ threadId, code }) => [threadId, code]).toSorted()).toEqual([
      ["damaged", "CORRUPT"],
      ["held", "HELD"],
    ]);
    expect(statements() - before).toBeLessThan(ids.length);
    expect((await present.load("old 5"))?.messages.map(({ content }) => content)).toEqual(["one", "two", "three"]);
    expect((await present.listCheckpoints("held")).length).toBe(3);

    const again = statements();
    expect(await present.vacuum({ olderThanDays: 30 })).toMatchObject({ checkpoints: 236, threads: 118, skipped: 2 });
    expect(statements() - again).toBeLessThan(ids.length);
    const left = await place.sql(
      `SELECT DISTINCT thread_id FROM ${tables}records WHERE thread_id ~ '^(old|held|damaged|young)' ORDER BY 1`,
    );
    expect(left.map((row) => row["thread_id"])).toEqual(["damaged", "held", "young"]);
    expect(await failureOf(() => present.load("damaged"))).toMatchObject({ code: "CORRUPT" });
    await present.close();
    await pool.end();
  });
});
