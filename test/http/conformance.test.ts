import { afterAll, describe, test } from "vitest";
import { connectionOf, HttpLog } from "../../src/backends/http/index.ts";
import { MemoryLog } from "../../src/backends/memory/index.ts";
import type { SqliteLog } from "../../src/backends/sqlite/log.ts";
import type { ThreadLog } from "../../src/checkpoint/thread-log.ts";
import { manualClock } from "../../src/testing/manual-clock.ts";
import { testCheckpointer } from "../../src/testing/test-checkpointer.ts";
import { testThreadLog } from "../../src/testing/test-thread-log.ts";
import { wordsOf } from "../../src/testing/thread-log-cases/searching.ts";
import { startCuttingProxy } from "../network/cutting-proxy.ts";
import { type Served, served, sqliteFolder } from "./served.ts";

const logOn = ({ token }: Served, baseUrl: string): HttpLog => new HttpLog(connectionOf({ baseUrl, token }));

/** A service that can be cut off from its clients. */
async function behindProxy(there: Served): Promise<{
  readonly baseUrl: string;
  readonly outage: () => Promise<() => Promise<void>>;
  readonly cleanup: () => Promise<void>;
}> {
  const proxy = await startCuttingProxy({ targetPort: there.service.port });
  return {
    baseUrl: `http://127.0.0.1:${proxy.port}`,
    outage: async () => {
      proxy.refuse();
      return async () => proxy.restore();
    },
    cleanup: async () => {
      await proxy.close();
      await there[Symbol.asyncDispose]();
    },
  };
}

/** The cases of a driver store bodies that are no states; the words of those are known to the cases alone. */
function withTheCasesWords(log: SqliteLog): ThreadLog {
  const catchUp = log.catchUp.bind(log);
  log.catchUp = () => catchUp(wordsOf);
  return log;
}

const retry = { attempts: 4, baseDelayMs: 1 };

describe("HTTP in front of memory", () => {
  testThreadLog({
    name: "http to memory",
    test,
    afterAll,
    create: async () => {
      const clock = manualClock();
      const there = await served(new MemoryLog(clock), { now: clock.now });
      const { baseUrl, outage, cleanup } = await behindProxy(there);
      return { subject: logOn(there, baseUrl), clock, reopen: async () => logOn(there, baseUrl), outage, cleanup };
    },
  });

  testCheckpointer({
    name: "http to memory",
    test,
    afterAll,
    create: async () => {
      const clock = manualClock();
      const there = await served(new MemoryLog(clock), { now: clock.now });
      const { baseUrl, outage, cleanup } = await behindProxy(there);
      const open = () => there.client({ now: clock.now, baseUrl, retry });
      return { subject: open(), clock, reopen: async () => open(), outage, cleanup };
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
      const { baseUrl, outage, cleanup } = await behindProxy(there);
      return {
        subject: logOn(there, baseUrl),
        reopen: async () => logOn(there, baseUrl),
        outage,
        cleanup: () => cleanup().then(remove),
      };
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
      const { baseUrl, outage, cleanup } = await behindProxy(there);
      const client = () => there.client({ now: clock.now, baseUrl, retry });
      return {
        subject: client(),
        reopen: async () => client(),
        clock,
        outage,
        cleanup: () => cleanup().then(remove),
      };
    },
  });
});
