import { randomBytes } from "node:crypto";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { PATIENT } from "../../../test/redis/fixtures.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import { redisLogOptions } from "./checkpointer.ts";
import { keyNames } from "./layout.ts";
import { RedisLog } from "./log.ts";

const THREADS = Array.from({ length: 16 }, (_, index) => `thread ${index}`);

/** Counts the commands that are sent. */
class CountingRedis extends Redis {
  commands = 0;

  override sendCommand(...args: Parameters<Redis["sendCommand"]>): unknown {
    this.commands++;
    return super.sendCommand(...args);
  }
}

await describeWithService("redis", (url) => {
  async function opened() {
    const prefix = `groups_${randomBytes(6).toString("hex")}:`;
    const client = new CountingRedis(url);
    const log = new RedisLog(redisLogOptions({ client, prefix, ...PATIENT }));
    for (const threadId of THREADS) await log.append(threadId, requestFor(recordAt(1)));
    const close = async (): Promise<void> => {
      await log.close();
      client.disconnect();
    };
    return { log, client, keys: keyNames(prefix), close };
  }

  test("appends of one moment are few commands, with everything that a record has", async () => {
    const { log, client, close } = await opened();
    const recordOf = (index: number) =>
      recordAt(2, { names: [`name ${index}`], metadata: `{"step":${index}}`, body: Buffer.from([index, 0, 255]) });
    // The server is given the text of a script that it has not run before.
    await Promise.all(THREADS.map((threadId, index) => log.append(threadId, requestFor(recordOf(index)))));
    const before = client.commands;
    await Promise.all(THREADS.map((threadId) => log.append(threadId, requestFor(recordAt(3)))));
    expect(client.commands - before).toBeLessThan(THREADS.length / 2);
    for (const [index, threadId] of THREADS.entries()) {
      const { words: _, ...expected } = recordOf(index);
      expect((await log.readCheckpoint(threadId, `name ${index}`))?.records.at(-1)).toMatchObject(expected);
    }
    await close();
  });

  test("records of many threads in one command are stored byte by byte, and so are those sent alone", async () => {
    const { log, client, keys, close } = await opened();
    const request = (index: number) => {
      const seq = 2;
      const id = `${"ü€𝄞".repeat(index)} ${index}`;
      const shape = {
        header: `{"of":"${"é".repeat(index * 7)}"}`,
        metadata: index % 3 === 0 ? undefined : `{"name":"${"𝄞\\n".repeat(index)}"}`,
        body: Buffer.from(Array.from({ length: index * 100 }, (_, at) => (at * index) % 256)),
        writeId: index % 2 === 0 ? id : `another ${id}`,
      };
      const record =
        index % 5 === 0
          ? recordAt(seq, { ...shape, checkpointId: undefined, head: 1 })
          : recordAt(seq, { ...shape, checkpointId: id });
      return requestFor(record, index % 4 === 0 ? { ttlMs: 1_000_000.5 } : {});
    };
    const before = client.commands;
    const outcomes = await Promise.all(THREADS.map((threadId, index) => log.append(threadId, request(index))));
    expect(outcomes).toEqual(THREADS.map(() => ({ appended: true })));
    expect(client.commands - before).toBeLessThan(THREADS.length / 2);
    await log.append("alone", requestFor(recordAt(1)));
    await log.append("alone", request(11));
    for (const [threadId, index] of [...THREADS.entries()]
      .map(([at, id]) => [id, at] as const)
      .concat([["alone", 11]])) {
      const { words: _, ...expected } = request(index).record;
      expect((await log.readTail(threadId))?.records.at(-1)).toMatchObject(expected);
      if (expected.checkpointId !== undefined) {
        expect(await log.entry(threadId, expected.checkpointId)).toMatchObject({ seq: 2 });
      }
      expect((await client.pttl(keys.thread(threadId))) > 0).toBe(index % 4 === 0);
    }
    await close();
  });

  test("a key that is no thread, a conflict and a thread that is gone fail alone in their group", async () => {
    const { log, client, keys, close } = await opened();
    await client.set(keys.thread("thread 6"), "not a thread");
    await log.append("thread 8", requestFor(recordAt(2, { writeId: "another's" })));
    await log.remove("thread 10");
    const answers = await Promise.allSettled(THREADS.map((threadId) => log.append(threadId, requestFor(recordAt(2)))));
    expect(answers[6]).toMatchObject({ status: "rejected", reason: { code: "CORRUPT" } });
    expect(answers[8]).toMatchObject({ value: { appended: false, occupant: { writeId: "another's" } } });
    expect(answers[10]).toMatchObject({ value: { appended: false, tail: undefined } });
    for (const [index, answer] of answers.entries()) {
      if (![6, 8, 10].includes(index)) expect(answer).toEqual({ status: "fulfilled", value: { appended: true } });
    }
    await close();
  });
});
