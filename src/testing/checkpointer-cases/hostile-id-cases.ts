import assert from "node:assert/strict";
import { failsWith } from "../expect-failure.ts";
import { HOSTILE_IDS, REFUSED_IDS, shown } from "../hostile-ids.ts";
import { assertSame } from "../same-value.ts";
import { type CheckpointerCase, checkpointerCasesOf, detailed } from "./checkpointer-case.ts";
import { and, assertNoThread, conversation, historyOf, loaded, textsOf } from "./conversations.ts";
import { callsWithCheckpointId, callsWithThreadId } from "./every-method.ts";

const literally = (id: string): string => id.replace(/[\\*?]/g, "\\$&");

export const hostileIdCases: readonly CheckpointerCase[] = checkpointerCasesOf("hostile ids", [
  {
    name: "every hostile id is a thread of its own, in every reading method",
    run: async ({ subject }) => {
      for (const [index, id] of HOSTILE_IDS.entries()) {
        await subject.save(conversation(1, `thread ${index}`), id, { checkpointId: `checkpoint ${index}` });
      }
      for (const [index, id] of HOSTILE_IDS.entries()) {
        assertSame(textsOf(await loaded(subject, id)), [`thread ${index} 1`], shown(id));
        assert.deepEqual(await historyOf(subject, id), [`checkpoint ${index}`], shown(id));
        assert.equal(await subject.exists(id), true, shown(id));
        assert.equal(
          (await subject.diff(id, `checkpoint ${index}`, `checkpoint ${index}`)).messages.shared,
          1,
          shown(id),
        );
        assert.equal(await subject.exists(id, { checkpointId: `checkpoint ${index + 1}` }), false, shown(id));
      }
    },
  },
  {
    name: "a thread with a hostile id is saved to again, and deleted, without touching the others",
    run: async ({ subject }) => {
      for (const id of HOSTILE_IDS) await subject.save(conversation(1, "thread"), id);
      for (const id of HOSTILE_IDS) await subject.save(and(await loaded(subject, id), id), id);
      for (const [index, id] of HOSTILE_IDS.entries())
        if (index % 2 === 1) assert.ok(await subject.delete(id), shown(id));
      for (const [index, id] of HOSTILE_IDS.entries()) {
        if (index % 2 === 1) assert.equal(await subject.load(id), undefined, shown(id));
        else assertSame(textsOf(await loaded(subject, id)), ["thread 1", id], shown(id));
      }
    },
  },
  {
    name: "every hostile id is listed as it was given, and found by its own pattern alone",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      for (const id of HOSTILE_IDS) await subject.save(conversation(1), id);
      const listed = await subject.listThreads({ limit: 1000 });
      assert.deepEqual([...listed].sort(), [...HOSTILE_IDS].sort());
      for (const id of HOSTILE_IDS) {
        assert.deepEqual([...(await subject.listThreads({ pattern: literally(id), limit: 1000 }))], [id], shown(id));
      }
    },
  },
  {
    name: "every hostile id can be forked, copied, leased and measured",
    needs: ["branching", "lease", "details"],
    run: async ({ subject }) => {
      await subject.save(conversation(1), "the source");
      for (const [index, id] of HOSTILE_IDS.entries()) {
        await subject.copyThread("the source", id);
        const head = await loaded(subject, id);
        await subject.withLease(id, (lease) => subject.save(and(head, id), id, { lease }));
        await subject.fork(id, `fork ${index}`);
        await subject.copyThread(id, `copy ${index}`);
        assert.equal((await loaded(subject, `copy ${index}`)).messages.length, 2, shown(id));
        assert.equal((await detailed(subject).lineage(`fork ${index}`))[0]?.threadId, id, shown(id));
        assert.equal((await detailed(subject).stats(id))?.checkpoints, 2, shown(id));
      }
    },
  },
  {
    name: "every hostile id is a checkpoint of its own",
    needs: ["history"],
    run: async ({ subject }) => {
      let state = conversation(0);
      for (const checkpointId of HOSTILE_IDS) {
        state = and(state, checkpointId);
        assert.equal(await subject.save(state, "t", { checkpointId }), checkpointId);
      }
      assert.deepEqual(await historyOf(subject, "t"), HOSTILE_IDS.toReversed());
      for (const [index, checkpointId] of HOSTILE_IDS.entries()) {
        assert.equal((await loaded(subject, "t", { checkpointId })).messages.length, index + 1, shown(checkpointId));
      }
      for (const checkpointId of HOSTILE_IDS.slice(0, 20)) {
        assert.equal(await subject.delete("t", { checkpointId }), true, shown(checkpointId));
      }
      assert.deepEqual(await historyOf(subject, "t"), HOSTILE_IDS.slice(20).toReversed());
      assert.equal((await loaded(subject, "t")).messages.length, HOSTILE_IDS.length);
    },
  },
  {
    name: "a thread id that cannot be one is INVALID_ARGUMENT everywhere, and nothing is written",
    run: async ({ subject }) => {
      await subject.save(conversation(1), "t");
      for (const { what, id } of [...REFUSED_IDS, { what: "undefined", id: undefined }]) {
        for (const [method, call] of Object.entries(callsWithThreadId(subject))) {
          await failsWith("INVALID_ARGUMENT", () => call(id as string), `${method} with ${what}`);
        }
      }
      await assertNoThread(subject, "target");
      if (subject.capabilities.listThreads) assert.deepEqual([...(await subject.listThreads())], ["t"]);
      assert.equal((await historyOf(subject, "t")).length, 1);
    },
  },
  {
    name: "a checkpoint id that cannot be one is INVALID_ARGUMENT everywhere, and nothing is written",
    run: async ({ subject }) => {
      await subject.save(conversation(1), "t", { checkpointId: "c" });
      for (const { what, id } of REFUSED_IDS) {
        for (const [method, call] of Object.entries(callsWithCheckpointId(subject))) {
          await failsWith("INVALID_ARGUMENT", () => call(id as string), `${method} with ${what}`);
        }
      }
      await assertNoThread(subject, "new");
      await assertNoThread(subject, "target");
      assert.deepEqual(await historyOf(subject, "t"), ["c"]);
    },
  },
  {
    name: "a refusal of an id does not repeat all of it",
    run: async ({ subject }) => {
      const error = await failsWith("INVALID_ARGUMENT", () => subject.load("x".repeat(1024 * 1024)), "a megabyte");
      assert.ok(error.message.length < 1000, `the message is ${error.message.length} characters long`);
    },
  },
]);
