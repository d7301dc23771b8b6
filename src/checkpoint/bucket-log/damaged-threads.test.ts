import { describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { logOn, MemoryBucket } from "../../../test/memory-bucket.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { put, recordAt } from "../../testing/thread-log-cases/sample-records.ts";
import { Checkpointer } from "../checkpointer.ts";

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
  bucket.objects.set(name, { etag: `${found.etag} altered`, bytes: change(Buffer.from(found.bytes)) });
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
  readonly met: string[];
  readonly failure: unknown;
  readonly longestCursor: number;
}

/** Every page until the last one, or until one fails. */
async function walk(bucket: MemoryBucket, limit: number, prefix = ""): Promise<Walk> {
  const log = logOn(bucket);
  const met: string[] = [];
  let [cursor, longestCursor]: [string | undefined, number] = [undefined, 0];
  for (let pages = 0; pages < 200; pages++) {
    try {
      const page = await log.listThreads({ prefix, limit, ...(cursor !== undefined && { cursor }) });
      expect(page.items.length).toBeLessThanOrEqual(limit);
      met.push(...page.items.map(({ threadId }) => threadId));
      cursor = page.cursor;
    } catch (failure) {
      return { met, failure, longestCursor };
    }
    if (cursor === undefined) return { met, failure: undefined, longestCursor };
    longestCursor = Math.max(longestCursor, cursor.length);
  }
  throw new Error("the walk does not end");
}

const without = (...threads: readonly string[]): string[] => THREADS.filter((id) => !threads.includes(id));

describe("a damaged thread in a bucket", () => {
  test.each(["thread-00", "thread-07", "thread-10", "thread-49"])(
    "of 50 threads in pages of 10, %s that is torn comes last, as an error that names it",
    async (damaged) => {
      const bucket = await filled();
      tear(bucket, damaged);
      for (const limit of [10, 1, 49, 50, 100]) {
        const { met, failure } = await walk(bucket, limit);
        expect(met, `pages of ${limit}`).toEqual(without(damaged));
        expect(failure).toMatchObject({ code: "CORRUPT", message: expect.stringContaining(documentOf(damaged)) });
      }
    },
  );

  test("one that a newer version wrote comes last, as an error that says so", async () => {
    const bucket = await filled();
    age(bucket, "thread-20");
    const { met, failure } = await walk(bucket, 10);
    expect(met).toEqual(without("thread-20"));
    expect(failure).toMatchObject({ code: "INCOMPATIBLE", message: expect.stringContaining("Upgrade holdfast") });
  });

  test("one whose head lies on a page that is gone comes last as well", async () => {
    const bucket = await filled();
    const log = logOn(bucket);
    for (let seq = 2; seq <= 40; seq++) {
      await put(log, "thread-20", recordAt(seq, { head: 1, checkpointId: undefined }));
    }
    const pages = [...bucket.objects.keys()].filter((name) => name.endsWith(".page"));
    for (const name of pages) bucket.objects.delete(name);
    expect(pages).not.toHaveLength(0);
    const { met, failure } = await walk(bucket, 10);
    expect(met).toEqual(without("thread-20"));
    expect(failure).toMatchObject({ code: "CORRUPT", message: expect.stringContaining("is missing") });
  });

  test("one outside the prefix is no trouble of a listing within it", async () => {
    const bucket = await filled();
    tear(bucket, "thread-20");
    const { met, failure } = await walk(bucket, 3, "thread-1");
    expect([met, failure]).toEqual([THREADS.filter((id) => id.startsWith("thread-1")), undefined]);
  });

  test("those repaired before the walk came to them are given like any other", async () => {
    const bucket = await filled();
    const whole = new Map(bucket.objects);
    const damaged = ["thread-03", "thread-04", "thread-30"];
    for (const threadId of damaged) tear(bucket, threadId);
    const log = logOn(bucket);
    const { items, cursor } = await log.listThreads({ prefix: "", limit: 49 });
    for (const threadId of damaged) bucket.objects.set(documentOf(threadId), whole.get(documentOf(threadId))!);
    const met = items.map(({ threadId }) => threadId);
    for (let next = cursor; next !== undefined; ) {
      const page = await log.listThreads({ prefix: "", limit: 2, cursor: next });
      met.push(...page.items.map(({ threadId }) => threadId));
      next = page.cursor;
    }
    expect(met).toEqual([...without(...damaged), ...damaged]);
  });

  test("a bucket full of threads of a newer version hides no other, and no cursor grows with them", async () => {
    const bucket = await filled();
    const readable = ["thread-11", "thread-33", "thread-48"];
    for (const threadId of without(...readable)) age(bucket, threadId);
    const { met, failure, longestCursor } = await walk(bucket, 1);
    expect(met).toEqual(readable);
    expect(failure).toMatchObject({ code: "INCOMPATIBLE" });
    expect(longestCursor).toBeLessThan(2500);
  });

  test("more damaged threads than a cursor can name are never passed over in silence", async () => {
    const bucket = await filled();
    const whole = new Map(bucket.objects);
    for (const threadId of without("thread-49")) tear(bucket, threadId);
    const log = logOn(bucket);
    const { items, cursor } = await log.listThreads({ prefix: "", limit: 10 });
    expect(items.map(({ threadId }) => threadId)).toEqual(["thread-49"]);
    for (const [name, found] of whole) bucket.objects.set(name, found);
    let [next, met] = [cursor, 0];
    const failure = await failureOf(async () => {
      while (next !== undefined) {
        const page = await log.listThreads({ prefix: "", limit: 3, cursor: next });
        met += page.items.length;
        next = page.cursor;
      }
    });
    expect(failure).toMatchObject({ code: "CORRUPT", message: expect.stringContaining("List the threads again") });
    expect(met).toBeGreaterThan(0);
  });

  test("an outage is no damage: it fails the page", async () => {
    const bucket = await filled();
    const get = bucket.get.bind(bucket);
    bucket.get = async (name) => {
      if (name === documentOf("thread-20")) throw new Error("the connection was cut");
      return get(name);
    };
    const { met, failure } = await walk(bucket, 10);
    expect(met).toEqual(THREADS.slice(0, 10));
    expect(failure).toMatchObject({ message: "the connection was cut" });
  });

  test.each(["nothing of ours!", ".", "thread-01!../other", ".!", "thread-01!thread-02!+!thread-03"])(
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
    const hits = await checkpointer.search("needle");
    expect(hits.map(({ threadId }) => threadId).sort()).toEqual(["apple", "cherry"]);
    expect(hits.warnings).toMatchObject([{ code: "CORRUPT", message: expect.stringContaining("threads/berry") }]);
    const report = await checkpointer.vacuum({ keepLast: 1 });
    expect(report).toMatchObject({ checkpoints: 2, skipped: 1, warnings: [{ code: "CORRUPT" }] });
    const listed = await checkpointer.listThreads();
    expect([...listed].sort()).toEqual(["apple", "cherry"]);
    expect(await failureOf(() => checkpointer.listThreads({ cursor: listed.cursor! }))).toMatchObject({
      code: "CORRUPT",
    });
  });
});
