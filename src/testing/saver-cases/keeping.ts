import assert from "node:assert/strict";
import { failsWith } from "../expect-failure.ts";
import { assertSame } from "../same-value.ts";
import { idsOf, putLine, type SaverCase, saved, saverCasesOf, writesOf } from "./saver-case.ts";

const dataOf = (id: string) => ({
  values: { list: ["shared by all of them, at length", `${id}, at some length`] },
  at: id,
});

export const keepingCases: readonly SaverCase[] = saverCasesOf("threads", [
  {
    name: "a deleted thread is gone with its checkpoints, namespaces and writes, and others stay",
    run: async ({ subject }) => {
      for (const threadId of ["t", "t2", "t:2", "t/2"]) {
        await putLine(subject, threadId, ["c1", "c2"], { dataOf });
        await putLine(subject, threadId, ["c1"], { checkpointNs: "child" });
        await subject.putWrites({ threadId, checkpointId: "c2", taskId: "a", writes: [["x", 1]] });
      }
      assert.equal(await subject.deleteThread("t"), true);
      for (const checkpointNs of ["", "child"])
        assert.equal(await subject.get({ threadId: "t", checkpointNs }), undefined);
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t" })), []);
      for (const threadId of ["t2", "t:2", "t/2"]) {
        const found = await saved(subject, { threadId });
        assertSame(found.checkpointData, dataOf("c2"), threadId);
        assertSame(writesOf(found), [["a", "x", 1]], threadId);
      }
      await putLine(subject, "t", ["c2"]);
      assertSame(writesOf(await saved(subject, { threadId: "t" })), [], "a thread made anew has no old writes");
    },
  },
  {
    name: "deleting a thread that is not there is no error",
    run: async ({ subject }) => {
      assert.equal(await subject.deleteThread("never"), false);
      await putLine(subject, "t", ["c1"]);
      assert.equal(await subject.deleteThread("*"), false);
      assert.equal((await saved(subject, { threadId: "t" })).checkpointId, "c1");
    },
  },
  {
    name: "a copy has the whole history, namespaces and writes, and goes its own way",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1", "c2"], { dataOf, metadata: { run_id: "r" } });
      await putLine(subject, "t", ["c1"], { checkpointNs: "child" });
      await subject.putWrites({ threadId: "t", checkpointId: "c2", taskId: "a", writes: [["x", 1]] });
      assert.equal(await subject.copyThread("t", "u"), true);
      await putLine(subject, "u", ["c3"], { parentId: "c2", dataOf });
      await subject.deleteThread("t");
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "u", checkpointNs: "" })), ["c3", "c2", "c1"]);
      const second = await saved(subject, { threadId: "u", checkpointId: "c2" });
      assert.deepEqual([second.threadId, second.parentId], ["u", "c1"]);
      assertSame(second.metadata, { run_id: "r" }, "metadata");
      assertSame(second.checkpointData, dataOf("c2"), "data");
      assertSame(writesOf(second), [["a", "x", 1]], "writes");
      assert.equal((await saved(subject, { threadId: "u", checkpointNs: "child" })).checkpointId, "c1");
    },
  },
  {
    name: "copying what is not there says so, and a target that exists is refused",
    run: async ({ subject }) => {
      assert.equal(await subject.copyThread("never", "u"), false);
      await putLine(subject, "t", ["c1"]);
      await putLine(subject, "u", ["c2"]);
      await failsWith("CONFLICT", () => subject.copyThread("t", "u"), "copy over a thread");
      assert.equal((await saved(subject, { threadId: "u" })).checkpointId, "c2");
    },
  },
  {
    name: "threads are listed once, whatever namespaces they have, by prefix and in pages",
    run: async ({ subject }) => {
      for (const threadId of ["b/1", "a/1", "a/2", "a"]) {
        await putLine(subject, threadId, ["c1", "c2"]);
        await putLine(subject, threadId, ["c1"], { checkpointNs: "child" });
      }
      assert.deepEqual([...(await subject.listThreads())].sort(), ["a", "a/1", "a/2", "b/1"]);
      assert.deepEqual([...(await subject.listThreads({ prefix: "a/" }))].sort(), ["a/1", "a/2"]);
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const found = await subject.listThreads({ limit: 1, ...(cursor !== undefined && { cursor }) });
        seen.push(...found);
        cursor = found.cursor;
      } while (cursor !== undefined);
      assert.deepEqual(seen.sort(), ["a", "a/1", "a/2", "b/1"]);
    },
  },
  {
    name: "pruning keeps the newest of each namespace, whole and with their writes",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1", "c2", "c3", "c4"], { dataOf });
      await putLine(subject, "t", ["d1", "d2"], { checkpointNs: "child", dataOf });
      await putLine(subject, "u", ["c1", "c2"], { dataOf });
      for (const id of ["c1", "c3", "c4"]) {
        await subject.putWrites({ threadId: "t", checkpointId: id, taskId: "a", writes: [["x", id]] });
      }
      assertSame(await subject.prune({ threadId: "t", keepLast: 2 }), { threads: 1, checkpoints: 2 }, "report");
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t", checkpointNs: "" })), ["c4", "c3"]);
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t", checkpointNs: "child" })), ["d2", "d1"]);
      for (const id of ["c3", "c4"]) {
        const found = await saved(subject, { threadId: "t", checkpointId: id });
        assertSame(found.checkpointData, dataOf(id), id);
        assertSame(writesOf(found), [["a", "x", id]], id);
      }
      assert.equal(await subject.get({ threadId: "t", checkpointId: "c1" }), undefined);
      assert.equal((await subject.listCheckpoints({ threadId: "u" })).length, 2);
      await putLine(subject, "t", ["c5"], { parentId: "c4", dataOf });
      assertSame((await saved(subject, { threadId: "t" })).checkpointData, dataOf("c5"), "the thread continues");
      assertSame(await subject.prune({ keepLast: 1 }), { threads: 2, checkpoints: 4 }, "of all threads");
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "u" })), ["c2"]);
    },
  },
  {
    name: "pruning what is few enough, or not there, takes nothing",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1", "c2"]);
      assertSame(await subject.prune({ threadId: "t", keepLast: 5 }), { threads: 0, checkpoints: 0 }, "few");
      assertSame(await subject.prune({ threadId: "never", keepLast: 1 }), { threads: 0, checkpoints: 0 }, "absent");
      assert.equal((await subject.listCheckpoints({ threadId: "t" })).length, 2);
    },
  },
  {
    name: "pruning by age takes what was put before, and never the newest",
    needs: ["clock"],
    run: async ({ subject, clock }) => {
      await putLine(subject, "t", ["c1", "c2"], { dataOf });
      clock?.advance(10_000);
      await putLine(subject, "t", ["c3"], { parentId: "c2", dataOf });
      await putLine(subject, "u", ["c1"]);
      clock?.advance(10_000);
      const cut = new Date((clock?.now() ?? 0) - 15_000);
      assertSame(await subject.prune({ olderThan: cut }), { threads: 1, checkpoints: 2 }, "report");
      assertSame((await saved(subject, { threadId: "t" })).checkpointData, dataOf("c3"), "c3");
      assertSame(
        await subject.prune({ olderThan: new Date(clock?.now() ?? 0) }),
        { threads: 0, checkpoints: 0 },
        "newest",
      );
    },
  },
  {
    name: "the checkpoints of a run can be deleted, and the others stay whole",
    run: async ({ subject }) => {
      const put = (threadId: string, id: string, runId: unknown, parentId?: string) =>
        putLine(subject, threadId, [id], {
          dataOf,
          metadata: { run_id: runId },
          ...(parentId !== undefined && { parentId }),
        });
      await put("t", "c1", "r1");
      await put("t", "c2", "r2", "c1");
      await put("t", "c3", "r1", "c2");
      await put("t", "c4", undefined, "c3");
      await put("u", "c1", "r2");
      await subject.putWrites({ threadId: "t", checkpointId: "c2", taskId: "a", writes: [["x", 1]] });
      assertSame(await subject.deleteForRuns({ runIds: ["r2", "r9"] }), { threads: 2, checkpoints: 2 }, "report");
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t" })), ["c4", "c3", "c1"]);
      assert.equal(await subject.get({ threadId: "u" }), undefined);
      for (const id of ["c1", "c3", "c4"]) {
        assertSame((await saved(subject, { threadId: "t", checkpointId: id })).checkpointData, dataOf(id), id);
      }
      assertSame(await subject.deleteForRuns({ runIds: [] }), { threads: 0, checkpoints: 0 }, "no runs");
      assertSame(await subject.deleteForRuns({ runIds: ["undefined"] }), { threads: 0, checkpoints: 0 }, "no run id");
      await put("t", "c2", "r3", "c1");
      assertSame(writesOf(await saved(subject, { threadId: "t", checkpointId: "c2" })), [], "writes went with it");
    },
  },
  {
    name: "deleting the newest for its run makes the one before it the newest",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1", "c2"], { dataOf });
      await putLine(subject, "t", ["c3"], { parentId: "c2", metadata: { run_id: "r" } });
      await subject.deleteForRuns({ threadId: "t", runIds: ["r"] });
      const newest = await saved(subject, { threadId: "t" });
      assertSame(newest.checkpointData, dataOf("c2"), "newest");
    },
  },
]);
