import assert from "node:assert/strict";
import { HOSTILE_KEYS } from "../hostile-metadata.ts";
import { assertSame } from "../same-value.ts";
import { idsOf, putLine, type SaverCase, saverCasesOf, writesOf } from "./saver-case.ts";

const INJECTIONS = [
  "x') OR '1'='1",
  "x') OR 1=1 --",
  "x') UNION SELECT 1,2,3,4,5,6,7 --",
  "access') = 'public' OR '1'='1' OR json_extract(metadata, '$.",
  "'; DROP TABLE checkpoints; --",
  "})|(@thread_id:{*})|(@x",
  "$.source",
  "__proto__",
];

export const listingCases: readonly SaverCase[] = saverCasesOf("listing", [
  {
    name: "the greatest id comes first, whatever the order of the puts",
    run: async ({ subject }) => {
      for (const id of ["c3", "c1", "c5", "c2", "c4"]) await putLine(subject, "t", [id]);
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t" })), ["c5", "c4", "c3", "c2", "c1"]);
    },
  },
  {
    name: "limit takes the newest, and 0 takes none",
    run: async ({ subject }) => {
      for (const id of ["c3", "c1", "c5", "c2", "c4"]) await putLine(subject, "t", [id]);
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t", limit: 2 })), ["c5", "c4"]);
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t", limit: 0 })), []);
      assert.equal((await subject.listCheckpoints({ threadId: "t", limit: 99 })).length, 5);
    },
  },
  {
    name: "before is strictly before, also with a limit and for an id that is not there",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1", "c2", "c4", "c5"]);
      const list = async (before: string, limit?: number) =>
        idsOf(await subject.listCheckpoints({ threadId: "t", before, ...(limit !== undefined && { limit }) }));
      assert.deepEqual(await list("c4"), ["c2", "c1"]);
      assert.deepEqual(await list("c3"), ["c2", "c1"]);
      assert.deepEqual(await list("c5", 1), ["c4"]);
      assert.deepEqual(await list("c1"), []);
    },
  },
  {
    name: "a namespace narrows, and without one all of the thread are listed",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1", "c3"]);
      await putLine(subject, "t", ["c2"], { checkpointNs: "child" });
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t" })), ["c3", "c2", "c1"]);
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t", checkpointNs: "" })), ["c3", "c1"]);
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t", checkpointNs: "child" })), ["c2"]);
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t", checkpointNs: "chil" })), []);
    },
  },
  {
    name: "an id narrows to that checkpoint",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1", "c2"]);
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t", checkpointId: "c1" })), ["c1"]);
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t", checkpointId: "c9" })), []);
    },
  },
  {
    name: "a filter wants every one of its values, of the caller's own keys too, and compares strictly",
    run: async ({ subject }) => {
      const put = (id: string, metadata: Record<string, unknown>) => putLine(subject, "t", [id], { metadata });
      await put("c1", { source: "input", step: -1, custom: "a" });
      await put("c2", { source: "loop", step: 0, custom: "a", deep: { b: 1, a: [2] } });
      await put("c3", { source: "loop", step: 1, custom: "b", flag: true });
      const list = async (filter: Record<string, unknown>) =>
        idsOf(await subject.listCheckpoints({ threadId: "t", filter }));
      assert.deepEqual(await list({}), ["c3", "c2", "c1"]);
      assert.deepEqual(await list({ source: "loop" }), ["c3", "c2"]);
      assert.deepEqual(await list({ source: "loop", custom: "a" }), ["c2"]);
      assert.deepEqual(await list({ step: 1 }), ["c3"]);
      assert.deepEqual(await list({ step: "1" }), []);
      assert.deepEqual(await list({ flag: 1 }), []);
      assert.deepEqual(await list({ deep: { a: [2], b: 1 } }), ["c2"]);
      assert.deepEqual(await list({ absent: undefined }), []);
      assert.deepEqual(await list({ source: { $ne: "loop" } }), []);
    },
  },
  {
    name: "hostile filter keys are names and match nothing but themselves",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1"], { metadata: { source: "input" } });
      for (const key of [...INJECTIONS, ...HOSTILE_KEYS]) {
        const filter = JSON.parse(`{${JSON.stringify(key)}:"x"}`) as Record<string, unknown>;
        assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t", filter })), [], JSON.stringify(key));
        await putLine(subject, "u", ["c1"], { metadata: filter });
        assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "u", filter })), ["c1"], JSON.stringify(key));
      }
      assert.equal((await subject.listCheckpoints()).length, 2);
    },
  },
  {
    name: "a limit counts what passed the filter",
    run: async ({ subject }) => {
      for (const [index, id] of ["c1", "c2", "c3", "c4"].entries())
        await putLine(subject, "t", [id], { metadata: { even: index % 2 } });
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "t", limit: 1, filter: { even: 0 } })), ["c3"]);
    },
  },
  {
    name: "without a thread those of all threads are listed",
    run: async ({ subject }) => {
      for (const threadId of ["t", "u"]) await putLine(subject, threadId, ["c1", "c2"]);
      const listed = await subject.listCheckpoints();
      assert.deepEqual(listed.map(({ threadId, checkpointId }) => `${threadId} ${checkpointId}`).sort(), [
        "t c1",
        "t c2",
        "u c1",
        "u c2",
      ]);
      assert.equal((await subject.listCheckpoints({ limit: 3 })).length, 3);
      assert.deepEqual(idsOf(await subject.listCheckpoints({ threadId: "v" })), []);
    },
  },
  {
    name: "what is listed knows its parent and metadata, and loads its data and writes",
    run: async ({ subject }) => {
      const dataOf = (id: string) => ({ values: { list: ["shared by all, at some length", `${id}, at some length`] } });
      await putLine(subject, "t", ["c1", "c2", "c3"], { metadata: { source: "loop" }, dataOf });
      await subject.putWrites({ threadId: "t", checkpointId: "c2", taskId: "a", writes: [["x", 1]] });
      const listed = await subject.listCheckpoints({ threadId: "t" });
      assert.deepEqual(
        listed.map(({ parentId }) => parentId),
        ["c2", "c1", undefined],
      );
      for (const each of listed) {
        assertSame(each.metadata, { source: "loop" }, "metadata");
        const loaded = await each.load();
        assert.ok(loaded);
        assertSame(loaded.checkpointData, dataOf(each.checkpointId), each.checkpointId);
        assertSame(writesOf(loaded), each.checkpointId === "c2" ? [["a", "x", 1]] : [], "writes");
      }
    },
  },
]);
