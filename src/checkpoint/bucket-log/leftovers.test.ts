import { describe, expect, test } from "vitest";
import { logOn, MemoryBucket } from "../../../test/memory-bucket.ts";
import type { FoundObject } from "../../driver/object-bucket.ts";
import { placeAt, recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import type { AppendRequest, LogRecord } from "../log/thread-log.ts";
import { namedAfter, newRandomName } from "./layout.ts";
import type { BucketLog } from "./log.ts";

type Objects = Map<string, FoundObject>;

const LARGE = Buffer.alloc(20_000, "x");

/** A bucket of objects that others see too. Calls an observer before every request. */
class Shared extends MemoryBucket {
  override readonly objects: Objects;
  readonly #before: (name: string) => Promise<void> | void;

  constructor(objects: Objects, maxObjectBytes: number | undefined, before: (name: string) => Promise<void> | void) {
    super(maxObjectBytes === undefined ? {} : { maxObjectBytes });
    this.objects = objects;
    this.#before = before;
  }

  override async get(name: string): Promise<FoundObject | undefined> {
    await this.#before(name);
    return super.get(name);
  }

  override async put(name: string, bytes: Buffer, expected: string | undefined): Promise<string | undefined> {
    await this.#before(name);
    return super.put(name, bytes, expected);
  }

  override async delete(name: string): Promise<void> {
    await this.#before(name);
    return super.delete(name);
  }
}

const on = (
  objects: Objects,
  before: (name: string) => Promise<void> | void = () => undefined,
  most?: number,
): BucketLog => logOn(new Shared(objects, most, before));

async function grown(length: number, most?: number): Promise<Objects> {
  const objects: Objects = new Map();
  const log = on(objects, undefined, most);
  for (let seq = 1; seq <= length; seq++) {
    const body = seq % 20 === 0 ? { body: LARGE } : {};
    await log.append("t", { expected: placeAt(seq - 1), record: recordAt(seq, body) });
  }
  return objects;
}

const dying = (n: number): (() => void) => {
  let requests = 0;
  return () => {
    if (++requests > n) throw new Error("the process is gone");
  };
};

const APPENDS: Readonly<Record<string, (length: number) => AppendRequest>> = {
  "a large record": (length) => requestFor(recordAt(length + 1, { body: LARGE })),
  "records and edits": (length) => {
    const more = [2, 3].map((ahead) => recordAt(length + ahead, { body: LARGE })) as LogRecord[];
    return requestFor(recordAt(length + 1), { more, replace: [recordAt(2, { body: LARGE })], drop: [3] });
  },
};

const CASES = [
  { what: "a large record", length: 4 },
  { what: "a large record", length: 16 },
  // Pages are merged.
  { what: "a large record", length: 80 },
  { what: "a large record", length: 16, most: 9000 },
  { what: "records and edits", length: 4 },
  { what: "records and edits", length: 16 },
  { what: "records and edits", length: 16, most: 9000 },
];

describe.each(CASES)("$what behind $length, in objects of at most $most bytes", ({ what, length, most }) => {
  const request = (APPENDS[what] as (length: number) => AppendRequest)(length);

  test("what one that died wrote is swept, and nothing else", async () => {
    const prepared = await grown(length, most);
    let swept = 0;
    for (let n = 1, died = true; died; n++) {
      const objects = new Map(prepared);
      died = await on(objects, dying(n), most)
        .append("t", request)
        .then(
          () => false,
          () => true,
        );
      const before = await on(objects, undefined, most).readRecords("t", { limit: 200 });
      const size = objects.size;
      await on(objects, undefined, most).removeLeftovers();
      if (objects.size < size) swept++;
      expect(await on(objects, undefined, most).readRecords("t", { limit: 200 })).toEqual(before);
      if (before?.tail.seq === length) {
        // What the next append would write all the same may stay.
        const ofNext = namedAfter(`write-${length}`);
        const names = [...objects.keys()].filter((name) => !name.includes(ofNext));
        expect(names.sort(), `died after request ${n}`).toEqual([...prepared.keys()].sort());
      }
      await on(objects, undefined, most).append("t", request);
      expect((await on(objects, undefined, most).readTail("t"))?.tail.seq).toBe(
        length + 1 + (request.more?.length ?? 0),
      );
    }
    expect(swept).toBeGreaterThan(0);
  });

  test("one that is under way while a sweep runs is made, and whole", async () => {
    const prepared = await grown(length, most);
    const made = new Map(prepared);
    await on(made, undefined, most).append("t", request);
    const wanted = await on(made, undefined, most).readRecords("t", { limit: 200 });
    for (let n = 1; ; n++) {
      const objects = new Map(prepared);
      let requests = 0;
      const sleeping = on(
        objects,
        async () => {
          if (++requests === n) await on(objects, undefined, most).removeLeftovers();
        },
        most,
      );
      expect(await sleeping.append("t", request)).toEqual({ appended: true });
      expect(await on(objects, undefined, most).readRecords("t", { limit: 200 }), `asleep at ${n}`).toEqual(wanted);
      if (requests < n) break;
    }
  });

  test("a sweep that sleeps while it is made takes nothing of it", async () => {
    const prepared = await grown(length, most);
    prepared.set(strayOf(prepared), { bytes: LARGE, version: "stray" });
    const made = new Map(prepared);
    await on(made, undefined, most).append("t", request);
    const wanted = await on(made, undefined, most).readRecords("t", { limit: 200 });
    for (let n = 1; ; n++) {
      const objects = new Map(prepared);
      let requests = 0;
      const sleeping = on(
        objects,
        async () => {
          if (++requests === n) await on(objects, undefined, most).append("t", request);
        },
        most,
      );
      await sleeping.removeLeftovers();
      if (requests < n) break;
      expect(await on(objects, undefined, most).readRecords("t", { limit: 200 }), `asleep at ${n}`).toEqual(wanted);
      expect(objects.has(strayOf(prepared)), `asleep at ${n}`).toBe(false);
    }
  });
});

/** The name of a body in the life of the thread that no document counts. */
function strayOf(objects: Objects): string {
  const document = objects.get("threads/t")?.bytes.toString("latin1") ?? "";
  const life = /"life":"(\w+)"/.exec(document)?.[1] ?? "";
  return `records/t/${life}/0000000002-0123456789abcdef-body`;
}

/** A place where a process waits until it is let go on. */
class Halt {
  reach: () => void = () => undefined;
  goOn: () => void = () => undefined;
  readonly reached = new Promise<void>((resolve) => {
    this.reach = resolve;
  });
  readonly #isLetGo = new Promise<void>((resolve) => {
    this.goOn = resolve;
  });

  async wait(): Promise<void> {
    this.reach();
    await this.#isLetGo;
  }
}

/** Appends, waits before its commit, and dies when it would try again. */
function tryingOnce(objects: Objects, request: AppendRequest, halt: Halt) {
  let [isOver, looks] = [false, 0];
  class Trying extends MemoryBucket {
    override readonly objects: Objects = objects;
    override async get(name: string): Promise<FoundObject | undefined> {
      // The first look is for what was written in vain.
      if (isOver && ++looks > 1) throw new Error("the process is gone");
      return super.get(name);
    }
    override async put(name: string, bytes: Buffer, expected: string | undefined): Promise<string | undefined> {
      if (name === "threads/t") await halt.wait();
      isOver ||= name === "threads/t";
      return super.put(name, bytes, expected);
    }
  }
  return logOn(new Trying())
    .append("t", request)
    .catch(() => undefined);
}

test("what a refused append takes back is not what another is about to count", async () => {
  const objects = await grown(16);
  const [one, two] = [new Halt(), new Halt()];
  const refused = tryingOnce(objects, requestFor(recordAt(17, { body: LARGE })), one);
  await one.reached;
  // Replaces the document, whose tail stays: from both documents the same page is pushed out.
  await on(objects).removeLeftovers();
  const made = tryingOnce(objects, requestFor(recordAt(17, { writeId: "other" })), two);
  await two.reached;
  one.goOn();
  expect(await refused).toBeUndefined();
  two.goOn();
  expect(await made).toEqual({ appended: true });
  const { records = [] } = (await on(objects).readRecords("t", { limit: 50 })) ?? {};
  expect(records).toHaveLength(17);
});

test("an erasure takes what a save wrote that died before it counted", async () => {
  const objects = await grown(4);
  const stray = strayOf(objects);
  objects.set(stray, { bytes: LARGE, version: "stray" });
  await on(objects).scrub();
  expect(objects.has(stray)).toBe(false);
  expect((await on(objects).readTail("t"))?.tail.seq).toBe(4);
});

test("a sweep reads and writes no thread in which everything counts", async () => {
  const objects = await grown(16);
  const versions = [...objects].map(([name, { version }]) => [name, version]);
  await on(objects).removeLeftovers();
  expect([...objects].map(([name, { version }]) => [name, version])).toEqual(versions);
});

describe("a copy that was announced", () => {
  test("and died is given up by the second sweep, wherever it died", async () => {
    const prepared = await grown(20);
    let left = 0;
    for (let n = 1, died = true; died; n++) {
      const objects = new Map(prepared);
      died = await on(objects, dying(n))
        .copy("t", "u", "second")
        .then(
          () => false,
          () => true,
        );
      if (!died || objects.has("threads/u") === false) continue;
      left++;
      for (let sweep = 1; sweep <= 2; sweep++) await on(objects).removeLeftovers();
      expect([...objects.keys()].sort(), `died after request ${n}`).toEqual([...prepared.keys()].sort());
      expect(await on(objects).copy("t", "u", "third")).toBe("copied");
    }
    expect(left).toBeGreaterThan(5);
  });

  test("and is held up by sweeps that overlap is not given up by them", async () => {
    const prepared = await grown(20);
    const isOfCopy = (name: string): boolean => name.startsWith("records/u/");
    for (let n = 2; ; n++) {
      const objects = new Map(prepared);
      let [requests, looks, written] = [0, 0, 0];
      const sleeping = on(objects, async (name) => {
        if (isOfCopy(name)) written++;
        if (++requests !== 6) return;
        const before = [...objects.keys()].filter(isOfCopy);
        expect(before.length).toBeGreaterThan(0);
        const slow = on(objects, async (each) => {
          if (each === "threads/u" && ++looks === n) await on(objects).removeLeftovers();
        });
        await slow.removeLeftovers();
        expect([...objects.keys()].filter(isOfCopy), `the other ran at look ${n}`).toEqual(before);
      });
      expect(await sleeping.copy("t", "u", "second")).toBe("copied");
      expect(written, "copied once").toBe([...objects.keys()].filter(isOfCopy).length);
      if (looks < n) break;
    }
  });

  test("and is given up though it only slept starts again", async () => {
    const objects = await grown(20);
    let requests = 0;
    const sleeping = on(objects, async () => {
      if (++requests === 6) for (let sweep = 1; sweep <= 2; sweep++) await on(objects).removeLeftovers();
    });
    expect(await sleeping.copy("t", "u", "second")).toBe("copied");
    expect((await on(objects).readRecords("u", { limit: 50 }))?.records).toHaveLength(20);
    for (const threadId of ["t", "u"]) await on(objects).remove(threadId);
    expect([...objects.keys()]).toEqual([]);
  });
});

test("a damaged thread keeps no other from being swept", async () => {
  const objects = await grown(4);
  const stray = strayOf(objects);
  objects.set(stray, { bytes: LARGE, version: "stray" });
  for (const threadId of ["a", "z"]) {
    objects.set(`threads/${threadId}`, { bytes: Buffer.from("torn"), version: "torn" });
    objects.set(`records/${threadId}/${newRandomName()}/0000000001-page`, { bytes: LARGE, version: "x" });
  }
  await on(objects).removeLeftovers();
  expect(objects.has(stray)).toBe(false);
  expect([...objects.keys()].filter((name) => /\/[az](\/|$)/.test(name))).toHaveLength(4);
});
