import { expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { SqliteLog } from "../../src/backends/sqlite/log.ts";
import { sqliteLogOptions } from "../../src/backends/sqlite/options.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { whoIsNamed } from "../../src/checkpoint/people/people-in-thread.ts";
import { withChecksum } from "../../src/checkpoint/record/record.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, userMessage } from "../../src/state/message.ts";
import { attributed } from "../../src/state/people/subjects.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { KEY } from "./people.ts";

/** A log that counts the threads which are read by calls of their own. */
function counting(): {
  readonly log: SqliteLog;
  readonly checkpointer: Checkpointer;
  readonly read: () => Set<string>;
} {
  const log = new SqliteLog(sqliteLogOptions({ path: ":memory:" }));
  const read = new Set<string>();
  const readRecords = log.readRecords.bind(log);
  log.readRecords = (threadId, options) => {
    read.add(threadId);
    return readRecords(threadId, options);
  };
  return { log, checkpointer: new Checkpointer(log), read: () => read };
}

const plain = AgentState.create().withMessage(userMessage("hello")).withMessage(assistantMessage("hi"));

test("a first look reads by themselves only threads that may hold something, and finds the person in every one of them", async () => {
  const { checkpointer, read } = counting();
  for (let index = 0; index < 30; index++) {
    await checkpointer.save(AgentState.create({ metadata: { subject: `other-${index}` } }), `other/${index}`);
  }
  const ann = { subject: "ann" };
  await checkpointer.save(AgentState.create({ metadata: ann }).withMessage(userMessage("mine")), "ann/state");
  await checkpointer.save(plain.withMessage(userMessage("I am Ann", { metadata: ann })), "ann/message");
  await checkpointer.save(plain, "ann/metadata", { metadata: { subject: ["bob", "ann"] } });
  await checkpointer.save(AgentState.create({ metadata: { note: attributed("ann", "tall") } }), "ann/value");
  await checkpointer.save(plain, "ann/later");
  const later = (await checkpointer.load("ann/later")) ?? plain;
  await checkpointer.save(later.withMessage(userMessage("Ann again", { metadata: ann })), "ann/later");
  const data = new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });
  const receipt = await data.eraseUser("ann");
  expect(receipt.verified).toBe(true);
  expect([...read()].filter((id) => id.startsWith("other/"))).toEqual([]);
  for (const id of ["ann/state", "ann/message", "ann/metadata", "ann/value", "ann/later"]) {
    expect(JSON.stringify((await checkpointer.load(id))?.fields), id).not.toMatch(/"ann"|I am Ann|Ann again|mine|tall/);
  }
  // Another person, later: whom the others are about is known, and what was written since is looked into.
  await checkpointer.save(AgentState.create({ metadata: { subject: "cyd" } }), "new");
  expect(await data.eraseUser("cyd")).toMatchObject({ verified: true });
  expect((await checkpointer.load("new"))?.metadata["subject"]).not.toBe("cyd");
  await checkpointer.close();
});

const parts = { seq: 1, writeId: "w", base: 1, head: 1, checkpointId: "w", metadata: undefined, words: undefined };
const fields = {
  kind: "base",
  createdAt: 1,
  buildsOn: 0,
  schema: 0,
  messageCount: 0,
  chain: { records: 1, bytes: 1, liveBytes: 1, baseBytes: 1 },
} as const;
const named = (body: string, metadata?: string): readonly string[] | undefined => {
  const record = withChecksum({ ...parts, metadata, body: Buffer.from(body), fields });
  const found = whoIsNamed([record]);
  return found && [...found].sort();
};

test("whom texts name is told however it is written, or not at all", () => {
  expect(named('{"messages":[]}')).toEqual([]);
  expect(named('{"metadata":{"subject":"ann"}}', '{"subject":["bob","cyd"]}')).toEqual(["ann", "bob", "cyd"]);
  expect(named('{"a":[{"holdfast:subject":["ann"],"value":1}]}')).toEqual(["ann"]);
  expect(named('{"metadata":{"\\u0073ubject":"ann"}}')).toEqual(["ann"]);
  expect(named('{"metadata":{"subject":"\\u0061nn"}}')).toEqual(["ann"]);
  // Left to a look into the thread: a list with something else in it, what was erased in part, and what is damaged.
  expect(named('{"metadata":{"subject":["ann",{"$":"undefined"}]}}')).toBeUndefined();
  expect(named('{"metadata":{"subject":{"$":"set","v":["ann"]}}}')).toBeUndefined();
  expect(named('{"messages":[{"metadata":{"erased":true}}]}')).toBeUndefined();
  expect(named('{"messages":[{"metadata":{"\\u0065rased":true}}]}')).toBeUndefined();
  expect(named('{"metadata":{"subject":"ann"')).toBeUndefined();
  const record = withChecksum({ ...parts, body: Buffer.from('{"messages":[]}'), fields });
  expect(whoIsNamed([{ ...record, body: Buffer.from('{"messages":{}}') }])).toBeUndefined();
});
