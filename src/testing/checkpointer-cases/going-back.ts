import assert from "node:assert/strict";
import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { type CheckpointContext, contextOf } from "../../checkpoint/context.ts";
import { eraseInThread } from "../../checkpoint/people/erasing.ts";
import type { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { another, type Fixture } from "../conformance-case.ts";
import { failsWith } from "../expect-failure.ts";
import { copyStorage } from "../storage-copy.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, conversation, growThread, historyOf, loaded, textsOf } from "./conversations.ts";

interface WentBack {
  /** The instance that wrote what was lost, and is still running. */
  readonly stale: BaseCheckpointer;
  /** The one that wrote since, as another process. */
  readonly other: BaseCheckpointer;
  readonly keptIds: readonly string[];
  readonly lostIds: readonly string[];
  /** As of the last checkpoint that was kept, and of the last one that was lost. */
  readonly kept: AgentState;
  readonly lost: AgentState;
  /** The thread's messages and checkpoints as they are now, the newest last. */
  readonly texts: readonly string[];
  readonly ids: readonly string[];
}

/**
 * The thread had `kept` checkpoints when its storage was copied. `stale` saved `lost` more, the copy was put back, and
 * another process saved `written`: as after the promotion of a replica that lagged, or a restored backup.
 */
async function goBack(
  fixture: Fixture<BaseCheckpointer>,
  { kept: keptCount, lost: lostCount, written }: Readonly<Record<"kept" | "lost" | "written", number>>,
): Promise<WentBack> {
  const { subject: stale } = fixture;
  const { state: kept, ids: keptIds } = await growThread(stale, "t", keptCount);
  const restore = await copyStorage(fixture, "t");
  let lost = kept;
  const lostIds: string[] = [];
  for (let each = 1; each <= lostCount; each++) {
    lost = and(lost, `lost ${each}`);
    lostIds.push(await stale.save(lost, "t"));
  }
  // Whatever an instance keeps of a thread that it has read.
  await stale.load("t");
  await restore();
  const other = await another(fixture);
  const ids = [...keptIds];
  let now = await loaded(other, "t");
  for (let each = 1; each <= written; each++) {
    now = and(now, `other ${each}`);
    ids.push(await other.save(now, "t"));
  }
  return { stale, other, keptIds, lostIds, kept, lost, texts: textsOf(now), ids };
}

/** The thread is what the other process made of the copy, for both. */
async function assertNothingMixed({ stale, other, texts, ids, lostIds }: WentBack, what: string): Promise<void> {
  for (const [name, checkpointer] of Object.entries({ stale, other })) {
    assert.deepEqual(textsOf(await loaded(checkpointer, "t")), texts, `${what}: the newest state, to ${name}`);
    assert.deepEqual(await historyOf(checkpointer, "t"), [...ids].reverse(), `${what}: the history, to ${name}`);
    for (const [at, checkpointId] of ids.entries()) {
      const state = await loaded(checkpointer, "t", { checkpointId });
      assert.deepEqual(textsOf(state), texts.slice(0, at + 1), `${what}: checkpoint ${at + 1}, to ${name}`);
    }
    for (const checkpointId of lostIds) {
      assert.equal(await checkpointer.load("t", { checkpointId }), undefined, `${what}: a lost one, to ${name}`);
    }
  }
}

const NEEDS = ["conditionalSave", "history", "reopen", "log"] as const;
const AS_MANY = { kept: 2, lost: 2, written: 2 };

export const goingBackCases: readonly CheckpointerCase[] = checkpointerCasesOf("going back in time", [
  {
    name: "a process that kept running gets CONFLICT or the present state, whatever it does, and nothing is mixed",
    needs: NEEDS,
    run: async (fixture) => {
      const back = await goBack(fixture, AS_MANY);
      const { stale, other, kept, lost, lostIds, texts } = back;
      const saves: Readonly<Record<string, AgentState>> = {
        "a save": and(lost, "late"),
        "the same save again": lost,
        "an edited history": lost.withHistory([userMessage("edited"), ...lost.messages.slice(1)]),
        "a history that was edited where it was kept": kept.withHistory([userMessage("edited")]),
      };
      for (const [what, state] of Object.entries(saves)) {
        await failsWith("CONFLICT", () => stale.save(state, "t"), what);
        await assertNothingMixed(back, what);
      }
      assert.equal(await stale.delete("t", { checkpointId: lostIds[0] as string }), false, "a lost checkpoint");
      await failsWith("CONFLICT", () => stale.delete("t", { expectedHead: lostIds[1] as string }), "a deletion");
      await assertNothingMixed(back, "deletions");
      if (stale.capabilities.lease) await stale.withLease("t", async () => assertNothingMixed(back, "a lease"));
      if (stale.capabilities.search) {
        const found = async (word: string): Promise<readonly string[]> =>
          (await stale.search(word, { limit: 100 })).map(({ threadId }) => threadId);
        assert.deepEqual(await found("lost"), [], "a word that was lost");
        assert.deepEqual([...new Set(await found("other"))], ["t"], "a word that was written since");
      }
      const next = and(await loaded(stale, "t"), "on it goes");
      await stale.save(next, "t");
      assert.deepEqual(textsOf(await loaded(other, "t")), [...texts, "on it goes"]);
    },
  },
  {
    name: "if there was no other write since, a save after a lost checkpoint is refused, and the thread continues from the older head",
    needs: NEEDS,
    run: async (fixture) => {
      const back = await goBack(fixture, { kept: 2, lost: 3, written: 0 });
      const { stale, other, lost, texts } = back;
      await failsWith("CONFLICT", () => stale.save(and(lost, "late"), "t"), "a save");
      await assertNothingMixed(back, "a save");
      if (stale.capabilities.lease) await stale.withLease("t", async () => assertNothingMixed(back, "a lease"));
      await stale.save(and(await loaded(stale, "t"), "on it goes"), "t");
      assert.deepEqual(textsOf(await loaded(other, "t")), [...texts, "on it goes"]);
    },
  },
  {
    name: "a thread that was made after the copy is a new one, or none",
    needs: NEEDS,
    run: async (fixture) => {
      const { subject: stale } = fixture;
      await growThread(stale, "t", 1);
      const restore = await copyStorage(fixture, "t");
      for (const threadId of ["u", "v"]) await growThread(stale, threadId, 2);
      const [u, v] = [await loaded(stale, "u"), await loaded(stale, "v")];
      await restore();
      const other = await another(fixture);
      for (const threadId of ["u", "v"]) await other.delete(threadId);
      const ids = (await growThread(other, "u", 2)).ids;
      await failsWith("CONFLICT", () => stale.save(and(u, "late"), "u"), "a save into another's thread");
      await failsWith("CONFLICT", () => stale.save(and(v, "late"), "v"), "a save into no thread");
      assert.deepEqual(await historyOf(stale, "u"), [...ids].reverse());
      assert.equal(await stale.load("v"), undefined);
    },
  },
  {
    name: "a long thread that others wrote to since is read as it is, also by a reader that knew what was lost",
    needs: NEEDS,
    run: async (fixture) => {
      const back = await goBack(fixture, { kept: 20, lost: 30, written: 40 });
      await assertNothingMixed(back, "a long thread");
    },
  },
  {
    name: "the holder of a lease that was lost saves nothing, and the next holder is another one",
    needs: [...NEEDS, "lease"],
    run: async (fixture) => {
      const { subject: stale } = fixture;
      const { state } = await growThread(stale, "t", 2);
      const restore = await copyStorage(fixture, "t");
      const texts = await stale.withLease("t", async (lease) => {
        const lost = and(state, "lost");
        await stale.save(lost, "t", { lease });
        await restore();
        const other = await another(fixture);
        const written = await other.withLease("t", async (theirs) => {
          assert.notEqual(theirs.token, lease.token);
          const next = and(await loaded(other, "t"), "other");
          await other.save(next, "t", { lease: theirs });
          for (const state of [and(lost, "late"), and(next, "late")]) {
            await failsWith("CONFLICT", () => stale.save(state, "t", { lease }), "a save with a lost lease");
          }
          return textsOf(next);
        });
        await failsWith("CONFLICT", () => stale.save(and(lost, "late"), "t", { lease }), "a save, later");
        return written;
      });
      assert.deepEqual(textsOf(await loaded(stale, "t")), texts);
    },
  },
  {
    name: "an erasure by a process that has read the lost records erases from the present ones, and from nothing else",
    needs: NEEDS,
    run: async (fixture) => {
      const { subject: stale } = fixture;
      const about = (person: string, text: string) => userMessage(text, { metadata: { subject: person } });
      const begun = conversation(1).withMessage(about("ann", "kept of ann"));
      await stale.save(begun, "t");
      const restore = await copyStorage(fixture, "t");
      await stale.save(begun.withMessage(about("ann", "lost of ann")), "t");
      await stale.load("t");
      await restore();
      const other = await another(fixture);
      const theirs = (await loaded(other, "t")).withMessages([about("bob", "of bob"), about("ann", "more of ann")]);
      await other.save(theirs, "t");
      await eraseInThread(contextOf(stale) as CheckpointContext, "t", (subject) => subject === "ann");
      for (const checkpointer of [stale, other]) {
        const texts = textsOf(await loaded(checkpointer, "t"));
        assert.deepEqual([texts[0], texts[2], texts.length], ["message 1", "of bob", 4]);
        assert.ok(!texts.some((text) => text.includes("ann")), "of ann");
      }
    },
  },
]);
