import assert from "node:assert/strict";
import type { FoundRecords, SearchHit, SearchRange, ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { failsWith } from "../expect-failure.ts";
import { look, say } from "./searching.ts";
import { wordsOf } from "./speaking-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

/** A suite that is to see the other order opens its driver with a limit below this. */
const MOST_RANKED_HERE = 30;
/** Where a walk that does not end is stopped. */
const MOST_WRITTEN = 1500;

/** Every hit, page by page, and the order of each page. */
async function everyPage(
  log: ThreadLog,
  words: readonly string[],
  range: SearchRange,
): Promise<{ readonly hits: readonly SearchHit[]; readonly orders: ReadonlySet<string> }> {
  const [hits, orders]: [SearchHit[], Set<string>] = [[], new Set()];
  for (let after: string | undefined; ; ) {
    const page = await look(log, words, { ...range, ...(after !== undefined && { after }) });
    hits.push(...page.hits);
    orders.add(page.order);
    after = page.hits.at(-1)?.place;
    if (page.hits.length < range.limit || after === undefined || hits.length > MOST_WRITTEN) return { hits, orders };
  }
}

async function everyPageAfter(log: ThreadLog, first: string): Promise<readonly SearchHit[]> {
  const hits: SearchHit[] = [];
  for (let after: string | undefined = first; after !== undefined && hits.length <= MOST_WRITTEN; ) {
    const page: FoundRecords = await look(log, ["word"], { limit: 5, after });
    hits.push(...page.hits);
    after = page.hits.length < 5 ? undefined : page.hits.at(-1)?.place;
  }
  return hits;
}

const namesOf = (hits: readonly SearchHit[]): readonly string[] =>
  hits.map(({ threadId, entry }) => `${threadId}/${entry.seq}`);

export const searchPageCases: readonly ThreadLogCase[] = threadLogCasesOf("search", [
  {
    name: "more records than are ranked come newest first, and the answer says so",
    needs: ["search"],
    run: async ({ subject }) => {
      const { ranksUpTo = Number.POSITIVE_INFINITY } = subject.capabilities;
      const written = Math.min(ranksUpTo + 4, MOST_RANKED_HERE);
      for (let seq = 1; seq <= written; seq++) {
        await say(subject, "t", seq, `common ${"filler ".repeat(seq % 5)}${seq === 3 ? "rare" : ""}`.trim());
      }
      await subject.catchUp(wordsOf);
      const many = await look(subject, ["common"], { limit: 5 });
      const newest = Array.from({ length: 5 }, (_, at) => `t/${written - at}`);
      assert.equal(many.order, written > ranksUpTo ? "newest" : "best");
      if (many.order === "newest") assert.deepEqual(namesOf(many.hits), newest);
      const few = await look(subject, ["rare"], { limit: 5 });
      assert.deepEqual([namesOf(few.hits), few.order], [["t/3"], "best"]);
    },
  },
  {
    name: "a search that is continued meets every record once, in either order, within a prefix too",
    needs: ["search"],
    run: async ({ subject }) => {
      const { ranksUpTo = Number.POSITIVE_INFINITY } = subject.capabilities;
      const inOne = Math.ceil(Math.min(ranksUpTo + 4, MOST_RANKED_HERE) / 2);
      for (const threadId of ["a/t", "a/u", "b/t"]) {
        for (let seq = 1; seq <= inOne; seq++)
          await say(subject, threadId, seq, `word ${"filler ".repeat(seq % 3)}`.trim());
      }
      await say(subject, "a/t", inOne + 1, "word seldom");
      await say(subject, "b/t", inOne + 1, "word seldom");
      await subject.catchUp(wordsOf);
      const numbers = Array.from({ length: inOne + 1 }, (_, at) => at + 1);
      const all = ["a/t", "a/u", "b/t"].flatMap((threadId) => numbers.map((seq) => `${threadId}/${seq}`));
      const wanted = all.filter((name) => name !== `a/u/${inOne + 1}`).sort();
      for (const prefix of ["", "a/"]) {
        const inside = wanted.filter((name) => name.startsWith(prefix));
        const [{ place } = { place: undefined }] = (await look(subject, ["word"], { limit: 1, prefix })).hits;
        const { hits, orders } = await everyPage(subject, ["word"], { limit: place === undefined ? 1000 : 3, prefix });
        assert.deepEqual(namesOf(hits).toSorted(), inside, `every page within ${JSON.stringify(prefix)}`);
        assert.deepEqual([...orders], [inside.length > ranksUpTo ? "newest" : "best"]);
        const once = await look(subject, ["word"], { limit: 1000, prefix });
        assert.deepEqual(namesOf(hits), namesOf(once.hits), "pages come in the order of the whole");
        for (const threadId of orders.has("newest") ? ["a/t", "a/u"] : []) {
          const seqs = hits.filter((hit) => hit.threadId === threadId).map(({ entry }) => entry.seq);
          assert.deepEqual(
            seqs,
            seqs.toSorted((one, other) => other - one),
            "of one thread, the newest first",
          );
        }
      }
      const ranked = await look(subject, ["seldom"], { limit: 1 });
      if (ranked.hits[0]?.place === undefined) return;
      const few = await everyPage(subject, ["seldom"], { limit: 1 });
      const both = [`a/t/${inOne + 1}`, `b/t/${inOne + 1}`];
      assert.deepEqual([namesOf(few.hits).toSorted(), [...few.orders]], [both, ["best"]]);
    },
  },
  {
    name: "a search that is continued is not disturbed by what is saved meanwhile",
    needs: ["search"],
    run: async ({ subject }) => {
      const { ranksUpTo = Number.POSITIVE_INFINITY } = subject.capabilities;
      const written = Math.min(ranksUpTo + 4, MOST_RANKED_HERE);
      for (let seq = 1; seq <= written; seq++) await say(subject, "t", seq, "word");
      await subject.catchUp(wordsOf);
      const first = await look(subject, ["word"], { limit: 5 });
      const after = first.hits.at(-1)?.place;
      if (after === undefined) return;
      await say(subject, "t", written + 1, "word");
      await say(subject, "u", 1, "word");
      await subject.catchUp(wordsOf);
      const rest = await everyPageAfter(subject, after);
      const met = new Set(namesOf([...first.hits, ...rest]));
      assert.equal(met.size, first.hits.length + rest.length, "nothing comes twice");
      for (let seq = 1; seq <= written; seq++) assert.ok(met.has(`t/${seq}`), `t/${seq} is met`);
    },
  },
  {
    name: "a place that was not made here is refused",
    needs: ["search"],
    run: async ({ subject }) => {
      await say(subject, "t", 1, "word");
      await subject.catchUp(wordsOf);
      for (const after of [
        "",
        "t",
        "[]",
        '["best"]',
        '["oldest",1,"t",1]',
        '["newest",1.5,"t",1]',
        '["best",1,1,1,1]',
      ]) {
        await failsWith("INVALID_ARGUMENT", () => look(subject, ["word"], { limit: 5, after }), after);
      }
    },
  },
]);
