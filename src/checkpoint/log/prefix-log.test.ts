import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ReferenceLog } from "../../../test/broken/drivers/reference-log.ts";
import { failureOf } from "../../../test/failure-of.ts";
import { testFeatures } from "../../../test/feature-sample.ts";
import { neighboursOf } from "../../../test/neighbours-of-a-prefix.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { SqliteLog } from "../../backends/sqlite/log.ts";
import { sqliteLogOptions } from "../../backends/sqlite/options.ts";
import type { Fixture } from "../../testing/conformance-case.ts";
import { FaultyLog } from "../../testing/faulty-log.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { grow, put, recordAt, threadsOf } from "../../testing/thread-log-cases/sample-records.ts";
import { recordSaying, wordsOf } from "../../testing/thread-log-cases/speaking-records.ts";
import { Checkpointer } from "../checkpointer.ts";
import { PrefixLog } from "./prefix-log.ts";
import type { FoundRecords, LogCapabilities, ThreadLog } from "./thread-log.ts";

/** As long as a prefix may be. */
const LONGEST = `${"p".repeat(63)}/`;
/** What a careless query takes for a pattern. */
const PATTERN = "p_%*/";

async function memoryFixture(
  prefix: string,
  wrapped: (log: MemoryLog) => ThreadLog = (log) => log,
): Promise<Fixture<ThreadLog>> {
  const clock = manualClock();
  const inner = wrapped(new MemoryLog(clock));
  const cleanup = await neighboursOf(inner, prefix);
  const open = (): ThreadLog => new PrefixLog(inner, prefix);
  return { subject: open(), reopen: async () => open(), clock, cleanup };
}

const folder = await mkdtemp(join(tmpdir(), "holdfast-prefix-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;

async function sqliteFixture(prefix: string): Promise<Fixture<ThreadLog>> {
  const path = join(folder, `${++files}.db`);
  const opened: ThreadLog[] = [];
  const openInner = (): ThreadLog => {
    const inner = new SqliteLog(sqliteLogOptions({ path }));
    opened.push(inner);
    return inner;
  };
  const inner = openInner();
  const untouched = await neighboursOf(inner, prefix);
  return {
    subject: new PrefixLog(inner, prefix),
    reopen: async () => new PrefixLog(openInner(), prefix),
    cleanup: async () => {
      await untouched();
      for (const log of opened) await log.close();
    },
  };
}

const STORAGES: Readonly<Record<string, (prefix: string) => Promise<Fixture<ThreadLog>>>> = {
  memory: memoryFixture,
  "memory with every ability": (prefix) => memoryFixture(prefix, (log) => new ReferenceLog(log)),
  sqlite: sqliteFixture,
};

/** Every storage behind every prefix is for `npm run test:matrix`: elsewhere the longest where most is forwarded, and the pattern where patterns are queries. */
const PAIRS = [
  ["memory with every ability", LONGEST],
  ["sqlite", PATTERN],
];

for (const [storage, create] of Object.entries(STORAGES)) {
  for (const prefix of [LONGEST, PATTERN]) {
    const isPair = PAIRS.some(([one, other]) => one === storage && other === prefix);
    if (!isPair && process.env["HOLDFAST_TIER"] !== "matrix") continue;
    testThreadLog({
      name: `${storage} behind a prefix of ${prefix.length}`,
      test,
      afterAll,
      create: () => create(prefix),
    });
  }
}

testFeatures({
  name: "memory behind a prefix",
  test,
  afterAll,
  create: async () => {
    const prefix = LONGEST;
    const clock = manualClock();
    const inner = new MemoryLog(clock);
    const cleanup = await neighboursOf(inner, prefix);
    let isDown = false;
    const faultAt = () => (isDown ? ({ when: "before", code: "PERMISSION_DENIED" } as const) : undefined);
    const open = () => new Checkpointer(new PrefixLog(new FaultyLog(inner, { faultAt }), prefix), clock);
    const outage = async () => {
      isDown = true;
      return async () => {
        isDown = false;
      };
    };
    return { subject: open(), reopen: async () => open(), clock, outage, cleanup };
  },
});

test("the fixtures notice whatever happens outside the prefix", async () => {
  const deeds: readonly ((log: ThreadLog) => Promise<unknown>)[] = [
    (log) => log.remove("t"),
    (log) => put(log, "p/", recordAt(3)),
    (log) => put(log, "made", recordAt(1)),
    (log) => put(log, "P/t", recordAt(3), { replace: [recordAt(1, { header: "{}" })] }),
  ];
  for (const deed of deeds) {
    const inner = new MemoryLog();
    const untouched = await neighboursOf(inner, "p/");
    await put(inner, "p/t", recordAt(1));
    await untouched();
    await deed(inner);
    await expect(untouched(), String(deed)).rejects.toThrow(/outside/);
  }
});

describe("a PrefixLog", () => {
  test("offers what the log below offers, also what that learns later", async () => {
    const sqlite = new SqliteLog(sqliteLogOptions({ path: ":memory:" }));
    for (const inner of [new MemoryLog(), sqlite]) {
      const { maxThreadIdBytes: _, ...offered } = new PrefixLog(inner, "p/").capabilities;
      expect(offered).toEqual(inner.capabilities);
    }
    await sqlite.close();
    class LearningLog extends MemoryLog {
      override capabilities: LogCapabilities = { ...new MemoryLog().capabilities, ttl: false };
      override async search(): Promise<FoundRecords> {
        return { hits: [], order: "best" };
      }
      override async connect(): Promise<void> {
        this.capabilities = { ...this.capabilities, search: "with words", ttl: true };
      }
    }
    const view: ThreadLog = new PrefixLog(new LearningLog(), "p/");
    expect([view.capabilities.search, view.capabilities.ttl]).toEqual([undefined, false]);
    await view.connect();
    expect((await view.search(["a"], { limit: 1 })).hits).toEqual([]);
    expect([view.capabilities.search, view.capabilities.ttl]).toEqual(["with words", true]);
    expect(view.capabilities, "one object, until they change").toBe(view.capabilities);
  });

  test("passes the clock, the secrets, the kind of an error and the doubt about a write through", async () => {
    const refusal = new Error("refused");
    const inner: ThreadLog = Object.assign(new MemoryLog(), {
      secrets: ["secret"],
      now: async () => 42,
      classify: (error: unknown) => (error === refusal ? ("PERMISSION_DENIED" as const) : undefined),
      declined: (error: unknown) => error === refusal,
    });
    const view: ThreadLog = new PrefixLog(inner, "p/");
    expect(await view.now()).toBe(42);
    expect([view.name, view.secrets]).toEqual(["memory", ["secret"]]);
    expect([view.classify(refusal), view.classify(new Error("other"))]).toEqual(["PERMISSION_DENIED", undefined]);
    expect([view.declined(refusal), view.declined(new Error("other"))]).toEqual([true, false]);
  });

  test("says how long a thread id it takes, and leaves users their 1024 bytes behind the longest prefix", () => {
    const inner = new MemoryLog();
    expect(new PrefixLog(inner, "").capabilities.maxThreadIdBytes).toBe(1088);
    expect(new PrefixLog(inner, "\u00e9/").capabilities.maxThreadIdBytes).toBe(1085);
    const longest = new PrefixLog(inner, `${"p".repeat(63)}/`);
    expect(longest.capabilities.maxThreadIdBytes).toBe(1024);
    expect(new PrefixLog(longest, "q/").capabilities.maxThreadIdBytes).toBe(1022);
  });

  test.each(["p".repeat(65), "\u0000/", "\ud800", 5, undefined])("refuses an invalid prefix: %j", async (prefix) => {
    expect(await failureOf(() => new PrefixLog(new MemoryLog(), prefix as string))).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("prefix of thread ids"),
    });
  });

  test("does not give out a thread that the log below was not asked for", async () => {
    const stray = { threadId: "other/t", head: recordAt(1), entry: recordAt(1), score: 1 };
    const inner: ThreadLog = Object.assign(new MemoryLog(), {
      listThreads: async () => ({ items: [stray], cursor: undefined }),
      queryMetadata: async () => ({ items: [stray], cursor: undefined }),
      search: async () => ({ hits: [stray], order: "best" as const }),
    });
    const view: ThreadLog = new PrefixLog(inner, "p/");
    for (const ask of [
      () => view.listThreads({ prefix: "", limit: 5 }),
      () => view.queryMetadata("a", "1", { limit: 5 }),
      () => view.search(["a"], { limit: 5 }),
    ]) {
      expect(await failureOf(ask)).toMatchObject({ code: "CORRUPT" });
    }
  });

  test("stops its own subscriptions when it is closed, and leaves the log below open", async () => {
    const inner = new MemoryLog();
    const view: ThreadLog = new PrefixLog(inner, "p/");
    let rung = 0;
    view.subscribe("t", () => rung++);
    await grow(view, "t", 1);
    expect(rung).toBe(1);
    await view.close();
    await put(inner, "p/t", recordAt(2));
    expect(rung).toBe(1);
    expect(await failureOf(() => view.tail("t"))).toMatchObject({ code: "CLOSED" });
    expect((await new PrefixLog(inner, "p/").tail("t"))?.entry.seq).toBe(2);
  });

  test("may stand on another, and each sees its own threads", async () => {
    const inner = new SqliteLog(sqliteLogOptions({ path: join(folder, "nested.db") }));
    const outer = new PrefixLog(inner, "p/");
    const nested: ThreadLog = new PrefixLog(outer, "q/");
    await put(nested, "t", recordSaying(1, "fox"));
    await put(outer, "t", recordSaying(1, "fox"));
    await nested.catchUp(wordsOf);
    expect((await nested.search(["fox"], { limit: 9 })).hits.map(({ threadId }) => threadId)).toEqual(["t"]);
    expect((await threadsOf(outer, "", 9)).map(({ threadId }) => threadId).sort()).toEqual(["q/t", "t"]);
    expect((await inner.tail("p/q/t"))?.entry.seq).toBe(1);
    await inner.close();
  });
});
