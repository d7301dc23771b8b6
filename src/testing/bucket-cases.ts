import assert from "node:assert/strict";
import type { ObjectBucket } from "../driver/object-bucket.ts";
import { another, type ConformanceCase, type ConformanceSuite, casesOf, type FixtureNeed } from "./conformance-case.ts";
import { failureOf } from "./expect-failure.ts";

export type BucketCase = ConformanceCase<ObjectBucket, FixtureNeed>;

/** Every byte, so that whatever is taken for text on the way is noticed. */
const EVERY_BYTE = Buffer.from(Uint8Array.from({ length: 512 }, (_, index) => index % 256));

const LONGEST = `${"long/".repeat(195)}end`;

/** Names that a careless storage joins, decodes, folds or sorts wrongly. */
const NAMES: readonly string[] = [
  "b",
  "B",
  "a/b",
  "a/B",
  "a.b",
  "a-b",
  "a_b",
  "a~2Fb",
  "a~2fb",
  "a/b~/c",
  "a0",
  "x".repeat(200),
  `${"folder/".repeat(40)}${"y".repeat(200)}`,
  // The rest of 1024 is for a prefix of the fixture's.
  LONGEST,
];

async function create(bucket: ObjectBucket, name: string, text: string): Promise<string> {
  const version = await bucket.put(name, Buffer.from(text), undefined);
  assert.ok(version !== undefined, `${name} is created where nothing is`);
  return version;
}

const textAt = async (bucket: ObjectBucket, name: string): Promise<string | undefined> =>
  (await bucket.get(name))?.bytes.toString();

async function listed(bucket: ObjectBucket, options: Parameters<ObjectBucket["list"]>[0]): Promise<string[]> {
  const names: string[] = [];
  for await (const page of bucket.list(options)) names.push(...page);
  return names;
}

const inByteOrder = (names: readonly string[]): string[] =>
  names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

const conditions: readonly BucketCase[] = casesOf("conditions", [
  {
    name: "an object is created once, and the refused write leaves nothing",
    run: async ({ subject }) => {
      const version = await create(subject, "a", "first");
      assert.equal(await subject.put("a", Buffer.from("second"), undefined), undefined);
      const found = await subject.get("a");
      assert.deepEqual([found?.bytes.toString(), found?.version], ["first", version]);
    },
  },
  {
    name: "an object is replaced on its own version only",
    run: async ({ subject }) => {
      const first = await create(subject, "a", "first");
      const second = await subject.put("a", Buffer.from("second"), first);
      assert.ok(second !== undefined && second !== first, "other bytes have another version");
      assert.equal(await subject.put("a", Buffer.from("late"), first), undefined, "on a version that is over");
      assert.equal(await subject.put("b", Buffer.from("late"), first), undefined, "where nothing is");
      assert.equal(await textAt(subject, "a"), "second");
      assert.equal(await subject.get("b"), undefined);
    },
  },
  {
    name: "a version does not come back when the object is deleted and created again",
    run: async ({ subject }) => {
      const first = await create(subject, "a", "first");
      await subject.delete("a");
      assert.equal(await subject.put("a", Buffer.from("late"), first), undefined, "on a deleted object");
      assert.notEqual(await create(subject, "a", "second"), first);
      assert.equal(await subject.put("a", Buffer.from("late"), first), undefined, "on its successor");
      assert.equal(await textAt(subject, "a"), "second");
    },
  },
  {
    name: "of writers that race to create an object one succeeds, and its bytes are there",
    run: async ({ subject }) => {
      for (let round = 0; round < 5; round++) {
        const name = `race-${round}`;
        const writers = Array.from({ length: 8 }, (_, index) => `writer ${index}`);
        const versions = await Promise.all(writers.map((text) => subject.put(name, Buffer.from(text), undefined)));
        const winners = writers.filter((_, index) => versions[index] !== undefined);
        assert.equal(winners.length, 1, `${winners.length} writers created ${name}`);
        assert.equal(await textAt(subject, name), winners[0]);
      }
    },
  },
  {
    name: "writers that count in one object by its versions lose no number",
    needs: ["reopen"],
    run: async (fixture) => {
      const { subject } = fixture;
      await create(subject, "count", "0");
      const rivals = [subject, await another(fixture), await another(fixture)];
      const add = async (bucket: ObjectBucket): Promise<void> => {
        for (let attempt = 0; attempt < 200; attempt++) {
          const found = await bucket.get("count");
          assert.ok(found !== undefined);
          const next = Buffer.from(String(Number(found.bytes.toString()) + 1));
          if ((await bucket.put("count", next, found.version)) !== undefined) return;
        }
        assert.fail("one writer was refused 200 times by two others");
      };
      await Promise.all(
        rivals.map(async (bucket) => {
          for (let round = 0; round < 5; round++) await add(bucket);
        }),
      );
      assert.equal(await textAt(subject, "count"), "15");
    },
  },
]);

const contents: readonly BucketCase[] = casesOf("contents", [
  {
    name: "bytes come back as they were, and nothing is absent but what is not there",
    run: async ({ subject }) => {
      assert.equal(await subject.get("absent"), undefined);
      assert.ok((await subject.put("bytes", EVERY_BYTE, undefined)) !== undefined);
      assert.deepEqual((await subject.get("bytes"))?.bytes, EVERY_BYTE);
    },
  },
  {
    name: "an object of the largest size is taken and comes back",
    run: async ({ subject }) => {
      const size = Math.min(subject.maxObjectBytes, 2 * 1024 * 1024);
      const bytes = Buffer.alloc(size, EVERY_BYTE);
      assert.ok((await subject.put(LONGEST, bytes, undefined)) !== undefined);
      assert.ok((await subject.get(LONGEST))?.bytes.equals(bytes), `${size} bytes came back otherwise`);
    },
  },
  {
    name: "names that look alike are objects of their own",
    run: async ({ subject }) => {
      for (const name of NAMES) await create(subject, name, name);
      for (const name of NAMES) assert.equal(await textAt(subject, name), name);
      assert.deepEqual(await listed(subject, { prefix: "" }), inByteOrder(NAMES));
    },
  },
  {
    name: "another instance sees at once what was written and what was deleted",
    needs: ["reopen"],
    run: async (fixture) => {
      const { subject } = fixture;
      const other = await another(fixture);
      for (let round = 0; round < 10; round++) {
        const version = await create(subject, "a", `round ${round}`);
        const found = await other.get("a");
        assert.deepEqual([found?.bytes.toString(), found?.version], [`round ${round}`, version]);
        assert.deepEqual(await listed(other, { prefix: "a" }), ["a"]);
        await other.delete("a");
        assert.equal(await subject.get("a"), undefined);
        assert.deepEqual(await listed(subject, { prefix: "a" }), []);
      }
    },
  },
  {
    name: "while the storage is out of reach, every call fails and none says that there is nothing",
    needs: ["outage"],
    run: async ({ subject, outage }) => {
      const version = await create(subject, "a", "first");
      const restore = await outage?.();
      await failureOf(() => subject.get("a"), "get");
      await failureOf(() => subject.get("absent"), "get of what is not there");
      await failureOf(() => subject.put("a", Buffer.from("second"), version), "put");
      await failureOf(() => subject.delete("a"), "delete");
      await failureOf(() => listed(subject, { prefix: "" }), "list");
      await restore?.();
      assert.ok((await subject.get("a")) !== undefined);
    },
  },
]);

const deleting: readonly BucketCase[] = casesOf("deleting", [
  {
    name: "a deleted object is gone from every answer, and deleting it again is no failure",
    run: async ({ subject }) => {
      await create(subject, "a", "first");
      await subject.delete("a");
      await subject.delete("a");
      await subject.delete("never-there");
      assert.equal(await subject.get("a"), undefined);
      assert.deepEqual(await listed(subject, { prefix: "" }), []);
    },
  },
  {
    name: "a deletion on a condition spares an object that changed",
    run: async ({ subject }) => {
      const first = await create(subject, "a", "first");
      const second = await subject.put("a", Buffer.from("second"), first);
      assert.ok(second !== undefined);
      assert.equal(await subject.deleteIf("a", first), false);
      assert.equal(await textAt(subject, "a"), "second");
      const isDeleted = await subject.deleteIf("a", second);
      assert.equal(await textAt(subject, "a"), isDeleted ? undefined : "second");
      if (isDeleted) assert.equal(await subject.deleteIf("a", second), true, "where nothing is any more");
    },
  },
  {
    name: "deleting older versions leaves the newest",
    run: async ({ subject }) => {
      const first = await create(subject, "a", "first");
      await subject.put("a", Buffer.from("second"), first);
      await create(subject, "b", "deleted");
      await subject.delete("b");
      const { done, remains } = await subject.deleteOlderVersions("");
      for (const sentence of [...done, ...remains]) assert.equal(typeof sentence, "string");
      assert.equal(await textAt(subject, "a"), "second");
      assert.equal(await subject.get("b"), undefined);
    },
  },
]);

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `n/${String(index).padStart(3, "0")}`);

const listing: readonly BucketCase[] = casesOf("listing", [
  {
    name: "a list has every name below its prefix, in the order of their bytes, whatever the size of its pages",
    run: async ({ subject }) => {
      const names = numbered(25);
      for (const name of [...names.toReversed(), "m/zzz", "n.", "n0", "o/000"]) await create(subject, name, name);
      for (const pageSize of [1, 2, 7, 24, 25, 26, 1000]) {
        assert.deepEqual(await listed(subject, { prefix: "n/", pageSize }), names, `pages of ${pageSize}`);
      }
      assert.deepEqual(await listed(subject, { prefix: "n/" }), names);
      assert.deepEqual(await listed(subject, { prefix: "nothing" }), []);
    },
  },
  {
    name: "a list begins behind one name and ends before another, whether or not they are there",
    run: async ({ subject }) => {
      const names = numbered(12);
      for (const name of names) await create(subject, name, name);
      const prefix = "n/";
      for (const pageSize of [3, 100]) {
        const from = { prefix, pageSize, startAfter: "n/003" };
        assert.deepEqual(await listed(subject, from), names.slice(4));
        assert.deepEqual(await listed(subject, { ...from, startAfter: "n/0030" }), names.slice(4));
        assert.deepEqual(await listed(subject, { ...from, startAfter: "n/011" }), []);
        assert.deepEqual(await listed(subject, { prefix, pageSize, end: "n/003" }), names.slice(0, 3));
        assert.deepEqual(await listed(subject, { ...from, end: "n/0075" }), names.slice(4, 8));
        assert.deepEqual(await listed(subject, { prefix, pageSize, end: "n/000" }), []);
      }
    },
  },
  {
    name: "an object that exists during the whole listing is listed once, while others come and go",
    run: async ({ subject }) => {
      const names = numbered(20);
      for (const name of names) await create(subject, name, name);
      const met: string[] = [];
      let turn = 0;
      for await (const page of subject.list({ prefix: "n/", pageSize: 4 })) {
        met.push(...page);
        await create(subject, `n/${String(turn).padStart(3, "0")}-new`, "new");
        if (turn === 2) for (const name of met.slice(0, 2)) await subject.delete(name);
        turn++;
      }
      assert.deepEqual(
        met.filter((name) => !name.endsWith("-new")),
        names,
      );
    },
  },
]);

/** Every duty that `ObjectBucket` states. */
export const bucketCases: readonly BucketCase[] = [...conditions, ...contents, ...deleting, ...listing];

export const bucketSuite: ConformanceSuite<ObjectBucket, FixtureNeed> = {
  title: "bucket",
  cases: bucketCases,
  offers: (fixture, need) => fixture[need] !== undefined,
};
