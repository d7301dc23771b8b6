import { expect, test } from "vitest";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import { SqliteLog } from "../src/backends/sqlite/log.ts";
import { sqliteLogOptions } from "../src/backends/sqlite/options.ts";
import { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { type CheckpointContext, contextOf } from "../src/checkpoint/context.ts";
import { placeOfTail } from "../src/checkpoint/log/driver-rules.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { assistantMessage, userMessage } from "../src/state/message.ts";
import { failureOf } from "./failure-of.ts";

const asked = AgentState.create().withMessage(userMessage("hello"));
const answered = asked.withMessage(assistantMessage("hi"));

/** How many threads a list may look at beside those that it was asked for: damage is in no index. */
const LOOK = 100;

/** A log that counts what it lists, since it was last asked. */
function counting(): { readonly checkpointer: Checkpointer; readonly listed: () => number } {
  const log = new SqliteLog(sqliteLogOptions({ path: ":memory:" }));
  const list = log.listThreads.bind(log);
  let listed = 0;
  log.listThreads = async (options) => {
    const page = await list(options);
    listed += page.items.length;
    return page;
  };
  const count = (): number => {
    const counted = listed;
    listed = 0;
    return counted;
  };
  return { checkpointer: new Checkpointer(log), listed: count };
}

test("unfinished threads are found without a look at the others, whatever became of them", async () => {
  const { checkpointer, listed } = counting();
  for (let index = 0; index < 450; index++) await checkpointer.save(answered, `done/${index}`);
  for (const id of ["a", "b", "c"]) await checkpointer.save(asked, `open/${id}`, { metadata: { id } });
  const unfinished = async (): Promise<unknown> => {
    const found = await checkpointer.listWithMetadata({ standing: "unfinished" });
    expect(listed()).toBeLessThanOrEqual(LOOK);
    return found.map(({ threadId, metadata }) => [threadId, metadata]);
  };
  const open = (...ids: readonly string[]): unknown => ids.map((id) => [`open/${id}`, { id }]);
  expect(await unfinished()).toEqual(open("a", "b", "c"));
  const again = (await checkpointer.load("open/a"))?.withMessage(assistantMessage("hi"));
  await checkpointer.save(again ?? asked, "open/a");
  await checkpointer.delete("open/b");
  expect(await unfinished()).toEqual(open("c"));
  await checkpointer.copyThread("open/c", "copied");
  expect(await unfinished()).toEqual([["copied", { id: "c" }], ...(open("c") as unknown[])]);
  expect(await checkpointer.queryByMetadata("id", "c")).toHaveLength(2);
  await checkpointer.close();
});

test("a damaged thread that no index leads to is named by every list once it was met, and no longer than it is damaged", async () => {
  const { checkpointer, listed } = counting();
  for (let index = 0; index < 350; index++) await checkpointer.save(answered, `done/${index}`);
  const { log } = contextOf(checkpointer) as CheckpointContext;
  const newer = async (threadId: string): Promise<void> => {
    const chain = await log.readTail(threadId);
    const [record] = chain?.records ?? [];
    if (chain === undefined || record === undefined) throw new Error("the thread was just saved");
    const at = { seq: 2, base: 2, head: 2, writeId: "n", checkpointId: "n", words: undefined };
    const header = '{"format":99,"kind":"base","createdAt":0,"messages":1,"bytes":2}';
    const expected = placeOfTail({ generation: chain.generation, entry: chain.tail });
    await log.append(threadId, { expected, record: { ...record, ...at, header } });
  };
  await newer("done/99");
  const named = async (): Promise<unknown> => {
    listed();
    const [inbox, threads] = [await checkpointer.inbox(), await checkpointer.listThreads({ standing: "waiting" })];
    expect(listed()).toBeLessThanOrEqual(2 * LOOK);
    return [inbox, threads].map(({ warnings }) => (warnings ?? []).map(({ threadId }) => threadId));
  };
  for (let times = 0; times < 2; times++) await named();
  expect(await named()).toEqual([["done/99"], ["done/99"]]);
  expect(await named()).toEqual([["done/99"], ["done/99"]]);
  expect((await checkpointer.inbox({ threadPrefix: "done/1" })).warnings ?? []).toEqual([]);
  await checkpointer.delete("done/99");
  for (let times = 0; times < 4; times++) await named();
  expect(await named()).toEqual([[], []]);
  await checkpointer.close();
});

test("pages of several ways to stand hold each thread once, and end", async () => {
  const { checkpointer, listed } = counting();
  for (let index = 0; index < 25; index++) await checkpointer.save(asked, `t/${index}`);
  for (let index = 0; index < 250; index++) await checkpointer.save(answered, `done/${index}`);
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await checkpointer.listThreads({
      standing: ["waiting", "unfinished", "inDoubt"],
      limit: 4,
      ...(cursor !== undefined && { cursor }),
    });
    expect(listed()).toBeLessThanOrEqual(LOOK);
    ids.push(...page);
    cursor = page.cursor;
  } while (cursor !== undefined);
  expect(new Set(ids).size).toBe(25);
  expect(ids).toHaveLength(25);
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
