import assert from "node:assert/strict";
import { contextOf } from "../../checkpoint/context.ts";
import type { Lease } from "../../checkpoint/lease/lease.ts";
import { failsWith, failureOf } from "../expect-failure.ts";
import { passTime } from "../manual-clock.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, assertHistory, assertNoThread, conversation, growThread, historyOf, loaded } from "./conversations.ts";

const HOUR = 3_600_000;

export const leasingCases: readonly CheckpointerCase[] = checkpointerCasesOf("leases", [
  {
    name: "the holder of a lease saves, and the saves of others are refused without writing anything",
    needs: ["lease", "history"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 1);
      const second = await subject.withLease(
        "t",
        async (lease) => {
          const error = await failsWith(
            "CONFLICT",
            () => subject.save(and(state, "lost"), "t"),
            "a save without the lease",
          );
          assert.match(error.message, /holder/, "the refusal names the holder");
          return subject.save(and(state, "message 2"), "t", { lease });
        },
        { owner: "the holder" },
      );
      await assertHistory(subject, "t", [
        [second, 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "a lease that is held cannot be taken",
    needs: ["lease"],
    run: async ({ subject }) => {
      await growThread(subject, "t", 1);
      await subject.withLease("t", async () => {
        await failsWith("CONFLICT", () => subject.withLease("t", async () => "taken"), "a second lease");
      });
      assert.equal(await subject.withLease("t", async () => "free"), "free");
    },
  },
  {
    name: "a lease that was given back leaves the thread free and its history as it was",
    needs: ["lease", "history"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 2);
      assert.equal(await subject.withLease("t", async () => 42), 42, "the answer of the work");
      const third = await subject.save(and(state, "message 3"), "t");
      await assertHistory(subject, "t", [
        [third, 3],
        [ids[1], 2],
        [ids[0], 1],
      ]);
    },
  },
  {
    name: "work that fails gives the lease back and fails with its own error",
    needs: ["lease"],
    run: async ({ subject }) => {
      await growThread(subject, "t", 1);
      const broken = new Error("the work is broken");
      const error = await failureOf(() => subject.withLease("t", () => Promise.reject(broken)), "withLease");
      assert.equal(error, broken);
      assert.equal(await subject.withLease("t", async () => "free"), "free");
    },
  },
  {
    name: "a thread that does not exist can be leased, and does not exist for it",
    needs: ["lease"],
    run: async ({ subject }) => {
      await subject.withLease("t", async () => assertNoThread(subject, "t"));
      await assertNoThread(subject, "t");
      await subject.withLease("t", async (lease) => {
        await failsWith("CONFLICT", () => subject.save(conversation(1), "t"), "a creation without the lease");
        await subject.save(conversation(1), "t", { lease });
      });
      assert.equal((await loaded(subject, "t")).messages.length, 1);
    },
  },
  {
    name: "several saves under one lease follow one another",
    needs: ["lease", "history"],
    run: async ({ subject }) => {
      await subject.withLease("t", async (lease) => {
        await growThread(subject, "t", 4, () => ({ lease }));
        await subject.save(and(await loaded(subject, "t"), "message 5"), "t", { lease });
      });
      assert.equal((await historyOf(subject, "t")).length, 5);
      assert.equal((await loaded(subject, "t")).messages.length, 5);
    },
  },
  {
    name: "a lease that ran out can be taken, and its old holder is fenced off",
    needs: ["lease", "clock"],
    run: async (fixture) => {
      const { subject } = fixture;
      const { state } = await growThread(subject, "t", 1);
      await subject.withLease(
        "t",
        async (old) => {
          await passTime(fixture, 2 * HOUR);
          await subject.withLease(
            "t",
            async (fresh) => {
              assert.notEqual(fresh.token, old.token, "each holding has a token of its own");
              const late = () => subject.save(and(state, "late"), "t", { lease: old });
              await failsWith("CONFLICT", late, "a save under the lease that ran out");
              await subject.save(and(state, "message 2"), "t", { lease: fresh });
              await failsWith("CONFLICT", late, "still refused");
            },
            { ttlMs: HOUR },
          );
          await failsWith("CONFLICT", () => subject.save(and(state, "late"), "t", { lease: old }), "and after it");
        },
        { ttlMs: HOUR },
      );
      assert.equal((await loaded(subject, "t")).messages.length, 2);
    },
  },
  {
    name: "a lease that ran out stops no writer, and a save without one fences its holder off",
    needs: ["lease", "clock"],
    run: async (fixture) => {
      const { subject } = fixture;
      const { state } = await growThread(subject, "t", 1);
      await subject.withLease(
        "t",
        async (lease) => {
          await passTime(fixture, 2 * HOUR);
          const next = and(state, "message 2");
          await subject.save(next, "t");
          await failsWith("CONFLICT", () => subject.save(and(next, "late"), "t", { lease }), "the old holder");
        },
        { ttlMs: HOUR },
      );
      assert.equal((await loaded(subject, "t")).messages.length, 2);
    },
  },
  {
    name: "the holder's own saves renew its lease",
    needs: ["lease", "clock"],
    run: async (fixture) => {
      const { subject } = fixture;
      await subject.withLease(
        "t",
        async (lease) => {
          let state = conversation(0);
          for (let index = 1; index <= 4; index++) {
            await passTime(fixture, HOUR * 0.7);
            state = and(state, `message ${index}`);
            await subject.save(state, "t", { lease });
          }
          await failsWith("CONFLICT", () => subject.withLease("t", async () => "taken"), "another lease");
        },
        { ttlMs: HOUR },
      );
      assert.equal((await loaded(subject, "t")).messages.length, 4);
    },
  },
  {
    name: "a lease of one thread is no right to another, and an invented one is no right at all",
    needs: ["lease", "history"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 1);
      await subject.withLease("u", async (ofU) => {
        await failsWith("CONFLICT", () => subject.save(and(state, "lost"), "t", { lease: ofU }), "a lease of u");
        const invented: Lease = { ...ofU, threadId: "t", token: "invented" };
        await failsWith("CONFLICT", () => subject.save(and(state, "lost"), "t", { lease: invented }), "invented");
      });
      await assertHistory(subject, "t", [[ids[0], 1]]);
    },
  },
  {
    name: "of many who want a lease at once each gets it in turn",
    needs: ["lease", "history"],
    run: async ({ subject }) => {
      await subject.save(conversation(0), "t");
      let inside = 0;
      const work = (): Promise<void> =>
        subject.withLease("t", async (lease) => {
          assert.equal(++inside, 1, "one at a time");
          const state = await loaded(subject, "t");
          await subject.save(and(state, `message ${state.messages.length + 1}`), "t", { lease });
          inside--;
        });
      const outcomes = await Promise.allSettled(Array.from({ length: 6 }, work));
      const done = outcomes.filter(({ status }) => status === "fulfilled").length;
      assert.ok(done >= 1, "at least one got it");
      assert.equal((await loaded(subject, "t")).messages.length, done, "and only those who got it wrote");
    },
  },
  {
    name: "a lease of a hundred years or for ever is held, and renewed no more often than needed",
    needs: ["lease", "history"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 1);
      for (const ttlMs of [Number.POSITIVE_INFINITY, 1e13, 6.5e9]) {
        await subject.withLease(
          "t",
          async (lease) => {
            const tail = () => contextOf(subject)?.log.tail("t");
            const before = await tail();
            await new Promise((resolve) => setTimeout(resolve, 50));
            assert.deepEqual((await tail())?.entry.seq, before?.entry.seq, `ttlMs ${ttlMs}: nothing was renewed`);
            await failsWith(
              "CONFLICT",
              () => subject.save(and(state, "lost"), "t"),
              `ttlMs ${ttlMs}: a save without it`,
            );
            await failsWith("CONFLICT", () => subject.withLease("t", async () => 1), `ttlMs ${ttlMs}: a second lease`);
            assert.equal(lease.signal.aborted, false);
          },
          { ttlMs },
        );
      }
      await subject.save(and(state, "message 2"), "t");
    },
  },
  {
    name: "a copy of a leased thread is free, and the lease is no right to it",
    needs: ["lease", "branching", "history"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 1);
      await subject.withLease("t", async (lease) => {
        await subject.save(and(state, "message 2"), "t", { lease });
        assert.equal(await subject.copyThread("t", "u"), true);
        await subject.fork("t", "v");
        for (const threadId of ["u", "v"]) {
          const copied = await loaded(subject, threadId);
          await failsWith(
            "CONFLICT",
            () => subject.save(and(copied, "lost"), threadId, { lease }),
            "the source's lease",
          );
          await subject.save(and(copied, "message 3"), threadId);
          await subject.withLease(threadId, async (own) => {
            await subject.save(and(await loaded(subject, threadId), "message 4"), threadId, { lease: own });
            await failsWith("CONFLICT", () => subject.save(and(state, "lost"), threadId), "a save without its lease");
          });
          assert.equal((await loaded(subject, threadId)).messages.length, 4, threadId);
        }
        await subject.save(and(await loaded(subject, "t"), "message 3"), "t", { lease });
      });
    },
  },
  {
    name: "a thread that is nothing but a lease is nothing to copy or to fork",
    needs: ["lease", "branching", "history"],
    run: async ({ subject }) => {
      await subject.withLease("t", async () => {
        assert.equal(await subject.copyThread("t", "u"), false);
        await failsWith("NOT_FOUND", () => subject.fork("t", "u"), "fork");
      });
      await assertNoThread(subject, "u");
      await subject.save(conversation(1), "u");
      assert.equal((await loaded(subject, "u")).messages.length, 1);
    },
  },
  {
    name: "a lease whose terms make no sense is INVALID_ARGUMENT",
    needs: ["lease"],
    run: async ({ subject }) => {
      for (const ttlMs of [0, -1, Number.NaN, "soon" as unknown as number]) {
        await failsWith("INVALID_ARGUMENT", () => subject.withLease("t", async () => 1, { ttlMs }), `ttlMs ${ttlMs}`);
      }
      for (const waitMs of [-1, Number.NaN, "long" as unknown as number]) {
        await failsWith(
          "INVALID_ARGUMENT",
          () => subject.withLease("t", async () => 1, { waitMs }),
          `waitMs ${waitMs}`,
        );
      }
      for (const owner of ["", "a\nb", 5 as unknown as string]) {
        await failsWith("INVALID_ARGUMENT", () => subject.withLease("t", async () => 1, { owner }), `owner ${owner}`);
      }
      await assertNoThread(subject, "t");
    },
  },
]);
