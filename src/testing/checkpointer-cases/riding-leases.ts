import assert from "node:assert/strict";
import { contextOf } from "../../checkpoint/context.ts";
import type { Lease } from "../../checkpoint/lease/lease.ts";
import { RidingLease } from "../../checkpoint/lease/riding-lease.ts";
import { failsWith } from "../expect-failure.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, conversation, growThread, historyOf, loaded } from "./conversations.ts";

const HOUR = 3_600_000;

/** How a run of an agent holds its thread. A checkpointer that is not made of a log has nothing to ride on. */
export const ridingLeaseCases: readonly CheckpointerCase[] = checkpointerCasesOf("leases that ride on saves", [
  {
    name: "a lease rides on saves: taken with one, renewed by the next, given back with the last",
    needs: ["lease", "history"],
    run: async ({ subject }) => {
      const context = contextOf(subject);
      if (context === undefined) return;
      await context.clock.ready();
      for (const existing of [false, true]) {
        const threadId = existing ? "t" : "u";
        let state = existing ? (await growThread(subject, threadId, 1)).state : conversation(0);
        const lease = new RidingLease(context, threadId, { owner: "a run", ttlMs: HOUR });
        for (const [text, ends] of [
          ["taken", false],
          ["renewed", false],
          ["given back", true],
        ] as const) {
          assert.equal(lease.isHeld, text !== "taken", `held before it is ${text}`);
          state = and(state, text);
          await subject.save(state, threadId, { lease: lease.terms(ends) });
          lease.saved(state);
          if (ends) break;
          const refusal = await failsWith(
            "CONFLICT",
            () => subject.save(and(state, "lost"), threadId),
            "a save beside it",
          );
          assert.match(refusal.message, /a run of an agent holds it \(a run, until/, "the refusal says who holds it");
        }
        lease.end();
        await subject.save(and(state, "free"), threadId);
      }
    },
  },
  {
    name: "a lease that rides on saves is marked where there is nothing to save, and leaves one mark",
    needs: ["lease", "history"],
    run: async ({ subject }) => {
      const context = contextOf(subject);
      if (context === undefined) return;
      await context.clock.ready();
      const { state } = await growThread(subject, "t", 1);
      const seqOf = async (): Promise<number> => (await context.log.tail("t"))?.entry.seq ?? 0;
      const [lease, other] = [1, 2].map(() => new RidingLease(context, "t", { ttlMs: HOUR }));
      await lease?.mark(state, false);
      await failsWith("CONFLICT", async () => other?.mark(await loaded(subject, "t"), false), "a second mark");
      for (let count = 0; count < 3; count++) await lease?.mark(state, false);
      assert.equal(await seqOf(), 5, "each mark is a write");
      assert.equal((await context.log.readTail("t"))?.records.length, 2, "and takes the place of the one before");
      await lease?.mark(state, true);
      assert.equal(lease?.isHeld, false);
      lease?.end();
      await other?.mark(await loaded(subject, "t"), false);
      assert.equal(other?.isHeld, true, "who was refused gets it then");
      await other?.mark(await loaded(subject, "t"), true);
      other?.end();
      assert.equal((await historyOf(subject, "t")).length, 1, "marks are no checkpoints");
    },
  },
  {
    name: "of two saves that take the lease at once, one does, and nothing of the other is written",
    needs: ["lease", "history"],
    run: async ({ subject }) => {
      const context = contextOf(subject);
      if (context === undefined) return;
      await context.clock.ready();
      await growThread(subject, "t", 1);
      const states = await Promise.all([1, 2].map(async (n) => and(await loaded(subject, "t"), `run ${n}`)));
      const leases = states.map(() => new RidingLease(context, "t", { ttlMs: HOUR }));
      const outcomes = await Promise.allSettled(
        states.map((state, index) => subject.save(state, "t", { lease: leases[index]?.terms(false) as Lease })),
      );
      assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
      assert.equal((await loaded(subject, "t")).messages.length, 2);
      for (const lease of leases) lease.end();
    },
  },
]);
