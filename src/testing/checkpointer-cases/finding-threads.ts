import assert from "node:assert/strict";
import type { BaseCheckpointer, ListThreadsOptions } from "../../checkpoint/base-checkpointer.ts";
import { assistantMessage } from "../../state/message.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { conversation, growThread, withOpenCall } from "./conversations.ts";

const IDS: readonly string[] = [
  ...[
    "user:1",
    "user:2",
    "user:10",
    "User:1",
    "userx1",
    "user",
    "a_b",
    "aXb",
    "a%b",
    "a*b",
    "a?b",
    "a\\b",
    "a[a-z]b",
    "aab",
  ],
  ...[
    "a.b",
    "a+b",
    "a(b",
    "a|b",
    "^a",
    "a$",
    "{a,b}",
    "\u00e9",
    "e\u0301",
    "\u{1f600}",
    "\u4f1a\u8bdd",
    "line\u2028end",
  ],
];

/** Every page, sorted: the order is the backend's own. */
async function found(subject: BaseCheckpointer, options: ListThreadsOptions = {}): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await subject.listThreads({ ...options, ...(cursor !== undefined && { cursor }) });
    assert.ok(page.length <= (options.limit ?? 100), "no more than were asked for");
    ids.push(...page);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return ids.sort();
}

/** What each pattern means, said without a pattern. */
const PATTERNS: readonly (readonly [pattern: string, matches: (id: string) => boolean])[] = [
  ["*", () => true],
  ["user:*", (id) => id.startsWith("user:")],
  ["user:?", (id) => id === "user:1" || id === "user:2"],
  ["user?1", (id) => id === "user:1" || id === "userx1"],
  ["*:1*", (id) => id.includes(":1")],
  ["user", (id) => id === "user"],
  ["USER*", () => false],
  ["a_b", (id) => id === "a_b"],
  ["a%b", (id) => id === "a%b"],
  ["a%*", (id) => id === "a%b"],
  ["a\\*b", (id) => id === "a*b"],
  ["a\\?b", (id) => id === "a?b"],
  ["a\\\\b", (id) => id === "a\\b"],
  ["a[a-z]b", (id) => id === "a[a-z]b"],
  ["a.b", (id) => id === "a.b"],
  ["a+b", (id) => id === "a+b"],
  ["a(b", (id) => id === "a(b"],
  ["a|b", (id) => id === "a|b"],
  ["^a", (id) => id === "^a"],
  ["a$", (id) => id === "a$"],
  ["{a,b}", (id) => id === "{a,b}"],
  ["\u00e9", (id) => id === "\u00e9"],
  ["?", (id) => id === "\u00e9" || id === "\u{1f600}"],
  ["line?end", (id) => id === "line\u2028end"],
  ["%", () => false],
  ["_ser:1", () => false],
  ["", () => false],
];

export const findingThreadsCases: readonly CheckpointerCase[] = checkpointerCasesOf("finding threads", [
  {
    name: "an empty storage lists no threads",
    needs: ["listThreads"],
    run: async ({ subject }) => assert.deepEqual(await found(subject), []),
  },
  {
    name: "every thread is listed once, whatever the size of a page, and nothing else is",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      for (const threadId of IDS) await growThread(subject, threadId, 2);
      for (const limit of [1, 4, 25, 26, 100]) assert.deepEqual(await found(subject, { limit }), [...IDS].sort());
    },
  },
  {
    name: "a pattern knows *, ? and the backslash, and takes everything else literally",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      for (const threadId of IDS) await subject.save(conversation(1), threadId);
      for (const [pattern, matches] of PATTERNS) {
        for (const limit of [2, 100]) {
          assert.deepEqual(await found(subject, { pattern, limit }), IDS.filter(matches).sort(), `pattern ${pattern}`);
        }
      }
    },
  },
  {
    name: "threads are listed with the summary of their newest checkpoint",
    needs: ["listWithMetadata", "details"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "user:1", 3, (index) => ({ metadata: { index } }));
      await growThread(subject, "other", 1);
      const threads = [...(await subject.listWithMetadata({ pattern: "user:*" }))];
      assert.deepEqual(
        threads.map(({ threadId }) => threadId),
        ["user:1"],
      );
      assert.equal(threads[0]?.checkpointId, ids[2]);
      assert.deepEqual(threads[0]?.metadata, { index: 3 });
      assert.equal(threads[0]?.messageCount, 3);
    },
  },
  {
    name: "every thread is listed with its metadata once, whatever the size of a page",
    needs: ["listWithMetadata"],
    run: async ({ subject }) => {
      for (const threadId of IDS) await subject.save(conversation(1), threadId, { metadata: { threadId } });
      const met: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await subject.listWithMetadata({ limit: 7, ...(cursor !== undefined && { cursor }) });
        for (const { threadId, metadata } of page) assert.deepEqual(metadata, { threadId });
        met.push(...page.map(({ threadId }) => threadId));
        cursor = page.cursor;
      } while (cursor !== undefined);
      assert.deepEqual(met.sort(), [...IDS].sort());
    },
  },
  {
    name: "what a thread waits for is in its summary, and lists are narrowed by it",
    needs: ["listWithMetadata", "details"],
    run: async ({ subject }) => {
      await growThread(subject, "asked", 1);
      await subject.save(withOpenCall(), "open");
      await subject.save(conversation(1).withMessage(assistantMessage("yes?")), "answered");
      const shown = await subject.listWithMetadata();
      const standings = Object.fromEntries(shown.map(({ threadId, standing }) => [threadId, standing]));
      assert.deepEqual(standings, {
        asked: { unfinished: true },
        open: { open: 1, unfinished: true },
        answered: undefined,
      });
      const narrowed = await subject.listWithMetadata({ standing: "open" });
      assert.deepEqual(
        narrowed.map(({ threadId }) => threadId),
        ["open"],
      );
      assert.equal((await subject.listWithMetadata({ standing: ["open", "unfinished"] })).length, 2);
    },
  },
]);
