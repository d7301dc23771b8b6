import { afterAll, describe, expect, test } from "vitest";
import { DeferredIndexLog } from "../../../test/broken/drivers/deferred-index-log.ts";
import { ReferenceLog } from "../../../test/broken/drivers/reference-log.ts";
import { MapStorage } from "../../../test/dict-storages.ts";
import { failureOf } from "../../../test/failure-of.ts";
import { OTHER_METHODS, readingCalls, writingCalls } from "../../../test/read-access/every-method.ts";
import { testReadAccess } from "../../../test/read-access/proof.ts";
import { ReadThroughLog } from "../../../test/read-access/read-through-log.ts";
import { MemoryCheckpointer } from "../../backends/memory/index.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { manualClock } from "../../testing/manual-clock.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { placeAt, put, recordAt } from "../../testing/thread-log-cases/sample-records.ts";
import { BaseCheckpointer } from "../base-checkpointer.ts";
import { Checkpointer } from "../checkpointer.ts";
import type { CheckpointerOptions } from "../context.ts";
import { StorageBackendAdapter } from "../dict/adapter.ts";
import { isReadable } from "./listed-threads.ts";
import { PrefixLog } from "./prefix-log.ts";
import { ReadOnlyLog } from "./read-only-log.ts";
import type { ThreadLog } from "./thread-log.ts";

/** Every stored record and every time of expiry, as the log itself gives them. */
async function contentsOf(log: ThreadLog): Promise<Record<string, string>> {
  const { items } = await log.listThreads({ prefix: "", limit: 1000 });
  const found: Record<string, string> = {};
  for (const { threadId } of items.filter(isReadable)) {
    found[threadId] = JSON.stringify([await log.readTail(threadId), await log.list(threadId, { limit: 1000 })]);
  }
  return found;
}

describe("memory", () => {
  testReadAccess({
    name: "memory",
    create: async () => {
      const log = new MemoryLog();
      // A view of the whole, so that closing one checkpointer leaves the log open for the others.
      const open = (options: CheckpointerOptions): Checkpointer => new Checkpointer(new PrefixLog(log, ""), options);
      return { open, contents: () => contentsOf(log) };
    },
  });
});

describe("a storage with save and load", () => {
  testReadAccess({
    name: "a dict-shaped storage",
    create: async () => {
      const cells = new Map<string, string>();
      return {
        open: (options) => new StorageBackendAdapter(new MapStorage(cells), options),
        contents: async () => Object.fromEntries(cells),
      };
    },
  });
});

describe("the layer", () => {
  testThreadLog({
    name: "memory read through the layer",
    test,
    afterAll,
    create: async () => {
      const clock = manualClock();
      const inner = new MemoryLog(clock);
      const open = (): ThreadLog => new ReadThroughLog(inner, new ReadOnlyLog(inner));
      return { subject: open(), reopen: async () => open(), clock };
    },
  });

  test("every public method of a checkpointer is known as one that reads or one that writes", () => {
    const subject = new MemoryCheckpointer();
    const known = [readingCalls(subject, { ids: [] }), writingCalls(subject, { ids: [] })].flatMap((calls) =>
      Object.keys(calls).map((call) => call.split(" ")[0]),
    );
    const methods = [Checkpointer.prototype, BaseCheckpointer.prototype].flatMap((each) =>
      Object.getOwnPropertyNames(each),
    );
    expect(methods.filter((method) => !known.includes(method) && !OTHER_METHODS.includes(method))).toEqual([]);
  });

  test("the layer refuses every write before it reaches the log below", async () => {
    const heard: string[] = [];
    const inner = new Proxy(new MemoryLog(), {
      get: (log, name) => {
        heard.push(String(name));
        const value: unknown = Reflect.get(log, name, log);
        return typeof value === "function" ? value.bind(log) : value;
      },
    });
    const log: ThreadLog = new ReadOnlyLog(inner);
    heard.length = 0;
    for (const write of [
      () => put(log, "t", recordAt(1)),
      () => log.remove("t"),
      () => log.remove("t", placeAt(1, "g")),
      () => log.copy("t", "u", "g2"),
    ]) {
      const { code, message } = await failureOf(write);
      expect([code, message]).toEqual(["PERMISSION_DENIED", expect.stringContaining('access: "read"')]);
    }
    expect(heard).toEqual([]);
  });

  test("an index that is kept within the appends is used, and one that is brought up to date by writing is not", async () => {
    const within: ThreadLog = new ReadOnlyLog(new ReferenceLog(new MemoryLog()));
    const deferred: ThreadLog = new ReadOnlyLog(new DeferredIndexLog(new MemoryLog()));
    expect([within, deferred].map(({ capabilities }) => capabilities.search)).toEqual(["with words", undefined]);
    expect((await within.search(["a"], { limit: 1 })).hits).toEqual([]);
    expect(await failureOf(() => deferred.search(["a"], { limit: 1 }))).toMatchObject({ code: "UNSUPPORTED" });
  });

  test('an access that is neither "read" nor "write" is refused where it is written', async () => {
    const options = { access: "raed" } as unknown as { access: "read" };
    const { code, message } = await failureOf(() => new MemoryCheckpointer(options));
    expect([code, message]).toEqual(["INVALID_ARGUMENT", expect.stringContaining('"read" or "write"')]);
  });
});
