import { afterAll, describe, test } from "vitest";
import { connectionOf, HttpLog } from "../../src/backends/http/index.ts";
import { MemoryLog } from "../../src/backends/memory/index.ts";
import type { SqliteLog } from "../../src/backends/sqlite/log.ts";
import type { ThreadLog } from "../../src/checkpoint/thread-log.ts";
import { manualClock } from "../../src/testing/manual-clock.ts";
import { testCheckpointer } from "../../src/testing/test-checkpointer.ts";
import { testThreadLog } from "../../src/testing/test-thread-log.ts";
import { wordsOf } from "../../src/testing/thread-log-cases/searching.ts";
import { type Served, served, sqliteFolder } from "./served.ts";

const logOn = ({ service, token }: Served): HttpLog => new HttpLog(connectionOf({ baseUrl: service.url, token }));

/** The cases of a driver store bodies that are no states; the words of those are known to the cases alone. */
function withTheCasesWords(log: SqliteLog): ThreadLog {
  const catchUp = log.catchUp.bind(log);
  log.catchUp = () => catchUp(wordsOf);
  return log;
}

describe("HTTP in front of memory", () => {
  testThreadLog({
    name: "http to memory",
    test,
    afterAll,
    create: async () => {
      const clock = manualClock();
      const there = await served(new MemoryLog(clock), { now: clock.now });
      return {
        subject: logOn(there),
        clock,
        reopen: async () => logOn(there),
        cleanup: async () => there[Symbol.asyncDispose](),
      };
    },
  });

  testCheckpointer({
    name: "http to memory",
    test,
    afterAll,
    create: async () => {
      const clock = manualClock();
      const there = await served(new MemoryLog(clock), { now: clock.now });
      const open = () => there.client({ now: clock.now, retry: { baseDelayMs: 1 } });
      return {
        subject: open(),
        clock,
        reopen: async () => open(),
        cleanup: async () => there[Symbol.asyncDispose](),
      };
    },
  });
});

describe("HTTP in front of SQLite", () => {
  testThreadLog({
    name: "http to sqlite",
    test,
    afterAll,
    create: async () => {
      const { open, remove } = await sqliteFolder();
      const there = await served(withTheCasesWords(open()));
      const cleanup = async (): Promise<void> => {
        await there[Symbol.asyncDispose]();
        await remove();
      };
      return { subject: logOn(there), reopen: async () => logOn(there), cleanup };
    },
  });

  testCheckpointer({
    name: "http to sqlite",
    test,
    afterAll,
    create: async () => {
      const { open, remove } = await sqliteFolder();
      const clock = manualClock();
      const there = await served(open(), { now: clock.now });
      const client = () => there.client({ now: clock.now, retry: { baseDelayMs: 1 } });
      const cleanup = async (): Promise<void> => {
        await there[Symbol.asyncDispose]();
        await remove();
      };
      return { subject: client(), reopen: async () => client(), clock, cleanup };
    },
  });
});
