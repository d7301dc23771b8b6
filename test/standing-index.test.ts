import { expect, test } from "vitest";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import { SqliteLog } from "../src/backends/sqlite/log.ts";
import { sqliteLogOptions } from "../src/backends/sqlite/options.ts";
import { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { assistantMessage, userMessage } from "../src/state/message.ts";
import { failureOf } from "./failure-of.ts";

const asked = AgentState.create().withMessage(userMessage("hello"));
const answered = asked.withMessage(assistantMessage("hi"));

/** A log that counts what it lists. */
function counting(): { readonly checkpointer: Checkpointer; readonly listed: () => number } {
  const log = new SqliteLog(sqliteLogOptions({ path: ":memory:" }));
  const list = log.listThreads.bind(log);
  let listed = 0;
  log.listThreads = async (options) => {
    const page = await list(options);
    listed += page.items.length;
    return page;
  };
  return { checkpointer: new Checkpointer(log), listed: () => listed };
}

test("unfinished threads are found without a look at the others, whatever became of them", async () => {
  const { checkpointer, listed } = counting();
  for (let index = 0; index < 40; index++) await checkpointer.save(answered, `done/${index}`);
  for (const id of ["a", "b", "c"]) await checkpointer.save(asked, `open/${id}`, { metadata: { id } });
  const unfinished = async (): Promise<unknown> =>
    (await checkpointer.listWithMetadata({ standing: "unfinished" })).map(({ threadId, metadata }) => [
      threadId,
      metadata,
    ]);
  const open = (...ids: readonly string[]): unknown => ids.map((id) => [`open/${id}`, { id }]);
  expect(await unfinished()).toEqual(open("a", "b", "c"));
  const again = (await checkpointer.load("open/a"))?.withMessage(assistantMessage("hi"));
  await checkpointer.save(again ?? asked, "open/a");
  await checkpointer.delete("open/b");
  expect(await unfinished()).toEqual(open("c"));
  await checkpointer.copyThread("open/c", "copied");
  expect(await unfinished()).toEqual([["copied", { id: "c" }], ...(open("c") as unknown[])]);
  expect(await checkpointer.queryByMetadata("id", "c")).toHaveLength(2);
  expect(listed()).toBe(0);
  await checkpointer.close();
});

test("pages of several ways to stand hold each thread once, and end", async () => {
  const { checkpointer, listed } = counting();
  for (let index = 0; index < 25; index++) await checkpointer.save(asked, `t/${index}`);
  await checkpointer.save(answered, "t/done");
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await checkpointer.listThreads({
      standing: ["waiting", "unfinished", "inDoubt"],
      limit: 4,
      ...(cursor !== undefined && { cursor }),
    });
    ids.push(...page);
    cursor = page.cursor;
  } while (cursor !== undefined);
  expect(new Set(ids).size).toBe(25);
  expect(ids).toHaveLength(25);
  expect(listed()).toBe(0);
  await checkpointer.close();
});

test("metadata must not have the members by which unfinished threads are found", async () => {
  const checkpointer = sqliteCheckpointer({ path: ":memory:" });
  const saving = checkpointer.save(asked, "t", { metadata: { "holdfast.unfinished": 1 } });
  expect(await failureOf(() => saving)).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("Use another key"),
  });
  await checkpointer.save(asked, "t", { metadata: { "holdfast.mine": 1 } });
  expect((await checkpointer.listWithMetadata())[0]?.metadata).toEqual({ "holdfast.mine": 1 });
  await checkpointer.close();
});
