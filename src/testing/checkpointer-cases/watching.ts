import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { another } from "../conformance-case.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, conversation } from "./conversations.ts";

/** Far more than an ending takes on a busy machine. */
const LONGEST_WAIT_MS = 20_000;

/** Saves until the watcher has seen four; what it saw must be an unbroken part of what was saved. */
async function watchWhileSaving(watcher: BaseCheckpointer, writer: BaseCheckpointer): Promise<void> {
  const stop = new AbortController();
  const seen: string[] = [];
  let done = false;
  const watching = (async (): Promise<void> => {
    for await (const { checkpointId } of watcher.watch("t", { signal: stop.signal })) {
      seen.push(checkpointId);
      if (seen.length === 4) break;
    }
    done = true;
  })();
  const saved: string[] = [];
  let state = conversation(0);
  for (let round = 0; round < 500 && !done; round++) {
    state = and(state, `message ${round}`);
    saved.push(await writer.save(state, "t"));
    await sleep(10);
  }
  stop.abort();
  await watching;
  assert.equal(seen.length, 4, "a watcher sees what is saved");
  const from = saved.indexOf(seen[0] as string);
  assert.deepEqual(seen, saved.slice(from, from + 4), "in order, without a gap, each once");
}

export const watchingCases: readonly CheckpointerCase[] = checkpointerCasesOf("watch", [
  {
    name: "a watcher sees every checkpoint from then on, in order, each once",
    needs: ["watch", "history"],
    run: async ({ subject }) => watchWhileSaving(subject, subject),
  },
  {
    name: "a watcher sees what another instance saves",
    needs: ["watch", "history", "reopen"],
    run: async (fixture) => watchWhileSaving(fixture.subject, await another(fixture)),
  },
  {
    name: "a watch ends when it is told to, whether it waits or has not begun",
    needs: ["watch"],
    run: async ({ subject }) => {
      await subject.save(conversation(1), "t");
      for (const threadId of ["t", "absent"]) {
        const stop = new AbortController();
        const iterator = subject.watch(threadId, { signal: stop.signal })[Symbol.asyncIterator]();
        const next = iterator.next();
        stop.abort();
        assert.equal((await next).done, true);
        const late = subject.watch(threadId, { signal: AbortSignal.abort() })[Symbol.asyncIterator]();
        assert.equal((await late.next()).done, true);
      }
    },
  },
  {
    name: "a watch that waits ends when the checkpointer is closed",
    needs: ["watch"],
    run: async ({ subject }) => {
      await subject.save(conversation(1), "t");
      const waiting = ["t", "absent"].map((threadId) => subject.watch(threadId)[Symbol.asyncIterator]().next());
      // Long enough that both wait, and are not only about to.
      await sleep(100);
      await subject.close();
      const late = sleep(LONGEST_WAIT_MS, "still waiting", { ref: false });
      for (const next of waiting) {
        const ended = await Promise.race([next, late]);
        assert.ok(typeof ended !== "string", "a watch still waits after close()");
        assert.equal(ended.done, true);
      }
    },
  },
  {
    name: "watchers of other threads see nothing",
    needs: ["watch", "history"],
    run: async ({ subject }) => {
      const stop = new AbortController();
      const other = subject.watch("t/u", { signal: stop.signal })[Symbol.asyncIterator]().next();
      await watchWhileSaving(subject, subject);
      stop.abort();
      assert.equal((await other).done, true);
    },
  },
]);
