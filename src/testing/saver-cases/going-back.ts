import assert from "node:assert/strict";
import type { Saver } from "../../saver/saver.ts";
import { another, type Fixture } from "../conformance-case.ts";
import { assertSame } from "../same-value.ts";
import { copyStorage } from "../storage-copy.ts";
import { idsOf, putLine, type SaverCase, saved, saverCasesOf, writesOf } from "./saver-case.ts";

const said = (...texts: readonly string[]): Record<string, unknown> => ({
  values: { messages: texts.map((text) => `${text}, at some length so that it is worth sharing`) },
});

interface WentBack {
  /** The saver that put what was lost, and goes on. */
  readonly stale: Saver;
  /** The one that has put since, as another process. */
  readonly other: Saver;
}

/** Of c1 to c4 the last two were lost; another process has put d3 and d4 since, or nothing. */
async function goBack(fixture: Fixture<Saver>, hasWritten: boolean): Promise<WentBack> {
  const { subject: stale } = fixture;
  await putLine(stale, "t", ["c1", "c2"], { dataOf: (id) => (id === "c1" ? said("m1") : said("m1", "m2")) });
  const restore = await copyStorage(fixture, "t");
  await putLine(stale, "t", ["c3", "c4"], {
    parentId: "c2",
    dataOf: (id) => said("m1", "m2", "lost 3", ...(id === "c4" ? ["lost 4"] : [])),
  });
  await stale.putWrites({ threadId: "t", checkpointId: "c4", taskId: "a", writes: [["x", "lost"]] });
  await saved(stale, { threadId: "t" });
  await restore();
  const other = await another(fixture);
  if (hasWritten) {
    await putLine(other, "t", ["d3", "d4"], {
      parentId: "c2",
      dataOf: (id) => said("m1", "m2", "other 3", ...(id === "d4" ? ["other 4"] : [])),
    });
    await other.putWrites({ threadId: "t", checkpointId: "d4", taskId: "a", writes: [["x", "theirs"]] });
  }
  return { stale, other };
}

async function assertNothingMixed({ stale, other }: WentBack, hasWritten: boolean): Promise<void> {
  const ids = hasWritten ? ["d4", "d3", "c2", "c1"] : ["c2", "c1"];
  const texts = hasWritten ? ["m1", "m2", "other 3", "other 4"] : ["m1", "m2"];
  for (const saver of [stale, other]) {
    const newest = await saved(saver, { threadId: "t" });
    assertSame(newest.checkpointData, said(...texts), "the newest checkpoint");
    assertSame(writesOf(newest), hasWritten ? [["a", "x", "theirs"]] : [], "its writes");
    assert.deepEqual(idsOf(await saver.listCheckpoints({ threadId: "t" })), ids);
    for (const checkpointId of ["c3", "c4"]) {
      assert.equal(await saver.get({ threadId: "t", checkpointId }), undefined, "a lost checkpoint");
    }
  }
}

export const goingBackCases: readonly SaverCase[] = saverCasesOf("going back in time", [
  {
    name: "a saver that knows what was lost reads what is there, and builds on it",
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
    name: "where no other put since, a saver that knows what was lost goes on from the older newest",
    needs: ["reopen", "log"],
    run: async (fixture) => {
      const back = await goBack(fixture, false);
      await assertNothingMixed(back, false);
      const checkpointData = said("m1", "m2", "on it goes");
      await back.stale.put({ threadId: "t", checkpointId: "e3", parentId: "c2", checkpointData });
      assertSame((await saved(back.other, { threadId: "t" })).checkpointData, checkpointData, "the next");
    },
  },
]);
