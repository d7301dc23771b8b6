import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { failsWith } from "../expect-failure.ts";
import { livesBriefly, passTime } from "../manual-clock.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, assertNoThread, conversation, growThread, loaded } from "./conversations.ts";

export const expiringCases: readonly CheckpointerCase[] = checkpointerCasesOf("expiry", [
  {
    name: "a thread with an end is gone after it, and one without stays",
    needs: ["ttl"],
    run: async (fixture) => {
      const { subject } = fixture;
      await subject.save(conversation(1), "stays");
      const { name: threadId, ttlMs } = await livesBriefly(fixture, 1000, async (id, life) => {
        await subject.save(conversation(1), id, { ttlSeconds: life / 1000 });
        assert.equal(await subject.exists(id), true);
      });
      await passTime(fixture, ttlMs + 100);
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
      const { name: source, ttlMs } = await livesBriefly(fixture, 3000, async (id, life) => {
        await subject.save(conversation(1), id, { ttlSeconds: life / 1000 });
        await subject.copyThread(id, `copy of ${id}`);
        await subject.fork(id, `fork of ${id}`);
        for (const what of ["copy", "fork"]) assert.equal(await subject.exists(`${what} of ${id}`), true, what);
      });
      await passTime(fixture, ttlMs + 100);
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
