import assert from "node:assert/strict";
import type { AppendRequest, LogRecord, ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { failsWith } from "../expect-failure.ts";
import { assertThread, grow, markAt, placeAt, put, recordAt, requestFor } from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

/** Between them lies the thread that is written to, so that a key that runs over its end meets one of them. */
const NEIGHBOURS = ["a neighbour", "neighbouring"] as const;

/** What a client might send where a position belongs. Some storages join a thread's number and a position in one key. */
const STRAY_NUMBERS: readonly number[] = [
  -1,
  0.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  ...[16, 20, 24, 26, 31, 32, 40, 48].flatMap((bits) => [2 ** bits + 1, 2 ** bits + 2, -(2 ** bits) + 1]),
  Number.MAX_SAFE_INTEGER,
  2 ** 53,
];

async function withNeighbours(log: ThreadLog): Promise<Map<string, readonly LogRecord[]>> {
  const [before, after] = NEIGHBOURS;
  const threads = new Map<string, readonly LogRecord[]>();
  for (const threadId of [before, "t", after]) threads.set(threadId, await grow(log, threadId, 3));
  return threads;
}

async function assertUnchanged(log: ThreadLog, threads: Map<string, readonly LogRecord[]>, what: string) {
  for (const [threadId, records] of threads) await assertThread(log, threadId, records, `${threadId}, after ${what}`);
}

/** Appends that say `value` where a position of the own thread belongs. */
const strayAppends = (value: number): Readonly<Record<string, AppendRequest>> => ({
  "a head": requestFor(markAt(4, { head: value })),
  "a base": requestFor(recordAt(4, { base: value })),
  "a drop": requestFor(markAt(4, { head: 3 }), { drop: [value] }),
  "a dropBelow": requestFor(recordAt(4), { dropBelow: value }),
  "a replacement": requestFor(markAt(4, { head: 3 }), { replace: [recordAt(value, { base: 1, head: 1 })] }),
  "a replacement's head": requestFor(markAt(4, { head: 3 }), { replace: [recordAt(2, { head: value })] }),
  "a replacement's base": requestFor(markAt(4, { head: 3 }), { replace: [recordAt(2, { base: value })] }),
  "an expected tail": requestFor(recordAt(4), { expected: value }),
});

export const positionCases: readonly ThreadLogCase[] = threadLogCasesOf("positions", [
  {
    name: "an append whose numbers point outside its thread is INVALID_ARGUMENT, and no thread changes",
    run: async ({ subject }) => {
      const threads = await withNeighbours(subject);
      for (const value of STRAY_NUMBERS) {
        for (const [what, request] of Object.entries(strayAppends(value))) {
          await failsWith("INVALID_ARGUMENT", () => subject.append("t", request), `${what} of ${value}`);
        }
      }
      await assertUnchanged(subject, threads, "the appends that were refused");
    },
  },
  {
    name: "a record neither replaces nor drops itself, and says of no record that it is its head before it is a checkpoint",
    run: async ({ subject }) => {
      const threads = await withNeighbours(subject);
      const wrong: Readonly<Record<string, AppendRequest>> = {
        "a drop of itself": requestFor(recordAt(4), { drop: [4] }),
        "a replacement of itself": requestFor(recordAt(4), { replace: [recordAt(4)] }),
        "a dropBelow above itself": requestFor(recordAt(4), { dropBelow: 5 }),
        "a base above itself": requestFor(recordAt(4, { base: 5 })),
        "a head above itself": requestFor(recordAt(4, { head: 5 })),
        "a mark that is its own head": requestFor(markAt(4, { head: 4 })),
        "a position that is dropped twice": requestFor(markAt(4, { head: 3 }), { drop: [1, 1] }),
        "a position that is replaced and dropped": requestFor(markAt(4, { head: 3 }), {
          drop: [2],
          replace: [recordAt(2)],
        }),
        "a record that is not behind the tail it expects": requestFor(recordAt(5), { expected: 3 }),
      };
      for (const [what, request] of Object.entries(wrong)) {
        await failsWith("INVALID_ARGUMENT", () => subject.append("t", request), what);
      }
      await assertUnchanged(subject, threads, "the appends that were refused");
    },
  },
  {
    name: "no number in a listing or a removal reaches another thread",
    run: async ({ subject }) => {
      const threads = await withNeighbours(subject);
      for (const value of STRAY_NUMBERS.filter(Number.isSafeInteger)) {
        const listed = await subject.list("t", { before: value, limit: 100 }).catch(() => []);
        assert.ok(listed.length <= 3, `list below ${value} shows ${listed.length} of 3 checkpoints`);
        const removed = await subject.remove("t", placeAt(value)).catch(() => "moved");
        assert.equal(removed, "moved", `a removal at ${value}`);
      }
      await assertUnchanged(subject, threads, "listings and removals");
      await put(subject, "t", recordAt(4), { dropBelow: 4 });
      for (const threadId of NEIGHBOURS) await assertThread(subject, threadId, threads.get(threadId) ?? [], threadId);
    },
  },
]);
