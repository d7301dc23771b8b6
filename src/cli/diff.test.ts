import { afterEach, beforeEach, expect, test } from "vitest";
import { holdfast } from "../../test/cli/fake-world.ts";
import { type FilledStore, filledStore } from "../../test/cli/filled-stores.ts";
import { sqliteCheckpointer } from "../backends/sqlite/index.ts";
import { saverOf } from "../saver/checkpoint-saver.ts";

let store: FilledStore;
beforeEach(async () => {
  store = await filledStore("one");
  const checkpointer = sqliteCheckpointer({ path: `${store.directory}/agents.db` });
  const saver = saverOf(checkpointer);
  const put = (checkpointId: string, step: number, log: readonly string[], parentId?: string) =>
    saver.put({
      threadId: "graph",
      checkpointId,
      ...(parentId !== undefined && { parentId }),
      checkpointData: { channel_values: { step, log, same: "yes" } },
    });
  await put("g1", 1, ["a", "b"]);
  await put("g2", 2, ["a", "\u001b[2Jc"], "g1");
  await checkpointer.close();
});
afterEach(() => store.dispose());

const diff = (...args: string[]) => holdfast(["diff", store.url, ...args]);

test("of a graph's thread diff shows each channel that differs, lists by what left and what came", async () => {
  const { code, stdout } = await diff("graph", "g1", "@0");
  expect(code).toBe(0);
  expect(stdout.trim().split("\n")).toEqual([
    "list      channel_values.log  1 shared, 1 removed, 1 added",
    '- "b"',
    '+ "\\u001b[2Jc"',
    "field     channel_values.step  1 → 2",
  ]);
  const stat = await diff("graph", "@-1", "g2", "--stat");
  expect(stat.stdout.trim().split("\n")).toHaveLength(2);
  const json = JSON.parse((await diff("graph@g1", "graph", "-o", "json")).stdout);
  expect(json).toEqual({
    before: { threadId: "graph", checkpointId: "g1" },
    after: { threadId: "graph", checkpointId: "g2" },
    lists: { "channel_values.log": { shared: 1, removed: ["b"], added: ["\u001b[2Jc"] } },
    fields: { "channel_values.step": { before: 1, after: 2 } },
  });
  expect((await diff("graph", "g1", "g1", "--exit-code")).code).toBe(0);
  expect((await diff("graph", "g1", "g2", "--exit-code")).code).toBe(1);
});

test("a graph's thread is not compared with an agent's, and a missing checkpoint is an error", async () => {
  expect((await diff("graph", "trip-1")).code).toBe(2);
  expect((await diff("trip-1", "graph")).code).toBe(2);
  expect((await diff("graph", "g1", "g9")).stderr).toContain('thread "graph" has no checkpoint "g9"');
  expect((await diff("absent", "g1", "g2")).stderr).toContain('there is no thread "absent"');
});
