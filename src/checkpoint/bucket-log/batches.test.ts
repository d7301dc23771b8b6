import { describe, expect, test } from "vitest";
import { logOn, MemoryBucket } from "../../../test/memory-bucket.ts";
import { recordAt } from "../../testing/thread-log-cases/sample-records.ts";
import type { AppendRequest, LogRecord, ThreadLog } from "../thread-log.ts";
import type { Condition, FoundObject } from "./object-bucket.ts";

const LARGE = Buffer.alloc(20_000, "x");

/** Three records, one of them too large for the document, with edits of older ones. */
const batchAt = (seq: number, fields: Partial<AppendRequest> = {}): AppendRequest => {
  const [record, ...more] = [0, 1, 2].map((index) =>
    recordAt(seq + index, {
      writeId: `new-${index}`,
      ...(index === 0 && { names: ["latest"] }),
      ...(index === 1 && { body: LARGE }),
    }),
  ) as [LogRecord, ...LogRecord[]];
  return { generation: "first", expected: seq - 1, record, more, ...fields };
};

const EDITS: Partial<AppendRequest> = { replace: [recordAt(2, { header: "anew", body: LARGE })], drop: [3] };

/** A process that dies at its n-th request: before it takes effect, or before it hears the answer. */
class Dying extends MemoryBucket {
  override readonly objects: Map<string, FoundObject>;
  readonly #n: number;
  readonly #when: "before" | "after";
  #asked = 0;

  constructor(objects: Map<string, FoundObject>, n: number, when: "before" | "after") {
    super();
    this.objects = objects;
    this.#n = n;
    this.#when = when;
  }

  get died(): boolean {
    return this.#asked >= this.#n;
  }

  override get(name: string): Promise<FoundObject | undefined> {
    return this.#perhaps(() => super.get(name));
  }

  override put(name: string, bytes: Buffer, condition: Condition): Promise<string | undefined> {
    return this.#perhaps(() => super.put(name, bytes, condition));
  }

  override delete(name: string): Promise<void> {
    return this.#perhaps(() => super.delete(name));
  }

  async #perhaps<T>(request: () => Promise<T>): Promise<T> {
    const asked = ++this.#asked;
    if (asked < this.#n) return request();
    if (asked === this.#n && this.#when === "after") await request();
    throw new Error("the process is gone");
  }
}

const on = (objects: Map<string, FoundObject>): ThreadLog =>
  logOn(new Dying(objects, Number.POSITIVE_INFINITY, "before"));

async function grown(length: number): Promise<Map<string, FoundObject>> {
  const objects = new Map<string, FoundObject>();
  const log = on(objects);
  for (let seq = 1; seq <= length; seq++) {
    await log.append("t", { generation: "first", expected: seq - 1, record: recordAt(seq) });
  }
  return objects;
}

const sight = (log: ThreadLog): Promise<unknown> =>
  Promise.all([log.readTail("t"), log.list("t", { limit: 100 }), log.entry("t", "latest")]);

describe.each([
  { length: 0, edits: {} },
  { length: 4, edits: {} },
  { length: 16, edits: EDITS },
])("several records behind $length", ({ length, edits }) => {
  test("E2: cut off at any request they are all there or not at all, and nothing is left behind", async () => {
    const prepared = await grown(length);
    const before = await sight(on(new Map(prepared)));
    const done = new Map(prepared);
    const request = batchAt(length + 1, edits);
    expect(await on(done).append("t", request)).toEqual({ appended: true });
    const after = await sight(on(done));
    let kept = 0;
    for (let n = 1, died = true; died; n++) {
      for (const when of ["before", "after"] as const) {
        const objects = new Map(prepared);
        const bucket = new Dying(objects, n, when);
        const outcome = await logOn(bucket)
          .append("t", request)
          .catch(() => undefined);
        died = bucket.died;
        const seen = await sight(on(objects));
        if (outcome !== undefined) expect(seen).toEqual(after);
        else expect([before, after]).toContainEqual(seen);
        if (JSON.stringify(seen) === JSON.stringify(after)) kept++;

        // Made again it is made once, and the thread can be removed to the last object.
        const again = on(objects);
        const repeated = await again.append("t", request);
        if (!repeated.appended) expect(repeated.occupant?.writeId).toBe("new-0");
        expect(await sight(again)).toEqual(after);
        expect(await again.remove("t")).toBe("removed");
        expect([...objects.keys()]).toEqual([]);
      }
    }
    expect(kept).toBeGreaterThan(0);
  });
});

test("E2: an append of several records whose answer was lost is known as made, without asking twice", async () => {
  class Deaf extends MemoryBucket {
    isDeaf = false;
    override async put(name: string, bytes: Buffer, condition: Condition): Promise<string | undefined> {
      const etag = await super.put(name, bytes, condition);
      if (this.isDeaf && name.startsWith("threads/")) throw new Error("the answer was lost");
      return etag;
    }
    override mayHaveWritten(): boolean {
      return true;
    }
  }
  const bucket = new Deaf();
  const log = logOn(bucket);
  await log.append("t", { generation: "first", expected: 0, record: recordAt(1) });
  bucket.isDeaf = true;
  expect(await log.append("t", batchAt(2))).toEqual({ appended: true });
  expect((await log.readTail("t"))?.records.map(({ writeId }) => writeId)).toEqual([
    "write-1",
    "new-0",
    "new-1",
    "new-2",
  ]);
});

test("E2: several records cost one PUT, and one more for each that is large", async () => {
  const bucket = new MemoryBucket();
  const log = logOn(bucket);
  await log.append("t", { generation: "first", expected: 0, record: recordAt(1) });
  const asked = bucket.requests.length;
  await log.append("t", batchAt(2));
  expect(bucket.requests.slice(asked).map(({ kind }) => kind)).toEqual(["put", "put"]);
});
