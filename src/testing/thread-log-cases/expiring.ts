import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";
import type { Fixture } from "../conformance-case.ts";
import { livesBriefly, passTime } from "../manual-clock.ts";
import { assertAbsent, assertThread, grow, put, recordAt, refused, requestFor } from "./sample-records.ts";
import { recordSaying, wordsOf } from "./speaking-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

/** Short, because some storage systems expire by a clock that a test cannot move. */
const SECOND = 1000;

/** Lets the time pass, and allows a storage system that tidies up now and then a little more. */
async function untilExpired(fixture: Fixture<ThreadLog>, threadId: string, ms: number): Promise<void> {
  await passTime(fixture, ms);
  for (let waited = 0; waited < 5000 && fixture.clock === undefined; waited += 100) {
    if ((await fixture.subject.tail(threadId)) === undefined) return;
    await sleep(100);
  }
}

export const expiringCases: readonly ThreadLogCase[] = threadLogCasesOf("expiry", [
  {
    name: "an expired thread is gone from every answer",
    needs: ["ttl"],
    run: async (fixture) => {
      const { subject } = fixture;
      await grow(subject, "stays", 1);
      const { name: threadId, ttlMs } = await livesBriefly(fixture, SECOND, async (id, life) => {
        const record = await put(subject, id, recordAt(1), { ttlMs: life });
        await assertThread(subject, id, [record], "before its time");
      });
      await untilExpired(fixture, threadId, ttlMs + 1);
      await assertAbsent(subject, threadId, "after its time");
      assert.equal(await subject.copy(threadId, "u", "second"), "no source");
      assert.equal(await subject.remove(threadId), "absent");
      await assertThread(subject, "stays", [recordAt(1)], "a thread without an end");
    },
  },
  {
    name: "a late append brings nothing of an expired thread back, and a new thread holds nothing of it",
    needs: ["ttl"],
    run: async (fixture) => {
      const { subject } = fixture;
      await grow(subject, "t", 2);
      await put(subject, "t", recordAt(3), { ttlMs: SECOND });
      await untilExpired(fixture, "t", SECOND + 1);
      refused(await subject.append("t", requestFor(recordAt(4))), "an append to an expired thread");
      await assertAbsent(subject, "t", "after the late append");
      const first = await put(subject, "t", recordAt(1, { writeId: "anew" }), { generation: "second" });
      await assertThread(subject, "t", [first], "the new thread");
      await passTime(fixture, SECOND);
      await assertThread(subject, "t", [first], "the new thread, which has no end");
    },
  },
  {
    name: "an append moves the end of its thread, and one that names none leaves it",
    needs: ["ttl", "clock"],
    run: async (fixture) => {
      const { subject } = fixture;
      await put(subject, "t", recordAt(1), { ttlMs: SECOND });
      await put(subject, "t", recordAt(2), { ttlMs: 10 * SECOND });
      await put(subject, "t", recordAt(3));
      await passTime(fixture, 5 * SECOND);
      await assertThread(
        subject,
        "t",
        [1, 2, 3].map((seq) => recordAt(seq)),
        "before the later end",
      );
      await passTime(fixture, 6 * SECOND);
      await assertAbsent(subject, "t", "after the later end");
    },
  },
  {
    name: "the tail tells how long its thread has to live, and a copy has as long",
    needs: ["ttl"],
    run: async ({ subject }) => {
      await put(subject, "t", recordAt(1), { ttlMs: 3_600_000 });
      await put(subject, "t", recordAt(2));
      await grow(subject, "stays", 1);
      await subject.copy("t", "u", "second");
      await subject.copy("stays", "v", "second");
      for (const threadId of ["t", "u"]) {
        const { ttlMs = 0 } = (await subject.tail(threadId)) ?? {};
        assert.ok(ttlMs > 3_540_000 && ttlMs <= 3_600_000, `${threadId} has ${ttlMs} ms left`);
      }
      for (const threadId of ["stays", "v"]) assert.equal((await subject.tail(threadId))?.ttlMs, undefined, threadId);
    },
  },
  {
    name: "an expired thread is found by no query",
    needs: ["ttl", "search", "metadataQuery"],
    run: async (fixture) => {
      const { subject } = fixture;
      const record = recordSaying(1, "word", { metadata: '{"a":1}' });
      await put(subject, "t", record, { ttlMs: SECOND });
      await untilExpired(fixture, "t", SECOND + 1);
      await subject.catchUp(wordsOf);
      assert.deepEqual((await subject.search(["word"], { limit: 9 })).hits, []);
      assert.deepEqual((await subject.queryMetadata("a", "1", { limit: 9 })).items, []);
    },
  },
]);
