import assert from "node:assert/strict";
import { assertSame } from "../same-value.ts";
import { putLine, type SaverCase, saved, saverCasesOf, writesOf } from "./saver-case.ts";

const at = { threadId: "t", checkpointId: "c1" };

export const writingCases: readonly SaverCase[] = saverCasesOf("pending writes", [
  {
    name: "writes come back with their checkpoint, by task and position",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1"]);
      await subject.putWrites({
        ...at,
        taskId: "b",
        writes: [
          ["x", 1],
          ["y", [new Date(1)]],
        ],
      });
      await subject.putWrites({ ...at, taskId: "a", writes: [["x", undefined]] });
      const found = await saved(subject, at);
      assertSame(
        found.pendingWrites,
        [
          { taskId: "a", index: 0, channel: "x", value: undefined },
          { taskId: "b", index: 0, channel: "x", value: 1 },
          { taskId: "b", index: 1, channel: "y", value: [new Date(1)] },
        ],
        "writes",
      );
    },
  },
  {
    name: "the first write of a task at a position wins, so that a retry changes nothing",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1"]);
      await subject.putWrites({
        ...at,
        taskId: "a",
        writes: [
          ["x", 1],
          ["y", 2],
        ],
      });
      await subject.putWrites({
        ...at,
        taskId: "a",
        writes: [
          ["x", 1],
          ["y", 2],
        ],
      });
      await subject.putWrites({
        ...at,
        taskId: "a",
        writes: [
          ["x", "late"],
          ["y", "late"],
          ["z", 3],
        ],
      });
      assertSame(
        writesOf(await saved(subject, at)),
        [
          ["a", "x", 1],
          ["a", "y", 2],
          ["a", "z", 3],
        ],
        "writes",
      );
    },
  },
  {
    name: "a call with nothing but special channels replaces, each at its fixed position",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1"]);
      await subject.putWrites({ ...at, taskId: "a", writes: [["__interrupt__", "first"]] });
      await subject.putWrites({ ...at, taskId: "a", writes: [["__resume__", [1]]] });
      await subject.putWrites({
        ...at,
        taskId: "a",
        writes: [
          ["__interrupt__", "second"],
          ["__error__", "e"],
        ],
      });
      const { pendingWrites } = await saved(subject, at);
      assertSame(
        pendingWrites.map(({ index, channel, value }) => [index, channel, value]),
        [
          [-4, "__resume__", [1]],
          [-3, "__interrupt__", "second"],
          [-1, "__error__", "e"],
        ],
        "writes",
      );
    },
  },
  {
    name: "a special channel beside an ordinary one replaces nothing",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1"]);
      await subject.putWrites({ ...at, taskId: "a", writes: [["__error__", "first"]] });
      await subject.putWrites({
        ...at,
        taskId: "a",
        writes: [
          ["__error__", "second"],
          ["x", 1],
        ],
      });
      assertSame(
        writesOf(await saved(subject, at)),
        [
          ["a", "__error__", "first"],
          ["a", "x", 1],
        ],
        "writes",
      );
    },
  },
  {
    name: "writes may come before their checkpoint, and are no checkpoint by themselves",
    run: async ({ subject }) => {
      await subject.putWrites({ ...at, taskId: "a", writes: [["x", 1]] });
      assert.equal(await subject.get(at), undefined);
      assert.equal(await subject.get({ threadId: "t" }), undefined);
      assert.deepEqual(await subject.listCheckpoints({ threadId: "t" }), []);
      await putLine(subject, "t", ["c1"]);
      await subject.putWrites({ ...at, taskId: "a", writes: [["x", "late"]] });
      assertSame(writesOf(await saved(subject, at)), [["a", "x", 1]], "writes");
    },
  },
  {
    name: "writes may come before the checkpoint of a thread that has others",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1"]);
      await subject.putWrites({ threadId: "t", checkpointId: "c2", taskId: "a", writes: [["x", 2]] });
      await subject.putWrites({ threadId: "t", checkpointId: "c0", taskId: "a", writes: [["x", 0]] });
      assert.equal((await saved(subject, { threadId: "t" })).checkpointId, "c1");
      assertSame(writesOf(await saved(subject, { threadId: "t" })), [], "writes of c1");
      await putLine(subject, "t", ["c2"], { parentId: "c1" });
      await putLine(subject, "t", ["c0"]);
      assertSame(writesOf(await saved(subject, { threadId: "t" })), [["a", "x", 2]], "writes of c2");
      assertSame(
        writesOf(await saved(subject, { threadId: "t", checkpointId: "c0" })),
        [["a", "x", 0]],
        "writes of c0",
      );
    },
  },
  {
    name: "no writes are nothing to do: the thread is not even made",
    run: async ({ subject }) => {
      await subject.putWrites({ ...at, taskId: "a", writes: [] });
      assert.equal(await subject.get(at), undefined);
      assert.equal(await subject.deleteThread("t"), false);
      await putLine(subject, "t", ["c1"]);
      await subject.putWrites({ ...at, taskId: "a", writes: [] });
      assertSame(writesOf(await saved(subject, at)), [], "writes");
    },
  },
  {
    name: "writes belong to one checkpoint of one namespace of one thread",
    run: async ({ subject }) => {
      for (const threadId of ["t", "u"]) {
        for (const checkpointNs of ["", "child"]) await putLine(subject, threadId, ["c1", "c2"], { checkpointNs });
      }
      await subject.putWrites({ ...at, checkpointNs: "child", taskId: "a", writes: [["x", "here"]] });
      for (const threadId of ["t", "u"]) {
        for (const checkpointNs of ["", "child"]) {
          for (const checkpointId of ["c1", "c2"]) {
            const here = threadId === "t" && checkpointNs === "child" && checkpointId === "c1";
            const found = await saved(subject, { threadId, checkpointNs, checkpointId });
            assertSame(
              writesOf(found),
              here ? [["a", "x", "here"]] : [],
              `${threadId} ${checkpointNs} ${checkpointId}`,
            );
          }
        }
      }
    },
  },
  {
    name: "the next checkpoint begins without writes, and the one before keeps its own",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1"]);
      await subject.putWrites({ ...at, taskId: "a", writes: [["x", 1]] });
      await putLine(subject, "t", ["c2"], { parentId: "c1" });
      assertSame(writesOf(await saved(subject, { threadId: "t" })), [], "writes of c2");
      assertSame(writesOf(await saved(subject, at)), [["a", "x", 1]], "writes of c1");
    },
  },
  {
    name: "an old checkpoint takes writes long after newer ones were put",
    run: async ({ subject }) => {
      const ids = Array.from({ length: 12 }, (_, index) => `c${10 + index}`);
      await putLine(subject, "t", ids);
      await subject.putWrites({ threadId: "t", checkpointId: "c10", taskId: "late", writes: [["x", "y"]] });
      const old = await saved(subject, { threadId: "t", checkpointId: "c10" });
      assertSame(writesOf(old), [["late", "x", "y"]], "writes");
      assertSame(old.checkpointData, { at: "c10" }, "data");
      assert.equal((await saved(subject, { threadId: "t" })).checkpointId, "c21", "and is not the newest for it");
    },
  },
  {
    name: "fifty tasks that write at once lose nothing",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1"]);
      const tasks = Array.from({ length: 50 }, (_, index) => `task ${String(index).padStart(2, "0")}`);
      await Promise.all(tasks.map((taskId) => subject.putWrites({ ...at, taskId, writes: [["x", taskId]] })));
      assertSame(
        writesOf(await saved(subject, at)),
        tasks.map((task) => [task, "x", task]),
        "writes",
      );
    },
  },
]);
