import { describe, expect, test } from "vitest";
import { logOn, MemoryBucket } from "../../../test/memory-bucket.ts";
import type { FoundObject } from "../../driver/object-bucket.ts";
import { placeAt, type RequestFields, recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import type { AppendRequest, LogRecord, ThreadLog } from "../log/thread-log.ts";

const LARGE = Buffer.alloc(20_000, "x");

/** Three records, one of them too large for the document, with edits of older ones. */
const batchAt = (seq: number, fields: RequestFields = {}): AppendRequest => {
  const [record, ...more] = [0, 1, 2].map((index) =>
    recordAt(seq + index, {
      writeId: `new-${index}`,
      ...(index === 0 && { names: ["latest"] }),
      ...(index === 1 && { body: LARGE }),
    }),
  ) as [LogRecord, ...LogRecord[]];
  return requestFor(record, { more, ...fields });
};

const EDITS: RequestFields = { replace: [recordAt(2, { header: "anew", body: LARGE })], drop: [3] };

/** A process that dies at its n-th request: before it takes effect, or before it hears the answer. */
class Dying extends MemoryBucket {
  override readonly objects: Map<string, FoundObject>;
  readonly #n: number;
  readonly #when: "before" | "after";
  #asked = 0;

  constructor(
    objects: Map<string, FoundObject>,
    n: number,
    when: "before" | "after",
    maxObjectBytes = Number.POSITIVE_INFINITY,
  ) {
    super({ maxObjectBytes });
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

  override put(name: string, bytes: Buffer, expected: string | undefined): Promise<string | undefined> {
    return this.#perhaps(() => super.put(name, bytes, expected));
  }

  override delete(name: string): Promise<void> {
    return this.#perhaps(() => super.delete(name));
  }

  /** Called before every request. */
  protected async asked(): Promise<void> {}

  async #perhaps<T>(request: () => Promise<T>): Promise<T> {
    await this.asked();
    const asked = ++this.#asked;
    if (asked < this.#n) return request();
    if (asked === this.#n && this.#when === "after") await request();
    throw new Error("the process is gone");
  }
}

const on = (objects: Map<string, FoundObject>, maxObjectBytes?: number): ThreadLog =>
  logOn(new Dying(objects, Number.POSITIVE_INFINITY, "before", maxObjectBytes));

async function grown(length: number, maxObjectBytes?: number, body?: Buffer): Promise<Map<string, FoundObject>> {
  const objects = new Map<string, FoundObject>();
  const log = on(objects, maxObjectBytes);
  for (let seq = 1; seq <= length; seq++) {
    await log.append("t", { expected: placeAt(seq - 1), record: recordAt(seq, body && { body }) });
  }
  return objects;
}

const sight = (log: ThreadLog): Promise<unknown> =>
  Promise.all([log.readTail("t"), log.list("t", { limit: 100 }), log.entry("t", "latest")]);

describe.each([
  { length: 0, edits: {} },
  { length: 4, edits: {} },
  { length: 16, edits: EDITS },
  { length: 0, edits: {}, maxObjectBytes: 9000 },
  { length: 4, edits: EDITS, maxObjectBytes: 3000 },
])(
  "several records behind $length, in objects of at most $maxObjectBytes bytes",
  ({ length, edits, maxObjectBytes }) => {
    test("cut off at any request they are all there or not at all, and nothing is left behind", async () => {
      const prepared = await grown(length, maxObjectBytes);
      const before = await sight(on(new Map(prepared), maxObjectBytes));
      const done = new Map(prepared);
      const request = batchAt(length + 1, edits);
      expect(await on(done, maxObjectBytes).append("t", request)).toEqual({ appended: true });
      const after = await sight(on(done, maxObjectBytes));
      for (const { bytes } of done.values())
        expect(bytes.byteLength).toBeLessThanOrEqual(maxObjectBytes ?? Number.POSITIVE_INFINITY);
      let kept = 0;
      for (let n = 1, died = true; died; n++) {
        for (const when of ["before", "after"] as const) {
          const objects = new Map(prepared);
          const bucket = new Dying(objects, n, when, maxObjectBytes);
          const outcome = await logOn(bucket)
            .append("t", request)
            .catch(() => undefined);
          died = bucket.died;
          const seen = await sight(on(objects, maxObjectBytes));
          if (outcome !== undefined) expect(seen).toEqual(after);
          else expect([before, after]).toContainEqual(seen);
          if (JSON.stringify(seen) === JSON.stringify(after)) kept++;

          // Made again it is made once, and the thread can be removed to the last object.
          const again = on(objects, maxObjectBytes);
          const repeated = await again.append("t", request);
          if (!repeated.appended) expect(repeated.occupant?.writeId).toBe("new-0");
          expect(await sight(again)).toEqual(after);
          expect(await again.remove("t")).toBe("removed");
          expect([...objects.keys()]).toEqual([]);
        }
      }
      expect(kept).toBeGreaterThan(0);
    });
  },
);

test("more objects to delete than a document can name are named in a list, and cut off at any request all of them go", async () => {
  const maxObjectBytes = 2500;
  const prepared = await grown(60, maxObjectBytes, Buffer.alloc(100, "x"));
  const drop = Array.from({ length: 58 }, (_, index) => index + 2);
  const request = requestFor(recordAt(61, { base: 61 }), { drop });
  const bodiesIn = (objects: Map<string, FoundObject>): number =>
    [...objects.keys()].filter((name) => name.endsWith("-body")).length;
  expect(bodiesIn(prepared)).toBeGreaterThan(50);
  let lists = 0;
  for (let n = 1, died = true; died; n++) {
    const objects = new Map(prepared);
    const bucket = new Dying(objects, n, "after", maxObjectBytes);
    await logOn(bucket)
      .append("t", request)
      .catch(() => undefined);
    died = bucket.died;
    if ([...objects.keys()].some((name) => name.includes("-list"))) lists++;
    const again = on(objects, maxObjectBytes);
    await again.append("t", request);
    await again.append("t", { expected: placeAt(61), record: recordAt(62) });
    expect(bodiesIn(objects), `cut off at request ${n}`).toBeLessThan(5);
    // One that a process wrote before it died, and that no document names, goes with the thread.
    if (!died) expect([...objects.keys()].filter((name) => name.includes("-list"))).toEqual([]);
    expect((await again.readRecords("t", { limit: 99 }))?.records.map(({ seq }) => seq)).toEqual([1, 60, 61, 62]);
    await again.remove("t");
    expect([...objects.keys()]).toEqual([]);
  }
  expect(lists).toBeGreaterThan(0);
});

/** A process that falls asleep before its n-th request while something else happens. */
class Sleeping extends Dying {
  readonly #asleepAt: number;
  readonly #meanwhile: () => Promise<void>;
  #requests = 0;

  constructor(objects: Map<string, FoundObject>, n: number, meanwhile: () => Promise<void>) {
    super(objects, Number.POSITIVE_INFINITY, "before");
    this.#asleepAt = n;
    this.#meanwhile = meanwhile;
  }

  get slept(): boolean {
    return this.#requests >= this.#asleepAt;
  }

  protected override async asked(): Promise<void> {
    if (++this.#requests === this.#asleepAt) await this.#meanwhile();
  }
}

type Act = (log: ThreadLog) => Promise<unknown>;

const ACTS: Readonly<Record<string, Act>> = {
  "one record": (log) => log.append("t", { expected: placeAt(16), record: recordAt(17) }),
  "several records": (log) => log.append("t", batchAt(17)),
  "several records with edits": (log) => log.append("t", batchAt(17, EDITS)),
  "a removal": (log) => log.remove("t"),
  "a copy": (log) => log.copy("t", "u", "copied"),
};

async function inTurn(
  objects: Map<string, FoundObject>,
  ...acts: Act[]
): Promise<{ answers: unknown[]; end: unknown }> {
  const answers: unknown[] = [];
  for (const act of acts) answers.push(await act(on(objects)));
  return { answers, end: [await sight(on(objects)), await on(objects).readTail("u")] };
}

describe.each(Object.entries(ACTS))("while %s sleeps at any request", (_, slow) => {
  test.each(Object.entries(ACTS))(
    "%s is as if it came before or after, and nothing is left behind",
    async (_, fast) => {
      const prepared = await grown(16);
      const before = await inTurn(new Map(prepared), slow, fast);
      const after = await inTurn(new Map(prepared), fast, slow);
      const allowed = [before, { answers: after.answers.toReversed(), end: after.end }];
      for (let n = 1; ; n++) {
        const objects = new Map(prepared);
        let fastAnswer: unknown;
        const bucket = new Sleeping(objects, n, async () => {
          fastAnswer = await fast(on(objects));
        });
        const slowAnswer = await slow(logOn(bucket));
        if (!bucket.slept) return expect(n).toBeGreaterThan(2);
        const { end } = await inTurn(objects);
        expect(allowed, `asleep at request ${n}`).toContainEqual({ answers: [slowAnswer, fastAnswer], end });
        for (const threadId of ["t", "u"]) await on(objects).remove(threadId);
        expect([...objects.keys()], `asleep at request ${n}`).toEqual([]);
      }
    },
  );
});

test("an append of several records whose answer was lost is known as made, without asking twice", async () => {
  class Deaf extends MemoryBucket {
    isDeaf = false;
    override async put(name: string, bytes: Buffer, expected: string | undefined): Promise<string | undefined> {
      const etag = await super.put(name, bytes, expected);
      if (this.isDeaf && name.startsWith("threads/")) throw new Error("the answer was lost");
      return etag;
    }
    override mayHaveWritten(): boolean {
      return true;
    }
  }
  const bucket = new Deaf();
  const log = logOn(bucket);
  await log.append("t", { expected: placeAt(0), record: recordAt(1) });
  bucket.isDeaf = true;
  expect(await log.append("t", batchAt(2))).toEqual({ appended: true });
  expect((await log.readTail("t"))?.records.map(({ writeId }) => writeId)).toEqual([
    "write-1",
    "new-0",
    "new-1",
    "new-2",
  ]);
});

test("several records cost one PUT, and one more for each that is large", async () => {
  const bucket = new MemoryBucket();
  const log = logOn(bucket);
  await log.append("t", { expected: placeAt(0), record: recordAt(1) });
  const asked = bucket.requests.length;
  await log.append("t", batchAt(2));
  expect(bucket.requests.slice(asked).map(({ kind }) => kind)).toEqual(["put", "put"]);
});
