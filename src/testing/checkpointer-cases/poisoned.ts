import assert from "node:assert/strict";
import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { contextOf } from "../../checkpoint/context.ts";
import { placeOfTail } from "../../checkpoint/log/driver-rules.ts";
import type { LogRecord, ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";
import { userMessage } from "../../state/message.ts";
import { failsWith } from "../expect-failure.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { conversation, growThread, historyOf, loaded } from "./conversations.ts";

/** Ways to spoil one record, as damage, another version or another program would. */
const POISONS: Readonly<Record<string, Partial<LogRecord>>> = {
  "a damaged header": { header: "{" },
  "a newer format": { header: '{"format":99,"kind":"base","createdAt":0,"messages":1,"bytes":2}' },
  "a damaged body": { body: Buffer.from("not what was written") },
};

/** Adds an unreadable checkpoint to the thread. False if the storage refuses it, as a service may. */
async function poison(log: ThreadLog, threadId: string, spoilt: Partial<LogRecord>): Promise<boolean> {
  const chain = await log.readTail(threadId);
  const last = chain?.records.at(-1);
  if (chain === undefined || last === undefined) throw new Error("only a thread that exists can be poisoned");
  const seq = chain.tail.seq + 1;
  const names = { seq, head: seq, writeId: `poison ${seq}`, checkpointId: `poison ${seq}` };
  const record: LogRecord = { ...last, ...names, words: undefined, ...spoilt };
  try {
    const outcome = await log.append(threadId, {
      expected: placeOfTail({ generation: chain.generation, entry: chain.tail }),
      record,
    });
    assert.equal(outcome.appended, true, "the poisoned record is added");
    return true;
  } catch (error) {
    if (StateError.is(error, "INVALID_ARGUMENT")) return false;
    throw error;
  }
}

/** Three threads of three messages, in the middle of which one is spoilt: before and behind it must be others. */
async function poisoned(subject: BaseCheckpointer, spoilt: Partial<LogRecord>): Promise<boolean> {
  const log = contextOf(subject)?.log;
  if (log === undefined) throw new Error("a case that poisons a record must name the need");
  for (const threadId of ["a", "b", "c"]) await growThread(subject, threadId, 3, () => ({ metadata: { tag: "x" } }));
  return poison(log, "b", spoilt);
}

const eachPoison = (
  statement: string,
  needs: NonNullable<CheckpointerCase["needs"]>,
  run: (subject: BaseCheckpointer, poison: string) => Promise<void>,
): readonly Omit<CheckpointerCase, "area">[] =>
  Object.entries(POISONS).map(([name, spoilt]) => ({
    name: `${statement}: ${name}`,
    needs: ["log", "history", ...needs],
    run: async ({ subject }) => {
      if (await poisoned(subject, spoilt)) await run(subject, name);
    },
  }));

export const poisonedCases: readonly CheckpointerCase[] = checkpointerCasesOf("poisoned records", [
  ...eachPoison(
    "one thread's record that cannot be read keeps no search from the others",
    ["search"],
    async (subject) => {
      const hits = await subject.search("message 2", { limit: 100 });
      assert.deepEqual(hits.map(({ threadId }) => threadId).sort(), ["a", "b", "c"]);
      const named = hits.warnings.filter(({ threadId }) => threadId !== undefined);
      assert.ok(
        named.every(({ threadId, code }) => threadId === "b" && code !== "UNKNOWN"),
        JSON.stringify(named),
      );
      if (subject.capabilities.searchMethod === "scan") assert.ok(named.length > 0, "a scan says what it left out");
      assert.equal((await subject.search("message 2")).length, 3, "and again");
    },
  ),
  ...eachPoison(
    "one thread's record that cannot be read keeps no thread from a vacuum",
    ["vacuum"],
    async (subject) => {
      const report = await subject.vacuum({ keepLast: 1 });
      for (const threadId of ["a", "c"]) {
        assert.equal((await historyOf(subject, threadId)).length, 1, threadId);
        assert.equal((await loaded(subject, threadId)).messages.length, 3, threadId);
      }
      assert.equal(report.skipped, report.warnings.length);
      for (const { threadId, message } of report.warnings) {
        assert.equal(threadId, "b");
        assert.ok(message.length > 0 && message.length <= 500, "a message that says what is wrong");
      }
      const isReported = report.skipped === 1 && report.checkpoints === 4;
      const wasOldAnyway = report.skipped === 0 && report.checkpoints === 7;
      assert.ok(isReported || wasOldAnyway, JSON.stringify(report));
    },
  ),
  ...eachPoison(
    "one thread's record that cannot be read hides no thread from a list",
    ["listWithMetadata"],
    async (subject, poison) => {
      const found = await subject.listWithMetadata();
      assert.deepEqual(found.map(({ threadId }) => threadId).sort(), ["a", "b", "c"]);
      assert.deepEqual(found.find(({ threadId }) => threadId === "c")?.metadata, { tag: "x" });
      if (poison === "a damaged body") return;
      assert.deepEqual(
        found.warnings.map(({ threadId }) => threadId),
        ["b"],
      );
    },
  ),
  {
    name: "metadata of one thread that cannot be read keeps no query from the others",
    needs: ["log", "history", "metadataQuery"],
    run: async ({ subject }) => {
      if (!(await poisoned(subject, { metadata: '{"tag":{"$":"of a later version","v":1}}' }))) return;
      const found = await subject.queryByMetadata("tag", "x");
      assert.deepEqual(found.map(({ threadId }) => threadId).sort(), ["a", "c"]);
      const unexpected = found.warnings.filter(({ threadId }) => threadId !== "b");
      assert.deepEqual(unexpected, []);
    },
  },
  {
    name: "a thread whose newest record cannot be read fails to load, and nothing older is passed off as it",
    needs: ["log", "history"],
    run: async ({ subject }) => {
      if (!(await poisoned(subject, { body: Buffer.from("not what was written") }))) return;
      await failsWith("CORRUPT", () => subject.load("b"), "load");
      assert.equal((await loaded(subject, "c")).messages.length, 3);
    },
  },
  {
    name: "eight megabytes of letters in one message keep no other thread from being found",
    needs: ["search"],
    run: async ({ subject }) => {
      if (subject.capabilities.limits.maxRecordBytes < 10_000_000) return;
      await subject.save(conversation(1, "needle"), "a");
      const long = "a".repeat(8_000_000);
      await subject.save(conversation(0).withMessages([userMessage(`${long} needle`), userMessage("needle")]), "b");
      await subject.save(conversation(1, "needle"), "c");
      const hits = await subject.search("needle", { limit: 100 });
      assert.deepEqual(hits.map(({ threadId }) => threadId).sort(), ["a", "b", "c"]);
      assert.deepEqual(
        (await subject.search("a".repeat(300))).map(({ threadId }) => threadId),
        ["b"],
      );
    },
  },
]);
