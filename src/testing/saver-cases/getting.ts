import assert from "node:assert/strict";
import { another } from "../conformance-case.ts";
import { assertSame } from "../same-value.ts";
import { putLine, type SaverCase, saved, saverCasesOf, writesOf } from "./saver-case.ts";

export const gettingCases: readonly SaverCase[] = saverCasesOf("getting", [
  {
    name: "without an id the newest of the namespace is returned",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1", "c2", "c3"]);
      await putLine(subject, "t", ["c7"], { checkpointNs: "child" });
      assert.equal((await saved(subject, { threadId: "t" })).checkpointId, "c3");
      assert.equal((await saved(subject, { threadId: "t", checkpointNs: "child" })).checkpointId, "c7");
    },
  },
  {
    name: "the newest is the one with the greatest id, whenever it was put",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c5"]);
      await putLine(subject, "t", ["c2", "c4"]);
      assert.equal((await saved(subject, { threadId: "t" })).checkpointId, "c5");
      await subject.putWrites({ threadId: "t", checkpointId: "c2", taskId: "a", writes: [["x", 1]] });
      assert.equal((await saved(subject, { threadId: "t" })).checkpointId, "c5", "also after a write to an old one");
    },
  },
  {
    name: "what is not there is undefined: a thread, a namespace, an id",
    run: async ({ subject }) => {
      assert.equal(await subject.get({ threadId: "t" }), undefined);
      await putLine(subject, "t", ["c1"]);
      assert.equal(await subject.get({ threadId: "t", checkpointId: "c" }), undefined);
      assert.equal(await subject.get({ threadId: "t", checkpointNs: "child" }), undefined);
      assert.equal(await subject.get({ threadId: "t", checkpointNs: "child", checkpointId: "c1" }), undefined);
      assert.equal(await subject.get({ threadId: "T" }), undefined);
    },
  },
  {
    name: "namespaces of a thread do not affect each other, whatever they are called",
    run: async ({ subject }) => {
      const namespaces = ["", "a", "a|b", "a:1|b:2", "a/c1", "/", "a%2Fc1", " ", "c1", "latest", "__proto__"];
      for (const checkpointNs of namespaces) {
        await putLine(subject, "t", ["c1", "a/c1"], { checkpointNs, dataOf: (id) => ({ at: [checkpointNs, id] }) });
      }
      for (const checkpointNs of namespaces) {
        for (const checkpointId of ["c1", "a/c1"]) {
          const found = await saved(subject, { threadId: "t", checkpointNs, checkpointId });
          assertSame(found.checkpointData, { at: [checkpointNs, checkpointId] }, `${checkpointNs} ${checkpointId}`);
          assert.equal(found.checkpointNs, checkpointNs);
        }
        assert.equal((await saved(subject, { threadId: "t", checkpointNs })).checkpointId, "c1");
      }
    },
  },
  {
    name: "a line of two hundred checkpoints can be walked from the newest to the first",
    run: async ({ subject }) => {
      const ids = Array.from({ length: 200 }, (_, index) => `c${String(index).padStart(3, "0")}`);
      const list: string[] = [];
      const dataOf = (id: string) => ({
        values: { list: list.slice(0, Number(id.slice(1)) + 1) },
        versions: { list: id },
      });
      for (const id of ids) list.push(`message ${id}, which is long enough to be kept by itself`);
      await putLine(subject, "t", ids, { dataOf });
      let at: string | undefined;
      for (const id of ids.toReversed()) {
        const found = await saved(subject, { threadId: "t", ...(at !== undefined && { checkpointId: at }) });
        assert.equal(found.checkpointId, id);
        assertSame(found.checkpointData, dataOf(id), id);
        at = found.parentId;
      }
      assert.equal(at, undefined);
    },
  },
  {
    name: "a second instance sees what the first put, and the first what the second did",
    needs: ["reopen"],
    run: async (fixture) => {
      const { subject } = fixture;
      const dataOf = (id: string) => ({
        values: { list: ["shared by all of them, at length", `only ${id}, at length too`] },
      });
      await putLine(subject, "t", ["c1", "c2"], { dataOf });
      const other = await another(fixture);
      assertSame((await saved(other, { threadId: "t" })).checkpointData, dataOf("c2"), "c2 seen by the other");
      await putLine(other, "t", ["c3"], { parentId: "c2", dataOf });
      await other.putWrites({ threadId: "t", checkpointId: "c3", taskId: "a", writes: [["x", 1]] });
      await putLine(subject, "t", ["c4"], { parentId: "c3", dataOf });
      for (const each of [subject, other]) {
        assert.equal((await saved(each, { threadId: "t" })).checkpointId, "c4");
        const third = await saved(each, { threadId: "t", checkpointId: "c3" });
        assertSame(third.checkpointData, dataOf("c3"), "c3");
        assertSame(writesOf(third), [["a", "x", 1]], "writes of c3");
      }
    },
  },
  {
    name: "two instances that put and write at once lose nothing",
    needs: ["reopen"],
    run: async (fixture) => {
      const { subject } = fixture;
      const other = await another(fixture);
      const ids = (name: string) => Array.from({ length: 15 }, (_, index) => `${name}${10 + index}`);
      const work = async (saver: typeof subject, name: string): Promise<void> => {
        for (const checkpointId of ids(name)) {
          const data = {
            values: { list: [`of ${name}, long enough to be shared`, `${checkpointId}, also long enough`] },
          };
          await saver.put({ threadId: "t", checkpointId, checkpointData: data });
          await saver.putWrites({ threadId: "t", checkpointId, taskId: name, writes: [["x", checkpointId]] });
        }
      };
      await Promise.all([work(subject, "a"), work(other, "b")]);
      for (const saver of [subject, other]) {
        for (const name of ["a", "b"]) {
          for (const checkpointId of ids(name)) {
            const found = await saved(saver, { threadId: "t", checkpointId });
            assertSame(writesOf(found), [[name, "x", checkpointId]], checkpointId);
            const list = [`of ${name}, long enough to be shared`, `${checkpointId}, also long enough`];
            assertSame(found.checkpointData, { values: { list } }, checkpointId);
          }
        }
      }
    },
  },
]);
