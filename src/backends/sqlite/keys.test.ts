import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { runs } from "../../../test/property-seed.ts";
import type { AppendRequest, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { grow, markAt, placeAt, recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import type { SqliteDatabase } from "./connect.ts";
import { tableNames } from "./layout.ts";
import { SqliteLog } from "./log.ts";
import { openDatabase } from "./open-file.ts";
import { sqliteLogOptions } from "./options.ts";
import { ROWS_PER_THREAD, rowId, type ThreadRow } from "./rows.ts";
import { prepareStatements } from "./statements.ts";
import { dropRange, edit, insert } from "./write-rows.ts";

const NEIGHBOURS = ["before", "after"];

interface Prepared {
  readonly database: SqliteDatabase;
  readonly log: SqliteLog;
}

/** Three threads, all indexed. The test writes to the middle one. */
async function prepare(): Promise<Prepared> {
  const database = await openDatabase(":memory:");
  const log = new SqliteLog(sqliteLogOptions({ database }));
  for (const threadId of ["before", "t", "after"]) await grow(log, threadId, 3);
  await log.catchUp(({ seq }) => `word${seq}`);
  return { database, log };
}

/** Every byte of the other threads, in every table. */
function bytesOfNeighbours(database: SqliteDatabase): string {
  const rows = NEIGHBOURS.map((threadId) => {
    const thread = database.prepare("SELECT * FROM holdfast_threads WHERE thread_id = ?").get(threadId) as ThreadRow;
    const range = [thread.thread_no * ROWS_PER_THREAD, (thread.thread_no + 1) * ROWS_PER_THREAD - 1];
    return [
      thread,
      database.prepare("SELECT *, hex(body) AS body FROM holdfast_records WHERE id BETWEEN ? AND ?").all(...range),
      database.prepare("SELECT * FROM holdfast_indexed WHERE id BETWEEN ? AND ?").all(...range),
      database.prepare("SELECT doc, term FROM holdfast_terms WHERE doc BETWEEN ? AND ?").all(...range),
    ];
  });
  return JSON.stringify(rows);
}

/** Numbers close to a thread's own positions, or close to those of another thread. */
const position = fc.oneof(
  fc.integer({ min: -3, max: 6 }),
  fc
    .tuple(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -3, max: 6 }))
    .map(([threads, seq]) => threads * ROWS_PER_THREAD + seq),
  fc.maxSafeInteger(),
  fc.double(),
);

const positions = fc.array(position, { maxLength: 3 });

describe("no number reaches another thread", () => {
  test("random appends of one thread change no byte of the others", async () => {
    const { database, log } = await prepare();
    const before = bytesOfNeighbours(database);
    const numbers = fc.record({ base: position, head: position, seq: position, replace: positions, drop: positions });
    let accepted = 0;
    const property = fc.asyncProperty(
      numbers,
      fc.option(position, { nil: undefined }),
      fc.constantFrom("plain", "edit", "anything"),
      async ({ base, head, seq, replace, drop }, dropBelow, kind) => {
        const tail = (await log.tail("t"))?.entry.seq ?? 0;
        const record = recordAt(tail + 1, kind === "anything" ? { base, head } : {});
        const edits = {
          replace: replace.map((at) => recordAt(at, { base: Math.min(at, base), head: Math.min(at, head) })),
          drop,
          ...(dropBelow !== undefined && { dropBelow }),
        };
        const request: AppendRequest = requestFor(record, kind === "plain" ? {} : edits);
        const outcome = await log.append("t", request).catch(() => undefined);
        if (outcome?.appended === true) accepted++;
        await log.append("t", requestFor(markAt(tail + 1), { expected: seq })).catch(() => undefined);
        await log.list("t", { before: seq, limit: 100 });
        await log.remove("t", placeAt(seq));
        expect(bytesOfNeighbours(database)).toBe(before);
      },
    );
    await fc.assert(property, runs(300));
    expect(accepted).toBeGreaterThan(9);
  });

  test("the steps of an append refuse every position outside the thread, whatever the caller", async () => {
    const { database } = await prepare();
    const statements = prepareStatements(database, tableNames("holdfast_"));
    const before = bytesOfNeighbours(database);
    const thread = statements.thread.get("t") as ThreadRow;
    const step = (work: () => unknown): void => {
      try {
        work();
      } catch {
        // Refused, or a position that is taken: only the neighbours matter here.
      }
      expect(bytesOfNeighbours(database)).toBe(before);
    };
    const wordsOf = ({ seq }: LogRecord): string => `word${seq}`;
    const property = fc.property(position, position, (first, last) => {
      step(() => insert(statements, thread.thread_no, recordAt(first)));
      step(() => dropRange(statements, thread.thread_no, first, last, wordsOf));
      step(() => edit(statements, thread, requestFor(recordAt(4), { replace: [recordAt(first)] }), wordsOf));
      step(() => edit(statements, thread, requestFor(recordAt(4), { dropBelow: last, drop: [first] }), wordsOf));
    });
    fc.assert(property, runs(300));
  });

  test("a position outside the thread has no key", () => {
    for (const seq of [0, -1, 0.5, Number.NaN, ROWS_PER_THREAD, ROWS_PER_THREAD + 1, 2 ** 53]) {
      expect(() => rowId(1, seq)).toThrow(/a position is a whole number from 1 to 67108863/);
    }
    expect(rowId(1, ROWS_PER_THREAD - 1)).toBe(rowId(2, 1) - 2);
    expect(() => rowId(2 ** 27, 1)).toThrow(/at most 134217727 threads/);
  });

  test("a stored position that was changed by hand shows nothing of another thread", async () => {
    for (const column of ["tail", "head"]) {
      for (const stray of [ROWS_PER_THREAD + 1, -ROWS_PER_THREAD + 1, 2 ** 52]) {
        const { database, log } = await prepare();
        database.exec(`UPDATE holdfast_threads SET ${column} = ${stray} WHERE thread_id = 't'`);
        for (const call of [() => log.readTail("t"), () => log.tail("t"), () => log.list("t", { limit: 10 })]) {
          expect(await failureOf(call)).toMatchObject({ code: "CORRUPT", context: { threadId: "t" } });
        }
        const { items } = await log.listThreads({ prefix: "", limit: 10 });
        const listed = items.find(({ threadId }) => threadId === "t");
        expect(listed).toEqual({ threadId: "t", trouble: { code: "CORRUPT", message: expect.any(String) } });
      }
    }
  });

  test("a name that ends with any number finds no record that does not have it", async () => {
    const { log } = await prepare();
    const ends = [1, 3, 4, ROWS_PER_THREAD - 1, ROWS_PER_THREAD, ROWS_PER_THREAD + 1, 2 ** 51].map((seq) =>
      seq.toString(36),
    );
    for (const end of [...ends, "0", "-1", "01", "1.5", "zzzzzzzzzz", "z".repeat(400)]) {
      expect(await log.entry("t", `x-${end}`), end).toBeUndefined();
      expect(await log.readCheckpoint("t", `x-${end}`), end).toBeUndefined();
    }
  });

  test("only names that do not lead to their own record are indexed", async () => {
    const { database, log } = await prepare();
    let after = "write-3";
    for (const [seq, checkpointId] of [
      [4, "own-4"],
      [5, "early-6"],
      [6, "label"],
      [7, "own-7"],
    ] as const) {
      await log.append("t", requestFor(recordAt(seq, { checkpointId, writeId: checkpointId }), { after }));
      after = checkpointId;
      expect(await log.entry("t", checkpointId)).toMatchObject({ seq, checkpointId, writeId: checkpointId });
    }
    const indexed = database.prepare(
      "SELECT checkpoint_id FROM holdfast_records WHERE checkpoint_id IS NOT NULL AND is_hinted = 0",
    );
    expect(indexed.all().map((row) => (row as { checkpoint_id: string }).checkpoint_id)).toEqual(["early-6", "label"]);
    const plan = database.prepare(
      "EXPLAIN QUERY PLAN SELECT MAX(id) FROM holdfast_records WHERE checkpoint_id = ? AND is_hinted = 0 AND id BETWEEN ? AND ?",
    );
    expect(JSON.stringify(plan.all("label", 1, 2))).toContain("holdfast_records_by_checkpoint");
  });

  test("replacing a record that does not exist is INVALID_ARGUMENT, and nothing is written", async () => {
    const { database, log } = await prepare();
    await log.append("t", requestFor(markAt(4, { head: 3 }), { drop: [2] }));
    const all = (): unknown[] => database.prepare("SELECT *, hex(body) AS body FROM holdfast_records").all();
    const before = all();
    const request = requestFor(recordAt(5), { replace: [recordAt(3), recordAt(2)] });
    expect(await failureOf(() => log.append("t", request))).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(all()).toEqual(before);
    expect((await log.tail("t"))?.entry.seq).toBe(4);
  });
});
