import assert from "node:assert/strict";
import { assertSame } from "../same-value.ts";
import { putLine, type SaverCase, saved, saverCasesOf, writesOf } from "./saver-case.ts";

const DATA = {
  step: 1,
  messages: [{ role: "user", text: "hello" }],
  when: new Date(5),
  none: undefined,
  big: 2n ** 70n,
};

export const puttingCases: readonly SaverCase[] = saverCasesOf("putting", [
  {
    name: "what was put is what get returns, with its metadata and without a parent",
    run: async ({ subject }) => {
      const metadata = { source: "input", step: -1, custom: { tags: ["a", 1] } };
      await subject.put({ threadId: "t", checkpointId: "c1", checkpointData: DATA, metadata });
      const found = await saved(subject, { threadId: "t", checkpointId: "c1" });
      assertSame(found.checkpointData, DATA, "data");
      assertSame(found.metadata, metadata, "metadata");
      assert.equal(found.parentId, undefined);
      assert.deepEqual([found.threadId, found.checkpointNs, found.checkpointId], ["t", "", "c1"]);
      assert.deepEqual(found.pendingWrites, []);
    },
  },
  {
    name: "a checkpoint without metadata has an empty one",
    run: async ({ subject }) => {
      await subject.put({ threadId: "t", checkpointId: "c1", checkpointData: {} });
      const found = await saved(subject, { threadId: "t" });
      assertSame(found.metadata, {}, "metadata");
      assertSame(found.checkpointData, {}, "data");
    },
  },
  {
    name: "a child names its parent, and each keeps its own data",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1", "c2", "c3"]);
      for (const [id, parent] of [
        ["c1", undefined],
        ["c2", "c1"],
        ["c3", "c2"],
      ] as const) {
        const found = await saved(subject, { threadId: "t", checkpointId: id });
        assert.equal(found.parentId, parent);
        assertSame(found.checkpointData, { at: id }, id);
      }
    },
  },
  {
    name: "putting an id again replaces data, metadata and parent",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1", "c2"], { metadata: { round: 1, old: true } });
      await subject.put({ threadId: "t", checkpointId: "c2", checkpointData: { at: "anew" }, metadata: { round: 2 } });
      const found = await saved(subject, { threadId: "t", checkpointId: "c2" });
      assertSame(found.checkpointData, { at: "anew" }, "data");
      assertSame(found.metadata, { round: 2 }, "metadata");
      assert.equal(found.parentId, undefined);
      assert.equal((await subject.listCheckpoints({ threadId: "t" })).length, 2);
    },
  },
  {
    name: "putting a parent anew leaves its children as they were",
    run: async ({ subject }) => {
      const dataOf = (id: string) => ({
        values: { shared: ["long enough to be worth sharing", "and more of it"], at: id },
      });
      await putLine(subject, "t", ["c1", "c2", "c3"], { dataOf });
      await subject.put({ threadId: "t", checkpointId: "c1", checkpointData: { values: { shared: [], at: "anew" } } });
      await subject.put({ threadId: "t", checkpointId: "c2", checkpointData: {}, parentId: "c1" });
      assertSame((await saved(subject, { threadId: "t" })).checkpointData, dataOf("c3"), "c3");
    },
  },
  {
    name: "putting an id again keeps the writes that were made for it",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1"]);
      await subject.putWrites({ threadId: "t", checkpointId: "c1", taskId: "a", writes: [["x", 1]] });
      await putLine(subject, "t", ["c1"]);
      assertSame(writesOf(await saved(subject, { threadId: "t" })), [["a", "x", 1]], "writes");
    },
  },
  {
    name: "members that change, come, go and move between two checkpoints are as they were put",
    run: async ({ subject }) => {
      const versions = [
        { values: { a: 1, b: [1, 2], c: "x" }, seen: {}, top: 1 },
        { values: { a: 1, b: [1, 2, 3], d: null }, seen: { n: { a: 1 } }, top: 1 },
        { seen: { n: { a: 2 } }, values: { d: null, a: 2 }, top: undefined },
        { values: { c: "x", b: [3, 2, 1] }, seen: {}, top: { deep: [[], {}] } },
        { values: [], seen: "text", "": 0 },
      ];
      const dataOf = (id: string) => versions[Number(id)] ?? {};
      await putLine(subject, "t", ["0", "1", "2", "3", "4"], { dataOf });
      for (const id of ["0", "1", "2", "3", "4"]) {
        const found = await saved(subject, { threadId: "t", checkpointId: id });
        assertSame(found.checkpointData, dataOf(id), `checkpoint ${id}`);
      }
    },
  },
  {
    name: "a list that grows, shrinks at both ends, is reordered and emptied is as it was put",
    run: async ({ subject }) => {
      const word = (n: number): string => `element ${n} of a list that is worth sharing`;
      const lists = [[1], [1, 2], [1, 2, 3, 4], [2, 3, 4], [2, 3], [3, 2], [], [4, 1, 1, 1], [1, 2, 3, 4, 5]];
      const dataOf = (id: string) => ({ values: { list: (lists[Number(id)] ?? []).map(word) } });
      const ids = lists.map((_, index) => String(index));
      await putLine(subject, "t", ids, { dataOf });
      for (const id of ids) {
        const found = await saved(subject, { threadId: "t", checkpointId: id });
        assertSame(found.checkpointData, dataOf(id), `checkpoint ${id}`);
      }
    },
  },
  {
    name: "what the caller changes after put returned is not stored, and what get returned is the caller's own",
    run: async ({ subject }) => {
      const data = { values: { list: [{ text: "as it was when it was put, at some length" }] } };
      await subject.put({ threadId: "t", checkpointId: "c1", checkpointData: data });
      const before = structuredClone(data);
      (data.values.list[0] as { text: string }).text = "changed";
      assertSame((await saved(subject, { threadId: "t" })).checkpointData, before, "after the caller's change");
      const [first, second] = [await saved(subject, { threadId: "t" }), await saved(subject, { threadId: "t" })];
      assert.notEqual(first.checkpointData, second.checkpointData);
    },
  },
  {
    name: "what the caller changes while put is under way is not stored",
    run: async ({ subject }) => {
      const data = { values: { list: [{ text: "as it was when it was put, at some length" }] } };
      const before = structuredClone(data);
      const putting = subject.put({ threadId: "t", checkpointId: "c1", checkpointData: data });
      data.values.list.push({ text: "pushed while the append was under way" });
      (data.values.list[0] as { text: string }).text = "changed";
      await putting;
      assertSame((await saved(subject, { threadId: "t" })).checkpointData, before, "data");
    },
  },
  {
    name: "an element that was changed in place between two puts is stored as it is",
    run: async ({ subject }) => {
      const list = [{ text: "first, at some length, so that it is shared" }, { text: "second, at some length too" }];
      await subject.put({ threadId: "t", checkpointId: "c1", checkpointData: { values: { list } } });
      const first = structuredClone(list);
      (list[0] as { text: string }).text = "changed in place";
      const second = structuredClone(list);
      await subject.put({ threadId: "t", checkpointId: "c2", parentId: "c1", checkpointData: { values: { list } } });
      assertSame(
        (await saved(subject, { threadId: "t", checkpointId: "c1" })).checkpointData,
        { values: { list: first } },
        "c1",
      );
      assertSame(
        (await saved(subject, { threadId: "t", checkpointId: "c2" })).checkpointData,
        { values: { list: second } },
        "c2",
      );
    },
  },
  {
    name: "two children of one parent keep apart what they added, and leave it as it was",
    run: async ({ subject }) => {
      const base = { values: { list: ["the base message, which both share"] }, versions: { list: 1 } };
      const branch = (name: string) => ({
        values: { list: [...base.values.list, `only in ${name}, and long`] },
        versions: { list: 2 },
      });
      await subject.put({ threadId: "t", checkpointId: "c1", checkpointData: base });
      await subject.put({ threadId: "t", checkpointId: "c2", parentId: "c1", checkpointData: branch("c2") });
      await subject.put({ threadId: "t", checkpointId: "c3", parentId: "c1", checkpointData: branch("c3") });
      for (const [id, data] of [
        ["c1", base],
        ["c2", branch("c2")],
        ["c3", branch("c3")],
      ] as const) {
        assertSame((await saved(subject, { threadId: "t", checkpointId: id })).checkpointData, data, id);
      }
    },
  },
  {
    name: "a parent that is not there is kept as a name",
    run: async ({ subject }) => {
      await subject.put({ threadId: "t", checkpointId: "c2", parentId: "never put", checkpointData: { a: 1 } });
      const found = await saved(subject, { threadId: "t" });
      assert.equal(found.parentId, "never put");
      assertSame(found.checkpointData, { a: 1 }, "data");
    },
  },
]);
