import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { observedDatabase } from "../../../test/observed-database.ts";
import { seededRandom } from "../../../test/processes/seeded-random.ts";
import { seed } from "../../../test/property-seed.ts";
import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { isReadable } from "../../checkpoint/log/listed-threads.ts";
import { memberOf, UNINDEXED } from "../../checkpoint/sql-log/members.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { markAt, put, recordAt } from "../../testing/thread-log-cases/sample-records.ts";
import type { SqliteDatabase } from "./connect.ts";
import { SqliteLog } from "./log.ts";
import { openDatabase } from "./open-file.ts";
import { sqliteLogOptions } from "./options.ts";

let database: SqliteDatabase;
let log: SqliteLog;
/** How often the index of metadata was written to. */
let writes = 0;

beforeEach(async () => {
  writes = 0;
  database = await openDatabase(":memory:");
  const onRun = (sql: string): void => {
    if (sql.includes("holdfast_members")) writes++;
  };
  log = new SqliteLog(sqliteLogOptions({ database: observedDatabase(database, { onRun }) }));
});
afterEach(async () => {
  await log.close();
  database.close();
});

const rows = (): readonly string[] =>
  (
    database.prepare("SELECT member, thread_id FROM holdfast_members ORDER BY thread_id, member").all() as {
      member: number;
      thread_id: string;
    }[]
  ).map(({ member, thread_id }) => `${thread_id} ${member}`);

const found = async (key: string, value: unknown, options: { prefix?: string } = {}, limit = 50): Promise<string[]> => {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const range = { limit, ...options, ...(cursor !== undefined && { cursor }) };
    const page = await log.queryMetadata(key, JSON.stringify(value), range);
    ids.push(...page.items.filter(isReadable).map(({ threadId }) => threadId));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return ids;
};

test("whatever happens to threads, the index holds the members of their newest checkpoints and no others", async () => {
  console.log(`HOLDFAST_SEED=${seed}`);
  const random = seededRandom(seed);
  const checkpointer = new Checkpointer(log);
  const ids = ["a", "a/1", "b", "c"];
  const pick = <T>(items: readonly T[]): T => items[random.below(items.length)] as T;
  const values = [1, "1", null, { deep: [1, 2] }, true];
  const metadata = (): Record<string, unknown> | undefined =>
    random.below(4) === 0
      ? undefined
      : Object.fromEntries(["x", "y", "z"].flatMap((key) => (random.below(2) === 0 ? [] : [[key, pick(values)]])));
  const grown = async (id: string): Promise<AgentState> =>
    ((await checkpointer.load(id)) ?? AgentState.create()).withMessage(userMessage(`word ${random.below(9)}`));
  const save = async (id: string, options: { checkpointId?: string } = {}): Promise<unknown> => {
    const given = metadata();
    return checkpointer.save(await grown(id), id, { ...options, ...(given !== undefined && { metadata: given }) });
  };
  const steps: readonly ((id: string) => Promise<unknown>)[] = [
    (id) => save(id),
    (id) => save(id),
    (id) => save(id, { checkpointId: "latest" }),
    async (id) => {
      const [newest] = await checkpointer.listCheckpoints(id, { limit: 1 });
      if (newest !== undefined) await checkpointer.delete(id, { checkpointId: newest.checkpointId });
    },
    (id) => checkpointer.delete(id),
    async (id) => {
      const target = pick(ids);
      if (target !== id && !(await checkpointer.exists(target))) await checkpointer.copyThread(id, target);
    },
    () => checkpointer.vacuum({ keepLast: 1 }),
    (id) => checkpointer.withLease(id, async () => undefined),
  ];
  for (let step = 0; step < 300; step++) {
    await pick(steps)(pick(ids));
    const heads = await checkpointer.listWithMetadata();
    // Every one ends with an unanswered message, which is what an unfinished thread is found by.
    const expected = heads.flatMap(({ threadId, metadata: held, standing }) =>
      [...Object.entries(held ?? {}), ...(standing?.unfinished ? [["holdfast.unfinished", 1] as const] : [])].map(
        ([key, value]) => `${threadId} ${memberOf(key, JSON.stringify(value))}`,
      ),
    );
    expect(rows().toSorted()).toEqual(expected.toSorted());
    const [key, value] = [pick(["x", "y", "z"]), pick(values)];
    const matching = heads.filter(
      ({ metadata: held }) => held !== undefined && JSON.stringify(held[key]) === JSON.stringify(value),
    );
    expect(await found(key, value)).toEqual(matching.map(({ threadId }) => threadId).toSorted());
  }
});

test("a save whose metadata is the one before writes nothing to the index", async () => {
  await put(log, "t", recordAt(1, { metadata: '{"a":1,"b":2}' }));
  expect(writes).toBe(2);
  await put(log, "t", recordAt(2, { metadata: '{"a":1,"b":2}' }));
  await put(log, "t", markAt(3, { head: 2 }));
  expect(writes).toBe(2);
  await put(log, "without", recordAt(1));
  await put(log, "without", recordAt(2));
  expect(writes).toBe(2);
  await put(log, "t", recordAt(4, { metadata: '{"a":1,"b":3}' }));
  expect(rows()).toEqual([`t ${memberOf("a", "1")}`, `t ${memberOf("b", "3")}`].toSorted());
});

test("metadata that an edit changes in the newest checkpoint is found as it is then", async () => {
  await put(log, "t", recordAt(1, { metadata: '{"a":1}' }));
  await put(log, "t", markAt(2, { head: 1 }), { replace: [recordAt(1, { metadata: '{"a":2}' })] });
  expect([await found("a", 1), await found("a", 2)]).toEqual([[], ["t"]]);
});

describe("metadata that is not taken apart", () => {
  const nested = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const manyKeys = JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`key ${index}`, 1])));
  const poisoned: Readonly<Record<string, string>> = {
    deep: `{"a":1,"deep":${nested}}`,
    huge: JSON.stringify({ a: 1, huge: "x".repeat(500_000) }),
    "many keys": manyKeys.replace("{", '{"a":1,'),
  };

  test("is saved with one mark, found by each of its values, and hides no other thread", async () => {
    for (const [threadId, metadata] of Object.entries(poisoned)) await put(log, threadId, recordAt(1, { metadata }));
    await put(log, "plain", recordAt(1, { metadata: '{"a":1}' }));
    await put(log, "no JSON", recordAt(1, { metadata: '{"a":' }));
    expect(await found("a", 1)).toEqual(["deep", "huge", "many keys", "plain"]);
    expect(await found("a", 1, {}, 1)).toEqual(["deep", "huge", "many keys", "plain"]);
    expect(await found("key 4999", 1)).toEqual(["many keys"]);
    expect(await found("huge", "x".repeat(500_000))).toEqual(["huge"]);
    expect(await found("deep", 1)).toEqual([]);
    expect(await found("a", 1, { prefix: "h" })).toEqual(["huge"]);
    const marks = Object.keys(poisoned).map((threadId) => `${threadId} ${UNINDEXED}`);
    expect(rows()).toEqual([...marks, `plain ${memberOf("a", "1")}`]);
  });

  test("is no longer looked at once it became plain, or its thread is gone", async () => {
    for (const [threadId, metadata] of Object.entries(poisoned)) {
      await put(log, threadId, recordAt(1, { metadata }));
      await log.copy(threadId, `${threadId}, copied`, "copy");
      await put(log, threadId, recordAt(2, { metadata: '{"a":2}' }));
      expect(await found("a", 1)).toEqual([`${threadId}, copied`]);
      await log.remove(`${threadId}, copied`);
      await log.remove(threadId);
      expect(rows()).toEqual([]);
    }
  });
});

test("rows of the index whose threads are missing do not end a query", async () => {
  for (const threadId of ["b", "z"]) await put(log, threadId, recordAt(1, { metadata: '{"a":1}' }));
  const insert = database.prepare("INSERT INTO holdfast_members (member, thread_id) VALUES (?, ?)");
  for (let index = 0; index < 1200; index++) insert.run(memberOf("a", "1"), `missing ${index}`);
  expect(await found("a", 1)).toEqual(["b", "z"]);
  expect(await found("a", 1, {}, 1)).toEqual(["b", "z"]);
});

test.each([
  ["its newest checkpoint", `UPDATE holdfast_records SET metadata = '{"a":7}' WHERE id < 2 * 67108864`],
  ["its own row", "UPDATE holdfast_threads SET head = 1 WHERE thread_id = 't'"],
])("a thread with damage to %s takes its rows of the index with it when it is deleted", async (_, damage) => {
  await put(log, "t", recordAt(1, { metadata: '{"a":2}' }));
  await put(log, "t", recordAt(2, { metadata: '{"a":1}' }));
  await put(log, "other", recordAt(1, { metadata: '{"a":1}' }));
  database.exec(damage);
  expect(await log.remove("t")).toBe("removed");
  expect(rows()).toEqual([`other ${memberOf("a", "1")}`]);
});
