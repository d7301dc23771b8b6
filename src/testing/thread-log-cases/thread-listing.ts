import assert from "node:assert/strict";
import { isReadable } from "../../checkpoint/log/listed-threads.ts";
import { assertEntry, assertMovedOn, grow, markAt, put, recordAt, threadsOf } from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

const idsOf = (threads: readonly { readonly threadId: string }[]): readonly string[] =>
  threads.map(({ threadId }) => threadId).sort();

export const threadListingCases: readonly ThreadLogCase[] = threadLogCasesOf("listThreads", [
  {
    name: "an empty storage lists no threads",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      assert.deepEqual(await subject.listThreads({ prefix: "", limit: 10 }), { items: [], cursor: undefined });
    },
  },
  {
    name: "every thread is met exactly once, whatever the size of a page",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      const ids = Array.from({ length: 23 }, (_, index) => `thread ${index}`).sort();
      for (const threadId of ids) await put(subject, threadId, recordAt(1));
      for (const limit of [1, 2, 7, 22, 23, 24, 100]) {
        assert.deepEqual(idsOf(await threadsOf(subject, "", limit)), ids, `pages of ${limit}`);
      }
    },
  },
  {
    name: "a thread is listed with its head checkpoint",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      await grow(subject, "t", 3);
      await put(subject, "t", markAt(4, { head: 3 }));
      const [thread] = await threadsOf(subject, "", 10);
      assertEntry(thread?.head, recordAt(3), "the head, and not the tail");
    },
  },
  {
    name: "a thread without a checkpoint is not listed",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      await put(subject, "leased", markAt(1, { head: 0 }));
      await grow(subject, "t", 1);
      for (const limit of [1, 2]) assert.deepEqual(idsOf(await threadsOf(subject, "", limit)), ["t"]);
    },
  },
  {
    name: "a prefix is taken literally",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      const ids = [
        "a_b",
        "aXb",
        "a%b",
        "a*b",
        "a?b",
        "a\\b",
        "a[b]",
        "A_b",
        "a",
        "ab",
        "a'b",
        'a"b',
        "\u00e9",
        "e\u0301",
        "\u{1f600}x",
        "\u{1f601}x",
      ];
      for (const threadId of ids) await put(subject, threadId, recordAt(1));
      for (const prefix of [
        "",
        "a_",
        "a%",
        "a*",
        "a?",
        "a\\",
        "a[",
        "A",
        "a'",
        'a"',
        "a",
        "ab",
        "abc",
        "\u00e9",
        "e",
        "\u{1f600}",
        "%",
        "_",
        "*",
      ]) {
        const expected = ids.filter((threadId) => threadId.startsWith(prefix)).sort();
        for (const limit of [2, 100]) {
          assert.deepEqual(
            idsOf(await threadsOf(subject, prefix, limit)),
            expected,
            `prefix ${JSON.stringify(prefix)}`,
          );
        }
      }
    },
  },
  {
    name: "threads that come and go during a walk do not disturb it for the others",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      const staying = Array.from({ length: 12 }, (_, index) => `stay ${index}`).sort();
      for (const threadId of [...staying, "go 1", "go 2", "tgo 3"]) await put(subject, threadId, recordAt(1));
      const met: string[] = [];
      let cursor: string | undefined;
      let round = 0;
      do {
        const page = await subject.listThreads({ prefix: "", limit: 2, ...(cursor !== undefined && { cursor }) });
        met.push(...page.items.filter(isReadable).map(({ threadId }) => threadId));
        assertMovedOn(cursor, page.cursor);
        cursor = page.cursor;
        round++;
        if (round === 2) for (const threadId of ["go 1", "go 2", "tgo 3"]) await subject.remove(threadId);
        if (round < 6) for (const place of ["a", "s", "z"]) await put(subject, `${place} new ${round}`, recordAt(1));
        const [moved] = staying;
        if (moved !== undefined && round < 4) await put(subject, moved, recordAt(round + 1));
      } while (cursor !== undefined);
      const stayed = met.filter((threadId) => threadId.startsWith("stay"));
      assert.deepEqual(stayed.sort(), staying, "each thread that was there all the time, once");
      assert.equal(new Set(met).size, met.length, "no thread twice");
    },
  },
  {
    name: "a listing continues past a thousand threads",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      const ids = Array.from({ length: 1040 }, (_, index) => `thread ${index}`).sort();
      for (let from = 0; from < ids.length; from += 40) {
        await Promise.all(ids.slice(from, from + 40).map((threadId) => put(subject, threadId, recordAt(1))));
      }
      assert.deepEqual(idsOf(await threadsOf(subject, "", 10_000)), ids, "in one page or in many");
      assert.deepEqual(idsOf(await threadsOf(subject, "", 300)), ids, "in pages of 300");
    },
  },
]);
