import { describe, expect, test } from "vitest";
import { MapStorage, observed, without } from "../../../test/dict-storages.ts";
import { placeAt, type RequestFields, recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import type { AppendRequest, LogRecord } from "../log/thread-log.ts";
import type { DictStorage } from "./dict-storage.ts";
import { DictLog } from "./log.ts";

const open = (storage: DictStorage): DictLog =>
  new DictLog(storage, { name: "dict", durability: "memory", maxRecordBytes: 1_000_000 });

/** Twenty records, so that a page is filled by them; wherever they begin. */
function batchAt(seq: number, fields: RequestFields = {}): AppendRequest {
  const [record, ...more] = Array.from({ length: 20 }, (_, index) =>
    recordAt(seq + index, { writeId: `new-${index}`, ...(index === 3 && { names: ["latest"] }) }),
  ) as [LogRecord, ...LogRecord[]];
  return requestFor(record, { more, ...fields });
}

const EDITS: RequestFields = { replace: [recordAt(2, { header: "anew" }), recordAt(4)], drop: [3] };

async function grown(length: number): Promise<Map<string, string>> {
  const storage = new MapStorage();
  const log = open(storage);
  for (let seq = 1; seq <= length; seq++) {
    await log.append("t", { expected: placeAt(seq - 1), record: recordAt(seq) });
  }
  return storage.cells;
}

const sight = (cells: Map<string, string>): Promise<unknown> => {
  const log = open(new MapStorage(cells));
  return Promise.all([log.readTail("t"), log.list("t", { limit: 100 }), log.entry("t", "latest")]);
};

/** A process that dies at its n-th call: before the call takes effect, or before it hears the answer. */
function dying(cells: Map<string, string>, n: number, when: "before" | "after") {
  let calls = 0;
  const die = (): never => {
    throw new Error("the process is gone");
  };
  const storage = observed(new MapStorage(cells), () => {
    calls++;
    if (calls < n) return undefined;
    return calls === n && when === "after" ? die : die();
  });
  return { storage, died: (): boolean => calls >= n };
}

const CASES = [0, 4, 12, 16].flatMap((length) => [true, false].map((compare) => ({ length, compare })));

describe.each(CASES)("several records behind $length, compareAndSave: $compare", ({ length, compare }) => {
  test("cut off at any call they are all there or not at all, and nothing is left behind", async () => {
    const request = batchAt(length + 1, length > 0 ? EDITS : {});
    const prepared = await grown(length);
    const before = await sight(new Map(prepared));
    const done = new Map(prepared);
    expect(await open(new MapStorage(done)).append("t", request)).toEqual({ appended: true });
    const after = await sight(done);
    const seen = { before: 0, after: 0 };
    for (let n = 1, died = true; died; n++) {
      for (const when of ["before", "after"] as const) {
        const cells = new Map(prepared);
        const process = dying(cells, n, when);
        const storage = compare ? process.storage : without(process.storage, "compareAndSave");
        const outcome = await open(storage)
          .append("t", request)
          .catch(() => undefined);
        died = process.died();
        const sees = await sight(new Map(cells));
        const isBefore = JSON.stringify(sees) === JSON.stringify(before) && outcome === undefined;
        seen[isBefore ? "before" : "after"]++;
        if (!isBefore) expect(sees, `cut off ${when} call ${n}`).toEqual(after);

        // Made again it is made once, and the thread can be removed to the last key.
        const again = open(new MapStorage(cells));
        const repeated = await again.append("t", request);
        if (!repeated.appended) expect(repeated.occupant?.writeId).toBe("new-0");
        expect(await sight(cells), `cut off ${when} call ${n}, and made again`).toEqual(after);
        await again.append("t", { expected: placeAt(length + 20, "first", "new-19"), record: recordAt(length + 21) });
        expect((await again.readTail("t"))?.records.at(-1)?.seq).toBe(length + 21);
        expect(await again.remove("t")).toBe("removed");
        expect([...cells.keys()], `cut off ${when} call ${n}`).toEqual([]);
      }
    }
    expect(Math.min(seen.before, seen.after)).toBeGreaterThan(0);
  });
});

type Act = (log: DictLog) => Promise<unknown>;

const ACTS: Readonly<Record<string, Act>> = {
  "one record": (log) => log.append("t", { expected: placeAt(16), record: recordAt(17) }),
  "several records": (log) => log.append("t", batchAt(17)),
  "several records with edits": (log) => log.append("t", batchAt(17, EDITS)),
  "a removal": (log) => log.remove("t"),
  "a copy": (log) => log.copy("t", "u", "copied"),
};

async function inTurn(cells: Map<string, string>, ...acts: Act[]): Promise<{ answers: unknown[]; end: unknown }> {
  const answers: unknown[] = [];
  for (const act of acts) answers.push(await act(open(new MapStorage(cells))));
  return { answers, end: [await sight(cells), await open(new MapStorage(cells)).readTail("u")] };
}

describe.each(Object.entries(ACTS))("while %s sleeps at any call", (_, slow) => {
  test.each(Object.entries(ACTS))(
    "%s is as if it came before or after, and nothing is left behind",
    async (_, fast) => {
      const prepared = await grown(16);
      const before = await inTurn(new Map(prepared), slow, fast);
      const after = await inTurn(new Map(prepared), fast, slow);
      const allowed = [before, { answers: after.answers.toReversed(), end: after.end }];
      for (let n = 1; ; n++) {
        const cells = new Map(prepared);
        let [calls, fastAnswer]: [number, unknown] = [0, undefined];
        const sleeping = observed(new MapStorage(cells), async () => {
          if (++calls === n) fastAnswer = await fast(open(new MapStorage(cells)));
          return undefined;
        });
        const slowAnswer = await slow(open(sleeping));
        if (calls < n) return expect(n).toBeGreaterThan(2);
        const { end } = await inTurn(cells);
        expect(allowed, `asleep at call ${n}`).toContainEqual({ answers: [slowAnswer, fastAnswer], end });
        for (const threadId of ["t", "u"]) await open(new MapStorage(cells)).remove(threadId);
        expect([...cells.keys()], `asleep at call ${n}`).toEqual([]);
      }
    },
  );
});

test("a reader that knows most of a thread, or wants its newest records, is not sent the older ones", async () => {
  const cells = await grown(70);
  const asked: string[] = [];
  const log = open(
    observed(new MapStorage(cells), (_, key) => {
      asked.push(key);
      return undefined;
    }),
  );
  const newer = await log.readTail("t", { newerThan: placeAt(68) });
  expect(newer?.records.map(({ seq }) => seq)).toEqual([69, 70]);
  expect(asked).toEqual([expect.stringMatching(/^holdfast-thread-/)]);
  asked.length = 0;
  const newest = await log.readRecords("t", { limit: 3 });
  expect(newest?.records.map(({ seq }) => seq)).toEqual([68, 69, 70]);
  expect(asked).toEqual([expect.stringMatching(/^holdfast-thread-/)]);
});
