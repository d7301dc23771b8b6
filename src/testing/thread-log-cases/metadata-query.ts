import assert from "node:assert/strict";
import { isReadable } from "../../checkpoint/log/listed-threads.ts";
import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { HOSTILE_KEYS, LOOKALIKE_VALUES } from "../hostile-metadata.ts";
import { assertEntry, assertMovedOn, markAt, PREFIXED_IDS, put, recordAt } from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

/** Every page of a query. */
async function query(
  log: ThreadLog,
  key: string,
  value: unknown,
  limit = 50,
  prefix?: string,
): Promise<readonly string[]> {
  const threads: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await log.queryMetadata(key, JSON.stringify(value), {
      limit,
      ...(prefix !== undefined && { prefix }),
      ...(cursor !== undefined && { cursor }),
    });
    threads.push(...(page?.items ?? []).filter(isReadable).map(({ threadId }) => threadId));
    assertMovedOn(cursor, page?.cursor);
    cursor = page?.cursor;
  } while (cursor !== undefined);
  return threads.sort();
}

/** An object literal would take "__proto__" for something else. */
const metadataWith = (key: string, value: unknown): string => `{${JSON.stringify(key)}:${JSON.stringify(value)}}`;

export const metadataQueryCases: readonly ThreadLogCase[] = threadLogCasesOf("queryMetadata", [
  {
    name: "a value is found by its type as well as its text",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      for (const [index, value] of LOOKALIKE_VALUES.entries()) {
        await put(subject, `thread ${index}`, recordAt(1, { metadata: metadataWith("key", value) }));
      }
      await put(subject, "without", recordAt(1, { metadata: "{}" }));
      await put(subject, "none", recordAt(1));
      for (const [index, value] of LOOKALIKE_VALUES.entries()) {
        assert.deepEqual(await query(subject, "key", value), [`thread ${index}`], JSON.stringify(value));
      }
    },
  },
  {
    name: "every key is taken literally",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      for (const [index, key] of HOSTILE_KEYS.entries()) {
        await put(subject, `thread ${index}`, recordAt(1, { metadata: metadataWith(key, 1) }));
      }
      for (const [index, key] of HOSTILE_KEYS.entries()) {
        assert.deepEqual(await query(subject, key, 1), [`thread ${index}`], JSON.stringify(key));
      }
      assert.deepEqual(await query(subject, "absent", 1), []);
    },
  },
  {
    name: "a key inside an object is not a key of the metadata",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      await put(subject, "t", recordAt(1, { metadata: '{"outer":{"inner":1},"list":[1]}' }));
      for (const key of ["inner", "outer.inner", "$.outer.inner", "list[0]", "0"]) {
        assert.deepEqual(await query(subject, key, 1), [], key);
      }
      assert.deepEqual(await query(subject, "outer", { inner: 1 }), ["t"]);
    },
  },
  {
    name: "only the metadata of the head counts",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      await put(subject, "t", recordAt(1, { metadata: '{"stage":"draft"}' }));
      const second = await put(subject, "t", recordAt(2, { metadata: '{"stage":"final"}' }));
      assert.deepEqual(await query(subject, "stage", "draft"), []);
      await put(subject, "t", markAt(3, { head: 2 }));
      const page = await subject.queryMetadata("stage", '"final"', { limit: 5 });
      assertEntry(page?.items.filter(isReadable)[0]?.head, second, "the head of the thread that was found");
      await put(subject, "t", markAt(4, { head: 1 }), { drop: [2] });
      assert.deepEqual(await query(subject, "stage", "final"), []);
      assert.deepEqual(await query(subject, "stage", "draft"), ["t"]);
    },
  },
  {
    name: "metadata that an edit changed is found as it is now",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      await put(subject, "t", recordAt(1, { metadata: '{"stage":"draft","of":"Ann"}' }));
      await put(subject, "t", markAt(2, { head: 1 }), { replace: [recordAt(1, { metadata: '{"stage":"final"}' })] });
      assert.deepEqual(await query(subject, "stage", "draft"), []);
      assert.deepEqual(await query(subject, "of", "Ann"), []);
      assert.deepEqual(await query(subject, "stage", "final"), ["t"]);
      await put(subject, "t", markAt(3, { head: 1 }), { replace: [recordAt(1)] });
      assert.deepEqual(await query(subject, "stage", "final"), []);
    },
  },
  {
    name: "removed threads are not found, copies are",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      await put(subject, "t", recordAt(1, { metadata: '{"a":1}' }));
      await subject.copy("t", "u", "second");
      assert.deepEqual(await query(subject, "a", 1), ["t", "u"]);
      await subject.remove("t");
      assert.deepEqual(await query(subject, "a", 1), ["u"]);
    },
  },
  {
    name: "every match is met exactly once, whatever the size of a page",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      const ids = Array.from({ length: 14 }, (_, index) => `match ${index}`).sort();
      for (const threadId of ids) await put(subject, threadId, recordAt(1, { metadata: '{"a":1}' }));
      for (let index = 0; index < 14; index++) {
        await put(subject, `other ${index}`, recordAt(1, { metadata: '{"a":2}' }));
      }
      for (const limit of [1, 3, 14, 50])
        assert.deepEqual(await query(subject, "a", 1, limit), ids, `pages of ${limit}`);
    },
  },
  {
    name: "a query within a prefix finds nothing outside it, whatever the prefix holds",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      for (const threadId of PREFIXED_IDS) await put(subject, threadId, recordAt(1, { metadata: '{"a":1}' }));
      for (const prefix of ["a_", "a%", "a_/1", "b", "\u00e9", ""]) {
        const expected = PREFIXED_IDS.filter((threadId) => threadId.startsWith(prefix)).sort();
        for (const limit of [1, 50]) assert.deepEqual(await query(subject, "a", 1, limit, prefix), expected, prefix);
      }
    },
  },
]);
