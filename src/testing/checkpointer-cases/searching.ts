import assert from "node:assert/strict";
import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { assistantMessage, toolMessage, userMessage } from "../../state/message.ts";
import { failsWith } from "../expect-failure.ts";
import { CORPUS, QUESTIONS } from "../search-corpus.ts";
import { type CheckpointerCase, checkpointerCasesOf, hasDetails } from "./checkpointer-case.ts";
import { and, conversation, growThread, loaded } from "./conversations.ts";

/** The thread of every hit, sorted; a thread that is hit twice is there twice. */
async function found(subject: BaseCheckpointer, query: string): Promise<readonly string[]> {
  return (await subject.search(query, { limit: 100 })).map(({ threadId }) => threadId).sort();
}

async function saySomewhere(subject: BaseCheckpointer, texts: Readonly<Record<string, string>>): Promise<void> {
  for (const [threadId, text] of Object.entries(texts)) await subject.save(and(conversation(0), text), threadId);
}

export const searchingCases: readonly CheckpointerCase[] = checkpointerCasesOf("search", [
  {
    name: "a search finds messages that hold all of its words, whole or begun",
    needs: ["search"],
    run: async ({ subject }) => {
      await saySomewhere(subject, { t: "The quick brown fox", u: "a lazy dog", v: "a quick dog, unhurried" });
      assert.deepEqual(await found(subject, "quick"), ["t", "v"]);
      assert.deepEqual(await found(subject, "quick dog"), ["v"]);
      assert.deepEqual(await found(subject, "unhur dog"), ["v"]);
      assert.deepEqual(await found(subject, "hurried"), []);
      assert.deepEqual(await found(subject, "brown dog"), []);
      assert.deepEqual(await found(subject, "absent"), []);
    },
  },
  {
    name: "every storage finds the same messages, in all scripts and forms of words",
    needs: ["search"],
    run: async ({ subject }) => {
      await saySomewhere(subject, CORPUS);
      for (const { query, threads } of QUESTIONS) {
        assert.deepEqual(await found(subject, query), threads.toSorted(), query);
      }
    },
  },
  {
    name: "case, accents and width make no difference",
    needs: ["search"],
    run: async ({ subject }) => {
      await saySomewhere(subject, { t: "Caf\u00e9 CR\u00c8ME", u: "cafe\u0301", v: "\uff23\uff41\uff46\uff45" });
      for (const query of ["cafe", "CAF\u00c9", "cafe\u0301", "Caf\u00e9"]) {
        assert.deepEqual(await found(subject, query), ["t", "u", "v"], query);
      }
      assert.deepEqual(await found(subject, "creme"), ["t"]);
    },
  },
  {
    name: "scripts without spaces are found by any part",
    needs: ["search"],
    run: async ({ subject }) => {
      await saySomewhere(subject, {
        t: "\u4fdd\u5b58\u4f1a\u8bdd\u72b6\u6001",
        u: "\u30bb\u30c3\u30b7\u30e7\u30f3\u4fdd\u5b58",
        v: "\uc138\uc158 \uc800\uc7a5",
      });
      assert.deepEqual(await found(subject, "\u4f1a\u8bdd"), ["t"]);
      assert.deepEqual(await found(subject, "\u4fdd\u5b58"), ["t", "u"]);
      assert.deepEqual(await found(subject, "\uc138\uc158"), ["v"]);
    },
  },
  {
    name: "the syntax of a query language is text like any other",
    needs: ["search"],
    run: async ({ subject }) => {
      await saySomewhere(subject, {
        t: 'say "a" OR b* NEAR(c, 2) AND NOT -x col:y ^z {q} $w',
        u: "a",
        v: "b c",
        w: "nothing",
      });
      for (const query of [
        '"a" OR b*',
        "NEAR(c",
        "-x",
        "NOT x",
        "col:y",
        "^z",
        "{q}",
        "$w",
        "a AND b",
        "x}) | (@t:{*",
      ]) {
        const hits = await found(subject, query);
        assert.ok(!hits.includes("w"), `${query} must not match everything`);
        assert.deepEqual(
          hits.filter((threadId) => threadId !== "t"),
          [],
          `${query} must not mean something else`,
        );
      }
      assert.deepEqual(await found(subject, '"a" OR b*'), ["t"]);
      assert.deepEqual(await found(subject, "-x"), ["t"]);
    },
  },
  {
    name: "a query without words finds nothing",
    needs: ["search"],
    run: async ({ subject }) => {
      await saySomewhere(subject, { t: "word" });
      for (const query of ["", " ", "*", '"', "%", "...", "\u0000", "\ud800", "-", "()", "\\"]) {
        assert.deepEqual(await found(subject, query), [], JSON.stringify(query));
      }
    },
  },
  {
    name: "tool calls and the names of tools are found, reasoning is not",
    needs: ["search"],
    run: async ({ subject }) => {
      const call = { id: "c", name: "weather_lookup", arguments: { city: "Reykjavik", days: [3] } };
      const state = conversation(0).withMessages([
        assistantMessage(
          [
            { type: "reasoning", text: "pondering" },
            { type: "text", text: "spoken" },
          ],
          { toolCalls: [call] },
        ),
        toolMessage("sunny", { toolCallId: "c", toolName: "weather_lookup" }),
      ]);
      await subject.save(state, "t");
      for (const query of ["weather_lookup", "reykjavik", "spoken", "sunny"]) {
        assert.deepEqual(await found(subject, query), ["t"], query);
      }
      assert.deepEqual(await found(subject, "pondering"), []);
    },
  },
  {
    name: "each message is found once, in the checkpoint that brought it",
    needs: ["search", "history"],
    run: async ({ subject }) => {
      let state = and(conversation(0), "needle one");
      const first = await subject.save(state, "t");
      for (let index = 0; index < 5; index++) {
        state = and(state, `hay ${index}`);
        await subject.save(state, "t");
      }
      const hits = await subject.search("needle");
      assert.deepEqual(
        hits.map(({ checkpointId }) => checkpointId),
        [first],
      );
      state = state.withHistory([userMessage("summary"), ...state.messages.slice(-3)]);
      const rewritten = await subject.save(state, "t");
      assert.equal(
        (await found(subject, "hay 4")).length,
        1,
        "a kept message is not found again in a rewritten history",
      );
      assert.deepEqual(
        (await subject.search("summary")).map(({ checkpointId }) => checkpointId),
        [rewritten],
      );
    },
  },
  {
    name: "a page of a search says its order, and its cursor leads to the rest",
    needs: ["search"],
    run: async ({ subject }) => {
      const { searchRanksUpTo = Number.POSITIVE_INFINITY } = subject.capabilities;
      const written = Math.min(searchRanksUpTo + 4, 30);
      for (let thread = 0; thread < written; thread++) {
        await subject.save(and(conversation(0), `common word${thread === 3 ? " seldom" : ""}`), `t${thread}`);
      }
      const order = written > searchRanksUpTo ? "newest" : "best";
      const all = await subject.search("common", { limit: 100 });
      assert.equal(all.order, order);
      assert.equal(all.cursor, undefined, "the last page has no cursor");
      assert.equal((await subject.search("seldom")).order, "best");
      const first = await subject.search("common", { limit: 7 });
      const found = [...first];
      for (let cursor = first.cursor; cursor !== undefined; ) {
        const next = await subject.search("common", { limit: 7, cursor });
        assert.equal(next.order, order, "the order stays");
        assert.ok(next.length > 0 && found.length < written, "a cursor leads to more, and not back");
        found.push(...next);
        cursor = next.cursor;
      }
      // An index of others may give no places to go on from. A scan of ours has them.
      const { cursor } = first;
      if (cursor === undefined) {
        const isScan = subject.capabilities.searchMethod === "scan" && hasDetails(subject);
        return assert.ok(!isScan, "a scan that stopped early has a cursor");
      }
      const names = (hits: readonly { threadId: string }[]) => hits.map(({ threadId }) => threadId);
      assert.deepEqual(names(found), names(all));
      for (const wrong of [{ cursor, threadPrefix: "t" }, { cursor: "anything" }]) {
        await failsWith("INVALID_ARGUMENT", () => subject.search("common", wrong), JSON.stringify(wrong));
      }
      await failsWith("INVALID_ARGUMENT", () => subject.search("word", { cursor }), "another query's cursor");
    },
  },
  {
    name: "what was only in deleted checkpoints and threads is not found",
    needs: ["search", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 3);
      await saySomewhere(subject, { u: "message elsewhere" });
      await subject.delete("t", { checkpointId: ids[2] as string });
      assert.deepEqual(await found(subject, "message 3"), []);
      await subject.delete("u");
      assert.deepEqual(await found(subject, "elsewhere"), []);
      assert.deepEqual(await found(subject, "message 2"), ["t"]);
    },
  },
  {
    name: "a message that a stored checkpoint still holds is found once, whatever was deleted before it",
    needs: ["search", "history"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 4);
      const rewritten = state.withHistory([userMessage("summary"), ...state.messages.slice(-1)]);
      await subject.save(and(rewritten, "message 5"), "t");
      await subject.save(and(await loaded(subject, "t"), "message 6"), "t");
      for (const checkpointId of ids) {
        await subject.delete("t", { checkpointId });
        for (const text of ["message 4", "message 5", "message 6", "summary"]) {
          assert.deepEqual(
            await found(subject, text),
            ["t"],
            `${text}, after deleting ${ids.indexOf(checkpointId) + 1}`,
          );
        }
      }
    },
  },
  {
    name: "what was said before a name moved on is found in the checkpoint that came of it",
    needs: ["search", "history"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 5, () => ({ checkpointId: "latest" }));
      const other = await subject.save(and(state, "message 6"), "t");
      for (let index = 1; index <= 5; index++) {
        const hits = await subject.search(`message ${index}`, { limit: 100 });
        assert.deepEqual(
          hits.map(({ checkpointId }) => checkpointId),
          ["latest"],
          `message ${index}`,
        );
      }
      assert.equal((await subject.search("message", { limit: 1 })).length, 1, "no more than was asked for");
      await subject.save(and(await loaded(subject, "t"), "message 7"), "t", { checkpointId: "latest" });
      assert.deepEqual(
        (await subject.search("message 3")).map(({ checkpointId }) => checkpointId),
        [other],
        "the name has moved past it",
      );
    },
  },
  {
    name: "a deletion between two bases makes no message be found twice",
    needs: ["search", "history"],
    run: async ({ subject }) => {
      const { state } = await growThread(subject, "t", 3);
      const rewritten = state.withHistory([userMessage("summary"), ...state.messages.slice(-1)]);
      const between = await subject.save(rewritten, "t");
      await subject.save(and(rewritten, "message 5"), "t");
      await subject.delete("t", { checkpointId: between });
      for (const text of ["message 3", "summary", "message 5"])
        assert.deepEqual(await found(subject, text), ["t"], text);
    },
  },
  {
    name: "copies and forks are found under their own names",
    needs: ["search", "branching"],
    run: async ({ subject }) => {
      await saySomewhere(subject, { t: "needle" });
      await subject.copyThread("t", "u");
      await subject.fork("t", "v");
      assert.deepEqual(await found(subject, "needle"), ["t", "u", "v"]);
    },
  },
  {
    name: "the best come first, as many as were asked for",
    needs: ["search"],
    run: async ({ subject }) => {
      for (let index = 1; index <= 6; index++) {
        await saySomewhere(subject, { [`t${index}`]: `needle ${"hay ".repeat(index * 3)}` });
      }
      const hits = await subject.search("needle", { limit: 4 });
      assert.equal(hits.length, 4);
      const scores = hits.map(({ score }) => score);
      assert.deepEqual(
        scores,
        scores.toSorted((a, b) => b - a),
      );
    },
  },
  {
    name: "a search within a prefix finds only threads whose ids begin with it",
    needs: ["search"],
    run: async ({ subject }) => {
      await saySomewhere(subject, { "acme/1": "a fox", "acme/2": "a fox", acme: "a fox", acme_1: "a fox" });
      const hits = await subject.search("fox", { limit: 100, threadPrefix: "acme/" });
      assert.deepEqual(hits.map(({ threadId }) => threadId).sort(), ["acme/1", "acme/2"]);
    },
  },
]);
