import assert from "node:assert/strict";
import type { FoundRecords, LogRecord, SearchHit, SearchRange, ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { assertEntry, markAt, PREFIXED_IDS, put, recordAt } from "./sample-records.ts";
import { recordSaying, wordsOf } from "./speaking-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

async function find(log: ThreadLog, words: readonly string[], limit = 50): Promise<readonly SearchHit[]> {
  await log.catchUp(wordsOf);
  return (await look(log, words, { limit })).hits;
}

export const look = (log: ThreadLog, words: readonly string[], range: SearchRange): Promise<FoundRecords> =>
  log.search(words, range);

/** `thread/position` of every hit, sorted: the order is a matter of score. */
async function found(log: ThreadLog, ...words: readonly string[]): Promise<readonly string[]> {
  return (await find(log, words)).map(({ threadId, entry }) => `${threadId}/${entry.seq}`).sort();
}

/** Where writers stop by themselves. */
const MOST_WRITTEN = 1500;

export const say = (log: ThreadLog, threadId: string, seq: number, words: string): Promise<LogRecord> =>
  put(log, threadId, recordSaying(seq, words));

export const searchingCases: readonly ThreadLogCase[] = threadLogCasesOf("search", [
  {
    name: "a search finds the records that hold all of the words",
    needs: ["search"],
    run: async ({ subject }) => {
      await say(subject, "t", 1, "the quick brown fox");
      const lazy = await say(subject, "t", 2, "the lazy dog");
      await say(subject, "u", 1, "a quick dog");
      assert.deepEqual(await found(subject, "quick"), ["t/1", "u/1"]);
      assert.deepEqual(await found(subject, "quick", "dog"), ["u/1"]);
      assert.deepEqual(await found(subject, "brown", "lazy"), [], "not spread over two records");
      assert.deepEqual(await found(subject, "absent"), []);
      const [hit] = await find(subject, ["lazy"]);
      assertEntry(hit?.entry, lazy, "the entry of the hit");
    },
  },
  {
    name: "words of several records that came together are found, whichever of them is the head",
    needs: ["search"],
    run: async ({ subject }) => {
      await say(subject, "t", 1, "first");
      const second = recordSaying(2, "second", { head: 1 });
      await put(subject, "t", second, { more: [recordSaying(3, "third", { head: 1 })] });
      assert.deepEqual(await found(subject, "first"), ["t/1"]);
      assert.deepEqual(await found(subject, "second"), ["t/2"]);
      assert.deepEqual(await found(subject, "third"), ["t/3"]);
    },
  },
  {
    name: "a word is found by its beginning and not by its middle",
    needs: ["search"],
    run: async ({ subject }) => {
      await say(subject, "t", 1, "checkpoint");
      assert.deepEqual(await found(subject, "check"), ["t/1"]);
      assert.deepEqual(await found(subject, "point"), []);
      assert.deepEqual(await found(subject, "checkpoints"), []);
    },
  },
  {
    name: "words that are a query language's own are words here",
    needs: ["search"],
    run: async ({ subject }) => {
      await say(subject, "t", 1, "a or b and not near c");
      await say(subject, "t", 2, "a");
      await say(subject, "t", 3, "b c");
      assert.deepEqual(await found(subject, "a", "or", "b"), ["t/1"]);
      assert.deepEqual(await found(subject, "not", "c"), ["t/1"]);
      assert.deepEqual(await found(subject, "near"), ["t/1"]);
      assert.deepEqual(await found(subject, "and"), ["t/1"]);
    },
  },
  {
    name: "words of every script are found",
    needs: ["search"],
    run: async ({ subject }) => {
      await say(subject, "t", 1, "\u4f1a \u8bdd \u4fdd \u5b58");
      await say(
        subject,
        "t",
        2,
        "\u0441\u043e\u0441\u0442\u043e\u044f\u043d\u0438\u0435 \u03bc\u03bd\u03b7\u03bc\u03b7 snake_case 42",
      );
      assert.deepEqual(await found(subject, "\u4fdd", "\u5b58"), ["t/1"]);
      assert.deepEqual(await found(subject, "\u0441\u043e\u0441\u0442"), ["t/2"]);
      assert.deepEqual(await found(subject, "snake_case", "42"), ["t/2"]);
      assert.deepEqual(await found(subject, "case"), [], "an underscore does not end a word");
    },
  },
  {
    name: "a record is found once, however often it holds the word",
    needs: ["search"],
    run: async ({ subject }) => {
      await say(subject, "t", 1, "echo echo echo echoes");
      assert.deepEqual(await found(subject, "echo"), ["t/1"]);
    },
  },
  {
    name: "dropped and removed records are not found",
    needs: ["search"],
    run: async ({ subject }) => {
      for (const seq of [1, 2, 3]) await say(subject, "t", seq, "word");
      await say(subject, "u", 1, "word");
      await put(subject, "t", markAt(4, { head: 3 }), { drop: [2] });
      assert.deepEqual(await found(subject, "word"), ["t/1", "t/3", "u/1"]);
      await put(subject, "t", markAt(5, { head: 3 }), { dropBelow: 3 });
      assert.deepEqual(await found(subject, "word"), ["t/3", "u/1"]);
      await subject.remove("t");
      assert.deepEqual(await found(subject, "word"), ["u/1"]);
    },
  },
  {
    name: "a replaced record is found by its new words only",
    needs: ["search"],
    run: async ({ subject }) => {
      await say(subject, "t", 1, "before");
      await put(subject, "t", markAt(2, { head: 1 }), { replace: [recordSaying(1, "after")] });
      assert.deepEqual(await found(subject, "before"), []);
      assert.deepEqual(await found(subject, "after"), ["t/1"]);
    },
  },
  {
    name: "a record without a checkpoint id is found by its words, also when it lost its id",
    needs: ["search"],
    run: async ({ subject }) => {
      const nameless = { checkpointId: undefined, head: 0 };
      await put(subject, "t", recordSaying(1, "early", nameless));
      await say(subject, "t", 2, "later");
      assert.deepEqual(await found(subject, "early"), ["t/1"], "it never had one");
      const replace = [recordSaying(2, "later", nameless)];
      await put(subject, "t", recordSaying(3, "last"), { replace });
      assert.deepEqual(await found(subject, "later"), ["t/2"], "its id was taken off");
      assert.equal((await find(subject, ["later"]))[0]?.entry.checkpointId, undefined);
    },
  },
  {
    name: "the words of a copy are found, and go with it",
    needs: ["search"],
    run: async ({ subject }) => {
      await say(subject, "t", 1, "word");
      await subject.copy("t", "u", "second");
      assert.deepEqual(await found(subject, "word"), ["t/1", "u/1"]);
      await subject.remove("t");
      assert.deepEqual(await found(subject, "word"), ["u/1"]);
    },
  },
  {
    name: "the best come first, as many as were asked for",
    needs: ["search"],
    run: async ({ subject }) => {
      for (let seq = 1; seq <= 6; seq++) await say(subject, "t", seq, `word ${"filler ".repeat(seq)}`.trim());
      const hits = await find(subject, ["word"], 4);
      assert.equal(hits.length, 4);
      const scores = hits.map(({ score }) => score);
      assert.deepEqual(
        scores,
        scores.toSorted((a, b) => b - a),
      );
    },
  },
  {
    name: "records without words are no trouble",
    needs: ["search"],
    run: async ({ subject }) => {
      await put(subject, "t", recordAt(1));
      await say(subject, "t", 2, "word");
      await put(subject, "t", markAt(3, { head: 2 }));
      assert.deepEqual(await found(subject, "word"), ["t/2"]);
    },
  },
  {
    name: "an index that is brought up to date reaches what was there, and ends while others go on writing",
    needs: ["search", "catchUp"],
    run: async ({ subject }) => {
      for (let seq = 1; seq <= 5; seq++) await say(subject, "t", seq, `early ${seq}`);
      let [written, isDone] = [0, false];
      const writers = ["u", "v", "w"].map(async (threadId) => {
        for (let seq = 1; !isDone && written < MOST_WRITTEN; seq++) {
          await say(subject, threadId, seq, "late");
          written++;
        }
      });
      await subject.catchUp(wordsOf);
      const writtenMeanwhile = written;
      isDone = true;
      await Promise.all(writers);
      assert.ok(writtenMeanwhile < MOST_WRITTEN, "it ended before the writers did");
      const hits = (await look(subject, ["early"], { limit: 9 })).hits;
      assert.equal(hits.length, 5, "what was there before it began is found");
      assert.equal((await find(subject, ["late"], 10_000)).length, written, "and the rest after the next time");
    },
  },
  {
    name: "a search within a prefix finds nothing outside it, whatever the prefix holds",
    needs: ["search"],
    run: async ({ subject }) => {
      for (const threadId of PREFIXED_IDS) await say(subject, threadId, 1, "fox");
      await subject.catchUp(wordsOf);
      for (const prefix of ["a_", "a%", "a_/1", "b", "\u00e9", ""]) {
        const expected = PREFIXED_IDS.filter((threadId) => threadId.startsWith(prefix)).sort();
        const hits = (await look(subject, ["fox"], { limit: 50, prefix })).hits;
        assert.deepEqual(hits.map(({ threadId }) => threadId).sort(), expected, prefix);
      }
      const [hit, ...others] = (await look(subject, ["fox"], { limit: 1, prefix: "ab" })).hits;
      assert.equal(hit?.threadId, "ab", "the limit counts what is inside");
      assert.deepEqual(others, []);
    },
  },
]);
