import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import type { Fixture } from "../conformance-case.ts";
import { failsWith } from "../expect-failure.ts";
import { passTime } from "../manual-clock.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, assertNoThread, conversation, growThread, loaded } from "./conversations.ts";

/**
 * Looks at a thread before its end. A slow machine may not get there in time, by a clock that a test cannot move: then
 * again, with a thread that ends later. Returns the thread, and how long it was given.
 */
async function livesFor(
  fixture: Fixture<BaseCheckpointer>,
  seconds: number,
  look: (threadId: string) => Promise<void>,
): Promise<{ readonly threadId: string; readonly ttlSeconds: number }> {
  for (let ttlSeconds = seconds; ; ttlSeconds *= 4) {
    const [threadId, began] = [`t ${ttlSeconds}`, performance.now()];
    await fixture.subject.save(conversation(1), threadId, { ttlSeconds });
    try {
      await look(threadId);
      return { threadId, ttlSeconds };
    } catch (error) {
      const wasInTime = fixture.clock !== undefined || performance.now() - began < ttlSeconds * 1000;
      if (wasInTime || ttlSeconds > 60) throw error;
    }
  }
}

export const expiringCases: readonly CheckpointerCase[] = checkpointerCasesOf("expiry", [
  {
    name: "a thread with an end is gone after it, and one without stays",
    needs: ["ttl"],
    run: async (fixture) => {
      const { subject } = fixture;
      await subject.save(conversation(1), "stays");
      const { threadId, ttlSeconds } = await livesFor(fixture, 1, async (id) =>
        assert.equal(await subject.exists(id), true),
      );
      await passTime(fixture, ttlSeconds * 1000 + 100);
      for (let waited = 0; waited < 5000 && (await subject.exists(threadId)); waited += 100) await sleep(100);
      await assertNoThread(subject, threadId);
      assert.equal(await subject.exists("stays"), true);
    },
  },
  {
    name: "a copy and a fork end with their source, and those of a thread without an end have no end",
    needs: ["ttl", "branching"],
    run: async (fixture) => {
      const { subject } = fixture;
      await subject.save(conversation(1), "stays");
      await subject.copyThread("stays", "copy that stays");
      await subject.fork("stays", "fork that stays");
      const { threadId: source, ttlSeconds } = await livesFor(fixture, 3, async (id) => {
        await subject.copyThread(id, `copy of ${id}`);
        await subject.fork(id, `fork of ${id}`);
        for (const what of ["copy", "fork"]) assert.equal(await subject.exists(`${what} of ${id}`), true, what);
      });
      await passTime(fixture, ttlSeconds * 1000 + 100);
      for (const threadId of [source, `copy of ${source}`, `fork of ${source}`]) {
        for (let waited = 0; waited < 5000 && (await subject.exists(threadId)); waited += 100) await sleep(100);
        await assertNoThread(subject, threadId);
      }
      for (const threadId of ["stays", "copy that stays", "fork that stays"]) {
        assert.equal(await subject.exists(threadId), true, threadId);
      }
    },
  },
  {
    name: "every save with an end moves it",
    needs: ["ttl", "clock"],
    run: async (fixture) => {
      const { subject } = fixture;
      const { state } = await growThread(subject, "t", 1, () => ({ ttlSeconds: 10 }));
      await passTime(fixture, 8000);
      await subject.save(and(state, "message 2"), "t", { ttlSeconds: 10 });
      await passTime(fixture, 8000);
      assert.equal((await loaded(subject, "t")).messages.length, 2);
      await passTime(fixture, 3000);
      await assertNoThread(subject, "t");
    },
  },
  {
    name: "a late writer brings nothing of an expired thread back",
    needs: ["ttl", "clock", "conditionalSave"],
    run: async (fixture) => {
      const { subject } = fixture;
      const { state } = await growThread(subject, "t", 2, () => ({ ttlSeconds: 10 }));
      await passTime(fixture, 11_000);
      await failsWith("CONFLICT", () => subject.save(and(state, "late"), "t"), "a save after the end");
      await assertNoThread(subject, "t");
      await subject.save(conversation(1), "t");
      assert.equal((await loaded(subject, "t")).messages.length, 1);
    },
  },
  {
    name: "an end that makes no sense is INVALID_ARGUMENT, and nothing is written",
    needs: ["ttl"],
    run: async ({ subject }) => {
      for (const wrong of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, "60", null]) {
        const ttlSeconds = wrong as number;
        await failsWith("INVALID_ARGUMENT", () => subject.save(conversation(1), "t", { ttlSeconds }), `ttl ${wrong}`);
      }
      await assertNoThread(subject, "t");
    },
  },
]);
