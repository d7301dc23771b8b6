import { describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { logOn, MemoryBucket } from "../../../test/memory-bucket.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { put, recordAt } from "../../testing/thread-log-cases/sample-records.ts";
import { Checkpointer } from "../checkpointer.ts";
import { isReadable, isUnreadableThread } from "../log/listed-threads.ts";
import { PrefixLog } from "../log/prefix-log.ts";
import type { ListedThread, UnreadableThread } from "../log/thread-log.ts";

const THREADS = Array.from({ length: 50 }, (_, index) => `thread-${String(index).padStart(2, "0")}`);

async function filled(threads = THREADS): Promise<MemoryBucket> {
  const bucket = new MemoryBucket();
  const log = logOn(bucket);
  for (const threadId of threads) await put(log, threadId, recordAt(1));
  return bucket;
}

const documentOf = (threadId: string): string => `threads/${threadId}`;

function alter(bucket: MemoryBucket, name: string, change: (bytes: Buffer) => Buffer): void {
  const found = bucket.objects.get(name);
  if (found === undefined) throw new Error(`there is no object ${name}`);
  bucket.objects.set(name, { version: `${found.version} altered`, bytes: change(Buffer.from(found.bytes)) });
}

/** Cuts the document in half, as a transfer that broke off would. */
const tear = (bucket: MemoryBucket, threadId: string): void =>
  alter(bucket, documentOf(threadId), (bytes) => bytes.subarray(0, bytes.byteLength >> 1));

/** As a later version of the library would write it. */
const age = (bucket: MemoryBucket, threadId: string): void =>
  alter(bucket, documentOf(threadId), (bytes) =>
    Buffer.from(bytes.toString("latin1").replace(/^holdfast-object 1 /, "holdfast-object 9 "), "latin1"),
  );

interface Walk {
  readonly met: readonly string[];
  readonly unreadable: readonly UnreadableThread[];
  readonly longestCursor: number;
}

/** Every page. */
async function walk(bucket: MemoryBucket, limit: number, prefix = ""): Promise<Walk> {
  const log = logOn(bucket);
  const items: ListedThread[] = [];
  let [cursor, longestCursor]: [string | undefined, number] = [undefined, 0];
  for (let pages = 0; pages < 200; pages++) {
    const page = await log.listThreads({ prefix, limit, ...(cursor !== undefined && { cursor }) });
    expect(page.items.length).toBeLessThanOrEqual(limit);
    items.push(...page.items);
    cursor = page.cursor;
    if (cursor === undefined) {
      const met = items.filter(isReadable).map(({ threadId }) => threadId);
      return { met, unreadable: items.filter(isUnreadableThread), longestCursor };
    }
    longestCursor = Math.max(longestCursor, cursor.length);
  }
  throw new Error("the walk does not end");
}

const without = (...threads: readonly string[]): string[] => THREADS.filter((id) => !threads.includes(id));

describe("a damaged thread in a bucket", () => {
  test.each(["thread-00", "thread-07", "thread-10", "thread-49"])(
    "of 50 threads in pages of any size, %s that is torn is an item with its id and its trouble",
    async (damaged) => {
      const bucket = await filled();
      tear(bucket, damaged);
      for (const limit of [10, 1, 49, 50, 100]) {
        const { met, unreadable } = await walk(bucket, limit);
        expect(met, `pages of ${limit}`).toEqual(without(damaged));
        const message = expect.stringContaining(documentOf(damaged));
        expect(unreadable).toEqual([{ threadId: damaged, trouble: { code: "CORRUPT", message } }]);
      }
    },
  );

  test("one that a newer version wrote says so", async () => {
    const bucket = await filled();
    age(bucket, "thread-20");
    const { met, unreadable } = await walk(bucket, 10);
    expect(met).toEqual(without("thread-20"));
    const message = expect.stringContaining("Upgrade holdfast");
    expect(unreadable).toEqual([{ threadId: "thread-20", trouble: { code: "INCOMPATIBLE", message } }]);
  });

  test("one whose head lies on a page that is gone is listed as well", async () => {
    const bucket = await filled();
    const log = logOn(bucket);
    for (let seq = 2; seq <= 40; seq++) {
      await put(log, "thread-20", recordAt(seq, { head: 1, checkpointId: undefined }));
    }
    const pages = [...bucket.objects.keys()].filter((name) => name.endsWith("-page"));
    for (const name of pages) bucket.objects.delete(name);
    expect(pages).not.toHaveLength(0);
    const { met, unreadable } = await walk(bucket, 10);
    expect(met).toEqual(without("thread-20"));
    const message = expect.stringContaining("is missing");
    expect(unreadable).toEqual([{ threadId: "thread-20", trouble: { code: "CORRUPT", message } }]);
  });

  test("one outside the prefix is no trouble of a listing within it", async () => {
    const bucket = await filled();
    tear(bucket, "thread-20");
    const { met, unreadable } = await walk(bucket, 3, "thread-1");
    expect([met, unreadable]).toEqual([THREADS.filter((id) => id.startsWith("thread-1")), []]);
  });

  test("one whose name holds only a hash of its id is in every list that it may belong to, without an id", async () => {
    const long = `thread-${"x".repeat(900)}`;
    const bucket = await filled(["other", "thread-1", long]);
    const [name = ""] = [...bucket.objects.keys()].filter((each) => each.includes("~~"));
    alter(bucket, name, (bytes) => bytes.subarray(0, bytes.byteLength >> 1));
    const nameless = [{ threadId: undefined, trouble: { code: "CORRUPT", message: expect.any(String) } }];
    expect(await walk(bucket, 1)).toMatchObject({ met: ["other", "thread-1"], unreadable: nameless });
    expect(await walk(bucket, 9, "thread-")).toMatchObject({ met: ["thread-1"], unreadable: nameless });
    expect(await walk(bucket, 9, "other")).toMatchObject({ met: ["other"], unreadable: [] });
    const view = new PrefixLog(logOn(bucket), "thread-");
    const { items } = await view.listThreads({ prefix: "", limit: 9 });
    expect(items.filter(isUnreadableThread)).toHaveLength(1);
    expect(JSON.stringify(items)).not.toContain(name);
  });

  test("a bucket full of threads of a newer version hides no other, each is named, and no cursor grows with them", async () => {
    const bucket = await filled();
    const readable = ["thread-11", "thread-33", "thread-48"];
    for (const threadId of without(...readable)) age(bucket, threadId);
    const { met, unreadable, longestCursor } = await walk(bucket, 1);
    expect(met).toEqual(readable);
    expect(unreadable.map(({ threadId }) => threadId)).toEqual(without(...readable));
    expect(longestCursor).toBeLessThan(20);
  });

  test("an outage is no damage: it fails the page", async () => {
    const bucket = await filled();
    const get = bucket.get.bind(bucket);
    bucket.get = async (name) => {
      if (name === documentOf("thread-20")) throw new Error("the connection was cut");
      return get(name);
    };
    await expect(walk(bucket, 10)).rejects.toThrow("the connection was cut");
  });

  test.each(["nothing of ours!", ".", "thread-01!thread-02", "../other"])(
    "a cursor that this backend did not make is refused: %s",
    async (cursor) => {
      const log = logOn(await filled());
      expect(await failureOf(() => log.listThreads({ prefix: "", limit: 5, cursor }))).toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    },
  );

  test("search, vacuum and the list of a checkpointer reach the others and name the trouble", async () => {
    const bucket = new MemoryBucket();
    const checkpointer = new Checkpointer(logOn(bucket));
    const fruits = ["apple", "berry", "cherry"];
    for (const fruit of fruits) {
      const state = AgentState.create().withMessage(userMessage(`${fruit} needle`));
      await checkpointer.save(state, fruit);
      await checkpointer.save(state.withMetadata({ again: true }), fruit);
    }
    tear(bucket, "berry");
    const trouble = { threadId: "berry", code: "CORRUPT", message: expect.stringContaining("threads/berry") };
    const hits = await checkpointer.search("needle");
    expect(hits.map(({ threadId }) => threadId).sort()).toEqual(["apple", "cherry"]);
    expect(hits.warnings).toMatchObject([trouble]);
    const report = await checkpointer.vacuum({ keepLast: 1 });
    expect(report).toMatchObject({ checkpoints: 2, skipped: 1, warnings: [trouble] });
    const listed = await checkpointer.listThreads();
    expect([[...listed], listed.cursor, listed.warnings]).toEqual([["apple", "cherry", "berry"], undefined, [trouble]]);
  });
});
