import assert from "node:assert/strict";
import type { Saver } from "../../saver/saver.ts";
import { another, type Fixture } from "../conformance-case.ts";
import { failsWith } from "../expect-failure.ts";
import { assertSame } from "../same-value.ts";
import { copyStorage } from "../storage-copy.ts";
import { idsOf, putLine, type SaverCase, saved, saverCasesOf, writesOf } from "./saver-case.ts";

const said = (...texts: readonly string[]): Record<string, unknown> => ({
  values: { messages: texts.map((text) => `${text}, at some length so that it is worth sharing`) },
});

interface WentBack {
  /** The saver that put what was lost, and is still running. */
  readonly stale: Saver;
  /** The one that has put since, as another process. */
  readonly other: Saver;
}

/** Of c1 to c4 the last two were lost; another process has put d3 and d4 since, or nothing. */
async function goBack(fixture: Fixture<Saver>, hasWritten: boolean, threadId = "t"): Promise<WentBack> {
  const { subject: stale } = fixture;
  await putLine(stale, threadId, ["c1", "c2"], { dataOf: (id) => (id === "c1" ? said("m1") : said("m1", "m2")) });
  const restore = await copyStorage(fixture, threadId);
  await putLine(stale, threadId, ["c3", "c4"], {
    parentId: "c2",
    dataOf: (id) => said("m1", "m2", "lost 3", ...(id === "c4" ? ["lost 4"] : [])),
  });
  await stale.putWrites({ threadId, checkpointId: "c4", taskId: "a", writes: [["x", "lost"]] });
  await saved(stale, { threadId });
  await restore();
  const other = await another(fixture);
  if (hasWritten) {
    await putLine(other, threadId, ["d3", "d4"], {
      parentId: "c2",
      dataOf: (id) => said("m1", "m2", "other 3", ...(id === "d4" ? ["other 4"] : [])),
    });
    await other.putWrites({ threadId, checkpointId: "d4", taskId: "a", writes: [["x", "theirs"]] });
  }
  return { stale, other };
}

async function assertNothingMixed({ stale, other }: WentBack, hasWritten: boolean, threadId = "t"): Promise<void> {
  const ids = hasWritten ? ["d4", "d3", "c2", "c1"] : ["c2", "c1"];
  const texts = hasWritten ? ["m1", "m2", "other 3", "other 4"] : ["m1", "m2"];
  for (const saver of [stale, other]) {
    const newest = await saved(saver, { threadId });
    assertSame(newest.checkpointData, said(...texts), "the newest checkpoint");
    assertSame(writesOf(newest), hasWritten ? [["a", "x", "theirs"]] : [], "its writes");
    assert.deepEqual(idsOf(await saver.listCheckpoints({ threadId })), ids);
    for (const checkpointId of ["c3", "c4"]) {
      assert.equal(await saver.get({ threadId, checkpointId }), undefined, "a lost checkpoint");
    }
  }
}

export const goingBackCases: readonly SaverCase[] = saverCasesOf("going back in time", [
  {
    name: "a saver that has read the lost checkpoints reads the present ones, and builds on them",
    needs: ["reopen", "log"],
    run: async (fixture) => {
      const back = await goBack(fixture, true);
      await assertNothingMixed(back, true);
      const checkpointData = said("m1", "m2", "other 3", "other 4", "on it goes");
      await back.stale.put({ threadId: "t", checkpointId: "e5", parentId: "d4", checkpointData });
      const newest = await saved(back.other, { threadId: "t" });
      assert.deepEqual([newest.checkpointId, newest.parentId], ["e5", "d4"]);
      assertSame(newest.checkpointData, checkpointData, "the next");
    },
  },
  {
    name: "writes that were lost are there once they are put again, by a saver that knows them already",
    needs: ["log"],
    run: async (fixture) => {
      const { subject } = fixture;
      const retried = { threadId: "t", checkpointId: "c2", taskId: "a", writes: [["x", "said"]] } as const;
      await putLine(subject, "t", ["c1", "c2"], { dataOf: () => said("m1") });
      const restore = await copyStorage(fixture, "t");
      await subject.putWrites(retried);
      await restore();
      await subject.putWrites(retried);
      assertSame(writesOf(await saved(subject, { threadId: "t" })), [["a", "x", "said"]], "the writes");
    },
  },
  {
    name: "if there was no other put since, a saver that has read the lost checkpoints continues from the newest that is left",
    needs: ["reopen", "log"],
    run: async (fixture) => {
      const back = await goBack(fixture, false);
      await assertNothingMixed(back, false);
      const checkpointData = said("m1", "m2", "on it goes");
      await back.stale.put({ threadId: "t", checkpointId: "e3", parentId: "c2", checkpointData });
      assertSame((await saved(back.other, { threadId: "t" })).checkpointData, checkpointData, "the next");
    },
  },
  {
    name: "a put on a lost checkpoint is CONFLICT, even after the saver has read the present ones, and a put on a kept one is not",
    needs: ["reopen", "log"],
    run: async (fixture) => {
      for (const hasWritten of [true, false]) {
        const threadId = hasWritten ? "t" : "u";
        const back = await goBack(fixture, hasWritten, threadId);
        const { stale } = back;
        const late = said("m1", "m2", "lost 3", "lost 4", "late");
        const attempts: Readonly<Record<string, () => Promise<void>>> = {
          "a put": () => stale.put({ threadId, checkpointId: "c5", parentId: "c4", checkpointData: late }),
          "a put on another lost one": () =>
            stale.put({ threadId, checkpointId: "c6", parentId: "c3", checkpointData: late }),
          writes: () => stale.putWrites({ threadId, checkpointId: "c4", taskId: "b", writes: [["x", "late"]] }),
        };
        for (const round of ["before it has read", "after it has read"]) {
          for (const [what, attempt] of Object.entries(attempts)) {
            const failure = await failsWith("CONFLICT", attempt, `${what}, ${round}`);
            assert.equal(failure.context.written, "no", what);
          }
          await assertNothingMixed(back, hasWritten, threadId);
        }
        await stale.put({ threadId, checkpointId: "e5", parentId: "c2", checkpointData: said("m1", "m2", "fork") });
        assert.equal((await saved(back.other, { threadId })).checkpointId, "e5");
      }
    },
  },
  {
    name: "of several puts at once, those that build on a lost checkpoint are refused and the others are made",
    needs: ["reopen", "log"],
    run: async (fixture) => {
      const { stale, other } = await goBack(fixture, true);
      const put = (checkpointId: string, parentId: string) =>
        stale.put({ threadId: "t", checkpointId, parentId, checkpointData: said("m1", checkpointId) });
      const outcomes = await Promise.allSettled([put("e5", "c4"), put("e6", "c2"), put("e7", "e5"), put("e8", "e6")]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ["rejected", "fulfilled", "rejected", "fulfilled"],
      );
      assert.deepEqual(idsOf(await other.listCheckpoints({ threadId: "t" })), ["e8", "e6", "d4", "d3", "c2", "c1"]);
    },
  },
  {
    name: "a checkpoint that another put under the id of a lost one is not the parent that a saver knows",
    needs: ["reopen", "log"],
    run: async (fixture) => {
      const { subject: stale } = fixture;
      await putLine(stale, "t", ["c1"], { dataOf: () => said("m1") });
      const restore = await copyStorage(fixture, "t");
      await putLine(stale, "t", ["c2", "c3"], { parentId: "c1", dataOf: (id) => said("m1", `lost ${id}`) });
      await restore();
      const other = await another(fixture);
      await putLine(other, "t", ["c2", "c3"], { parentId: "c1", dataOf: (id) => said("m1", `other ${id}`) });
      const late = { threadId: "t", checkpointId: "c4", checkpointData: said("m1", "lost c2", "lost c3", "late") };
      await failsWith("CONFLICT", () => stale.put({ ...late, parentId: "c3" }), "a child of the lost c3");
      await failsWith("CONFLICT", () => stale.put({ ...late, parentId: "c2" }), "a child of the lost c2");
      assertSame((await saved(stale, { threadId: "t" })).checkpointData, said("m1", "other c3"), "the newest");
      await stale.put({ ...late, parentId: "c3", checkpointData: said("m1", "other c3", "on it goes") });
      assert.equal((await saved(other, { threadId: "t" })).checkpointId, "c4");
    },
  },
  {
    name: "what builds on a checkpoint of a thread that was deleted is CONFLICT; on one that was pruned it is kept",
    needs: ["reopen", "log"],
    run: async (fixture) => {
      const { subject: stale } = fixture;
      const other = await another(fixture);
      for (const threadId of ["pruned", "put anew", "deleted", "made anew"]) {
        await putLine(stale, threadId, ["c1", "c2"]);
        await putLine(other, threadId, ["c9"], { parentId: "c1" });
      }
      await other.prune({ threadId: "pruned", keepLast: 1 });
      await putLine(other, "put anew", ["c2"], { parentId: "c1", dataOf: () => ({ at: "c2, anew" }) });
      for (const threadId of ["deleted", "made anew"]) await other.deleteThread(threadId);
      await putLine(other, "made anew", ["c1", "c2"]);
      const child = (threadId: string) =>
        stale.put({ threadId, checkpointId: "c3", parentId: "c2", checkpointData: { at: "c3" } });
      for (const threadId of ["deleted", "made anew"]) {
        for (const round of ["first", "second"]) {
          await failsWith("CONFLICT", () => child(threadId), `the ${round} put into the thread that was ${threadId}`);
        }
      }
      assert.equal(await other.get({ threadId: "deleted" }), undefined);
      assert.deepEqual(idsOf(await other.listCheckpoints({ threadId: "made anew" })), ["c2", "c1"]);
      for (const threadId of ["pruned", "put anew"]) {
        await child(threadId);
        const found = await saved(other, { threadId, checkpointId: "c3" });
        assertSame([found.parentId, found.checkpointData], ["c2", { at: "c3" }], threadId);
      }
    },
  },
]);
