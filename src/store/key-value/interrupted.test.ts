import { describe, expect, test } from "vitest";
import { MemoryBucket } from "../../../test/memory-bucket.ts";
import type { ObjectBucket } from "../../driver/object-bucket.ts";
import type { Change, ItemId, PutChange, RemoveChange } from "../driver/store-driver.ts";
import { writeTerms } from "../driver/write-terms.ts";
import { Store } from "../store.ts";
import { KeyValueStoreDriver } from "./driver.ts";

const NS = ["users", "u1"];
const itemNamed = (key: string): ItemId => ({ namespace: NS, key });
const [A, B, NEW, GATE] = [itemNamed("a"), itemNamed("b"), itemNamed("new"), itemNamed("gate")];

/** A process: it may be killed after some requests, before or after the last one is carried out, and never answers again. */
class DyingBucket {
  left: number;
  readonly #isLastCarriedOut: boolean;
  readonly #bucket: ObjectBucket;

  constructor(bucket: ObjectBucket, left: number, isLastCarriedOut: boolean) {
    this.#bucket = bucket;
    this.left = left;
    this.#isLastCarriedOut = isLastCarriedOut;
  }

  asBucket(): ObjectBucket {
    const bucket = this.#bucket;
    return new Proxy(bucket, {
      get: (_, name) => {
        const member = Reflect.get(bucket, name) as unknown;
        if (typeof member !== "function" || name === "list") return member;
        return (...args: unknown[]) =>
          this.#request(() => (member as (...given: unknown[]) => unknown).apply(bucket, args));
      },
    });
  }

  async #request(carryOut: () => unknown): Promise<unknown> {
    this.left--;
    if (this.left > 0) return carryOut();
    if (this.left === 0 && this.#isLastCarriedOut) await carryOut();
    throw new Error("killed");
  }
}

const driverOn = (bucket: ObjectBucket, now: () => number = Date.now): KeyValueStoreDriver =>
  new KeyValueStoreDriver(
    { name: "bucket", durability: "memory", open: async () => bucket, classify: () => undefined },
    { prefix: "", clock: { now: async () => now() } },
  );

function put(id: ItemId, value: string, expected?: string | null, writeId?: string): PutChange {
  const text = JSON.stringify(value);
  const content = { value: text, metadata: undefined, ttlMs: undefined, index: undefined, embedding: undefined };
  const fields = { value: text, metadata: "{}" };
  const rest = { metadata: undefined, fields, words: undefined, vector: undefined, ttlMs: undefined };
  return { kind: "put", ...id, ...writeTerms(id, writeId, content), expected, value: text, ...rest };
}

const remove = (id: ItemId, expected?: string | null, writeId?: string): RemoveChange => {
  const { writeKey, digest } = writeTerms(id, writeId, "removed");
  return { kind: "remove", ...id, expected, writeKey, digest };
};

const valuesIn = async (driver: KeyValueStoreDriver): Promise<readonly (string | undefined)[]> =>
  (await driver.read([A, B, NEW])).map((item) => item && (JSON.parse(item.value) as string));

const BEFORE = ["a1", "b1", undefined];
const AFTER = ["a2", undefined, "n2"];

/** Two items before, and a batch that replaces one, removes one and makes one. */
async function withTwo(): Promise<MemoryBucket> {
  const bucket = new MemoryBucket();
  await driverOn(bucket).write([put(A, "a1")]);
  await driverOn(bucket).write([put(B, "b1")]);
  return bucket;
}

const WRITES: Readonly<Record<string, readonly Change[]>> = {
  "a batch": [put(A, "a2", undefined, "w"), remove(B, undefined, "w"), put(NEW, "n2", null, "w")],
  "a batch on condition that another item is not there": [
    put(A, "a2", undefined, "w"),
    remove(B, undefined, "w"),
    put(NEW, "n2", null, "w"),
    remove(GATE, null, "w"),
  ],
};

/** A killed writer is waited for; each of these tests kills one, some forty times. */
const WAITING_MS = 240_000;

describe.for(Object.entries(WRITES))("%s that is killed at any request", ([, changes]) => {
  test.for([true, false])(
    "is there whole or not at all, and is made once by its repetition; the last request is carried out: %s",
    { timeout: WAITING_MS },
    async (isLastCarriedOut) => {
      const outcomes = new Set<string>();
      const runs = Array.from({ length: 60 }, (_, index) => index + 1).map(async (requests) => {
        const bucket = await withTwo();
        const dying = new DyingBucket(bucket, requests, isLastCarriedOut);
        const outcome = await driverOn(dying.asBucket())
          .write(changes)
          .catch(() => undefined);
        const seen = await valuesIn(driverOn(bucket));
        const isMade = seen[0] === "a2";
        expect(seen, `killed at request ${requests}`).toEqual(isMade ? AFTER : BEFORE);
        if (outcome?.applied) expect(isMade, "what was acknowledged is there").toBe(true);
        expect(await valuesIn(driverOn(bucket)), "and stays").toEqual(seen);
        const repeated = await driverOn(bucket).write(changes);
        expect(repeated).toMatchObject({ applied: true });
        if (repeated.applied) expect(repeated.results[0]?.repeated).toBe(isMade);
        expect(await valuesIn(driverOn(bucket))).toEqual(AFTER);
        await driverOn(bucket).verify();
        expect([...bucket.objects.keys()].filter((name) => name.startsWith("batches/"))).toEqual([]);
        outcomes.add(outcome === undefined ? `killed, ${isMade ? "made" : "not made"}` : "answered");
      });
      await Promise.all(runs);
      // Once it is committed, what is left to do is not the caller's.
      const whenCarriedOut = isLastCarriedOut ? ["killed, made"] : [];
      expect([...outcomes].sort()).toEqual(["answered", ...whenCarriedOut, "killed, not made"]);
    },
  );
});

test("a reader between any two requests of a batch sees all of it or nothing, and never goes back", async () => {
  const bucket = await withTwo();
  const reader = driverOn(bucket);
  const seen: string[] = [];
  const watched = new Proxy(bucket as ObjectBucket, {
    get: (_, name) => {
      const member = Reflect.get(bucket, name) as unknown;
      if (typeof member !== "function" || name === "list") return member;
      return async (...args: unknown[]) => {
        const answer = await (member as (...given: unknown[]) => unknown).apply(bucket, args);
        const values = await valuesIn(reader);
        expect([BEFORE, AFTER]).toContainEqual(values);
        seen.push(String(values[0]));
        return answer;
      };
    },
  });
  await driverOn(watched).write(WRITES["a batch"] ?? []);
  expect(seen).toEqual([...seen].sort());
  expect(new Set(seen)).toEqual(new Set(["a1", "a2"]));
});

test("items that are read together while batches of them are written are of one batch", async () => {
  const bucket = new MemoryBucket();
  const [writer, reader] = [driverOn(bucket), driverOn(bucket)];
  const ids = Array.from({ length: 6 }, (_, index) => ({ namespace: NS, key: `k${index}` }));
  let isDone = false;
  const writing = (async () => {
    for (let round = 0; round < 40; round++) await writer.write(ids.map((id) => put(id, `round ${round}`)));
    isDone = true;
  })();
  const met = new Set<string>();
  while (!isDone) {
    const values = new Set((await reader.read(ids)).map((item) => item?.value ?? "none"));
    expect(values.size, [...values].join(", ")).toBe(1);
    for (const value of values) met.add(value);
  }
  await writing;
  expect(met.size).toBeGreaterThan(5);
});

test("a put on condition of a gate is not made once another process looked behind the gate, wherever it slept", {
  timeout: WAITING_MS,
}, async () => {
  const outcomes = new Set<string>();
  const runs = Array.from({ length: 12 }, (_, index) => index + 1).map(async (requests) => {
    const bucket = new MemoryBucket();
    await driverOn(bucket).write([put(A, "a1")]);
    let [count, wake] = [0, (): void => undefined];
    let slept = (): void => undefined;
    const asleep = new Promise<void>((resolve) => {
      slept = resolve;
    });
    const sleeping = new Proxy(bucket as ObjectBucket, {
      get: (_, name) => {
        const member = Reflect.get(bucket, name) as unknown;
        if (typeof member !== "function" || name === "list") return member;
        return async (...args: unknown[]) => {
          count++;
          if (count === requests) {
            slept();
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
          return (member as (...given: unknown[]) => unknown).apply(bucket, args);
        };
      },
    });
    const writing = driverOn(sleeping).write([put(A, "late"), remove(GATE, null)]);
    await Promise.race([asleep, writing]);
    const eraser = driverOn(bucket);
    await eraser.write([put(GATE, "closed")]);
    const [looked] = await eraser.read([A]);
    wake();
    const outcome = await writing;
    const [left] = await eraser.read([A]);
    expect(left?.version, `asleep at request ${requests}`).toBe(looked?.version);
    expect(outcome.applied).toBe(JSON.parse(left?.value ?? "null") === "late");
    outcomes.add(String(outcome.applied));
  });
  await Promise.all(runs);
  expect([...outcomes].sort()).toEqual(["false", "true"]);
});

test(
  "two writers whose conditions exclude each other are not both made",
  async () => {
    for (let round = 0; round < 30; round++) {
      const bucket = new MemoryBucket();
      const [one, other] = [driverOn(bucket), driverOn(bucket)];
      const outcomes = await Promise.all([
        one.write([put(A, "mine"), remove(B, null)]),
        other.write([put(B, "theirs"), remove(A, null)]),
      ]);
      expect(outcomes.filter(({ applied }) => applied).length, `round ${round}`).toBe(1);
    }
  },
  WAITING_MS,
);

test("batches that overlap in any order end, and leave the items of one of them", { timeout: WAITING_MS }, async () => {
  const bucket = new MemoryBucket();
  const ids = Array.from({ length: 8 }, (_, index) => ({ namespace: NS, key: `k${index}` }));
  await Promise.all(
    Array.from({ length: 6 }, async (_, index) => {
      const order = index % 2 === 0 ? ids : [...ids].reverse();
      for (let round = 0; round < 3; round++)
        await driverOn(bucket).write(order.map((id) => put(id, `${index} ${round}`)));
    }),
  );
  const values = new Set((await driverOn(bucket).read(ids)).map((item) => item?.value));
  expect(values.size).toBe(1);
});

test("an item that was taken out stays out, whatever a writer that slept still sends", async () => {
  const bucket = new MemoryBucket();
  const clock = { now: 1_000_000 };
  const driver = driverOn(bucket, () => clock.now);
  const first = put(A, "a1", undefined, "w1");
  await driver.write([first]);
  await driver.write([remove(A)]);
  expect(await driver.write([first])).toMatchObject({ applied: true, results: [{ repeated: true }] });
  expect(await driver.read([A])).toEqual([undefined]);
  await driver.verify();
  expect([...bucket.objects.keys()].filter((name) => name.startsWith("items/"))).toEqual([]);
  expect([...bucket.objects.keys()].some((name) => name.includes("u1"))).toBe(false);
  expect(await driver.write([first])).toMatchObject({ applied: true, results: [{ repeated: true }] });
  expect(await driver.read([A])).toEqual([undefined]);
  clock.now += 700_000;
  await driver.verify();
  expect([...bucket.objects.keys()]).toEqual([]);
});

test("a store that looks changes nothing, and sees what counts of an interrupted batch", async () => {
  const runs = Array.from({ length: 30 }, (_, index) => index + 1).map(async (requests) => {
    const bucket = await withTwo();
    const dying = new DyingBucket(bucket, requests, true);
    await driverOn(dying.asBucket())
      .write(WRITES["a batch"] ?? [])
      .catch(() => undefined);
    // What it had sent is carried out still.
    await new Promise((resolve) => setTimeout(resolve, 20));
    const before = new Map(bucket.objects);
    const looking = new KeyValueStoreDriver(
      { name: "bucket", durability: "memory", open: async () => bucket, classify: () => undefined },
      { prefix: "", clock: { now: async () => Date.now() }, access: "read" },
    );
    expect([BEFORE, AFTER]).toContainEqual(await valuesIn(looking));
    await new Store(looking, { access: "read" }).list([], { recursive: true });
    expect(new Map(bucket.objects)).toEqual(before);
  });
  await Promise.all(runs);
});
