import { beforeEach, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import type { SqliteDatabase } from "./connect.ts";
import { sqliteCheckpointer } from "./index.ts";
import { openDatabase } from "./open-file.ts";

let database: SqliteDatabase;
let checkpointer: Checkpointer;

/** Two threads of five checkpoints each, the last with metadata. */
beforeEach(async () => {
  database = await openDatabase(":memory:");
  checkpointer = sqliteCheckpointer({ database });
  for (const threadId of ["t", "other"]) {
    let state = AgentState.create();
    for (let step = 1; step <= 5; step++) {
      state = state.withMessage(userMessage(`message ${step} of ${threadId}`));
      await checkpointer.save(state, threadId, { checkpointId: `c${step}`, metadata: { step } });
    }
  }
});

/** Everything that a reader can ask about one thread. */
const readings = (threadId: string): Readonly<Record<string, () => Promise<unknown>>> => ({
  load: async () => (await checkpointer.load(threadId))?.messages.length,
  "load of a checkpoint": async () => (await checkpointer.load(threadId, { checkpointId: "c4" }))?.messages.length,
  exists: () => checkpointer.exists(threadId),
  listCheckpoints: async () => (await checkpointer.listCheckpoints(threadId)).map(({ checkpointId }) => checkpointId),
  getMetadata: () => checkpointer.getMetadata(threadId),
  stats: () => checkpointer.stats(threadId),
  fork: async () => {
    await checkpointer.fork(threadId, "forked");
    const messages = (await checkpointer.load("forked"))?.messages.length;
    await checkpointer.delete("forked");
    return messages;
  },
  copy: async () => {
    await checkpointer.copyThread(threadId, "copied");
    const messages = (await checkpointer.load("copied"))?.messages.length;
    await checkpointer.delete("copied");
    return messages;
  },
});

const answersOf = async (threadId: string): Promise<Map<string, unknown>> => {
  const answers = new Map<string, unknown>();
  for (const [name, read] of Object.entries(readings(threadId))) {
    answers.set(name, await read().catch((error: unknown) => (StateError.is(error) ? error.code : error)));
  }
  return answers;
};

describe("a flipped bit is found and named", () => {
  test('any bit of a thread\'s tail, head, or index mark: never an older state, never "no thread"', async () => {
    for (const column of ["tail", "head", "indexed", "stale", "sum"]) {
      for (let bit = 0; bit < 31; bit++) {
        const flip = `UPDATE holdfast_threads SET ${column} = (${column} | ${2 ** bit}) - (${column} & ${2 ** bit}) WHERE thread_id = 't'`;
        database.exec(flip);
        for (const [name, answer] of await answersOf("t")) expect(answer, `${column} ${bit}: ${name}`).toBe("CORRUPT");
        database.exec(flip);
      }
    }
    expect((await answersOf("t")).get("load")).toBe(5);
  });

  test("the error names the thread", async () => {
    database.exec("UPDATE holdfast_threads SET tail = 4 WHERE thread_id = 't'");
    const failure = await failureOf(() => checkpointer.load("t"));
    expect(failure).toMatchObject({ code: "CORRUPT", context: { threadId: "t", location: 'row of thread "t"' } });
    const state = await checkpointer.load("other");
    await checkpointer.save(state!.withMessage(userMessage("goes on")), "other");
  });

  test("a save behind a damaged tail is CORRUPT, and nothing is written", async () => {
    const state = await checkpointer.load("t");
    database.exec("UPDATE holdfast_threads SET tail = 4 WHERE thread_id = 't'");
    const rows = (): unknown => database.prepare("SELECT count(*) AS n FROM holdfast_records").get();
    const before = rows();
    const failure = await failureOf(() => checkpointer.save(state!.withMessage(userMessage("more")), "t"));
    expect(failure.code).toBe("CORRUPT");
    expect(rows()).toEqual(before);
  });

  test("a lost newest record is CORRUPT, and an older state is not loaded", async () => {
    database.exec("DELETE FROM holdfast_records WHERE id % 67108864 = 5");
    for (const [name, answer] of await answersOf("t")) expect(answer, name).toBe("CORRUPT");
  });

  test("whatever is changed in an entry is found by a listing, without its body", async () => {
    const changes = [
      "base = base + 1",
      "head = head - 1",
      "write_id = 'x'",
      "checkpoint_id = checkpoint_id || 'x'",
      "header = replace(header, '\"messages\":3', '\"messages\":7')",
      "metadata = replace(metadata, '3', '9')",
      "metadata = NULL",
    ];
    for (const change of changes) {
      database.exec("SAVEPOINT undamaged");
      database.exec(`UPDATE holdfast_records SET ${change} WHERE id = 1 * 67108864 + 3`);
      const failure = await failureOf(() => checkpointer.listCheckpoints("t"));
      expect(failure, change).toMatchObject({ code: "CORRUPT", context: { location: "record 3" } });
      database.exec("ROLLBACK TO undamaged; RELEASE undamaged");
    }
    expect(await checkpointer.listCheckpoints("t")).toHaveLength(5);
  });

  test("a checkpoint whose id was damaged is CORRUPT when it is loaded by that id, and not missing", async () => {
    const state = await checkpointer.load("t");
    const checkpointId = await checkpointer.save(state!.withMessage(userMessage("more")), "t");
    expect((await checkpointer.load("t", { checkpointId }))?.messages).toHaveLength(6);
    for (const change of ["checkpoint_id = checkpoint_id || 'x'", "checkpoint_id = NULL", "write_id = 'x'"]) {
      database.exec("SAVEPOINT undamaged");
      database.exec(`UPDATE holdfast_records SET ${change} WHERE id = 1 * 67108864 + 6`);
      const failure = await failureOf(() => checkpointer.load("t", { checkpointId }));
      expect(failure, change).toMatchObject({ code: "CORRUPT" });
      database.exec("ROLLBACK TO undamaged; RELEASE undamaged");
    }
  });

  test("a damaged thread is still listed by its name, with nothing that is not proven, and the others are whole", async () => {
    for (const damage of [
      "UPDATE holdfast_threads SET head = 0 WHERE thread_id = 't'",
      "UPDATE holdfast_threads SET head = 2 WHERE thread_id = 't'",
      "UPDATE holdfast_records SET metadata = '{\"step\":6}' WHERE id = 1 * 67108864 + 5",
      "DELETE FROM holdfast_records WHERE id = 1 * 67108864 + 5",
    ]) {
      database.exec(`SAVEPOINT undamaged; ${damage}`);
      expect(await checkpointer.listThreads()).toEqual(["other", "t"]);
      const [other, t] = await checkpointer.listWithMetadata();
      expect(other).toMatchObject({ threadId: "other", checkpointId: "c5", metadata: { step: 5 } });
      expect(t).toEqual({ threadId: "t", checkpointId: "" });
      for (const step of [2, 5, 6]) {
        const found = (await checkpointer.queryByMetadata("step", step)).map(({ threadId }) => threadId);
        expect(found, damage).toEqual(step === 5 ? ["other"] : []);
      }
      database.exec("ROLLBACK TO undamaged; RELEASE undamaged");
    }
  });

  test("a search finds what is whole beside a damaged thread", async () => {
    database.exec("UPDATE holdfast_threads SET tail = 4 WHERE thread_id = 't'");
    expect((await checkpointer.search("message", { limit: 20 })).map(({ threadId }) => threadId)).toEqual(
      Array.from({ length: 5 }, () => "other"),
    );
  });

  test("a damaged thread can be deleted whole", async () => {
    database.exec("UPDATE holdfast_threads SET tail = 4 WHERE thread_id = 't'");
    expect(await checkpointer.delete("t")).toBe(true);
    expect(await checkpointer.load("t")).toBeUndefined();
    expect(database.prepare("SELECT count(*) AS n FROM holdfast_records").get()).toMatchObject({ n: 5 });
  });
});

describe("one thread's metadata does not affect another thread", () => {
  test("metadata that is nested too deep for SQLite's JSON is found by value, and hides no other thread", async () => {
    let deep: unknown = "core";
    for (let level = 0; level < 400; level++) deep = new Map([["in", deep]]);
    const state = AgentState.create().withMessage(userMessage("deep"));
    await checkpointer.save(state, "deep", { metadata: { deep, step: 5 } });
    const found = async (key: string, value: unknown): Promise<readonly string[]> =>
      (await checkpointer.queryByMetadata(key, value)).map(({ threadId }) => threadId);
    expect(await found("step", 5)).toEqual(["deep", "other", "t"]);
    expect(await found("deep", deep)).toEqual(["deep"]);
    const { metadata } = database
      .prepare("SELECT metadata FROM holdfast_records WHERE metadata LIKE '%core%'")
      .get() as {
      metadata: string;
    };
    expect(database.prepare("SELECT json_valid(?) AS valid").get(metadata)).toMatchObject({ valid: 0 });
  });

  test("metadata that is no longer JSON hides no other thread", async () => {
    database.exec("UPDATE holdfast_records SET metadata = '{\"step\":' WHERE id = 1 * 67108864 + 5");
    expect((await checkpointer.queryByMetadata("step", 5)).map(({ threadId }) => threadId)).toEqual(["other"]);
  });
});
