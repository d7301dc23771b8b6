import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { another } from "../conformance-case.ts";
import { grow, put, recordAt } from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

interface Bell {
  readonly rung: () => number;
  readonly stop: () => void;
}

function listen(log: ThreadLog, threadId: string): Bell {
  let count = 0;
  const stop = log.subscribe(threadId, () => {
    count++;
  });
  return { rung: () => count, stop };
}

/** A call back may come late. Only one that never comes is a failure. */
async function rings(bell: Bell, what: string, after = 0): Promise<void> {
  for (let waited = 0; waited < 10_000 && bell.rung() <= after; waited += 20) await sleep(20);
  assert.ok(bell.rung() > after, `${what}: the subscriber must be called`);
}

export const subscribingCases: readonly ThreadLogCase[] = threadLogCasesOf("subscribe", [
  {
    name: "a subscriber is called when the thread is written, and when it is removed",
    needs: ["subscribe"],
    run: async ({ subject }) => {
      const bell = listen(subject, "t");
      await grow(subject, "t", 1);
      await rings(bell, "an append");
      const before = bell.rung();
      await subject.remove("t");
      await rings(bell, "a removal", before);
      bell.stop();
    },
  },
  {
    name: "a subscriber is called when another instance writes",
    needs: ["subscribe", "reopen"],
    run: async (fixture) => {
      const other = await another(fixture);
      const bell = listen(fixture.subject, "t");
      await grow(other, "t", 1);
      await rings(bell, "an append by another instance");
      bell.stop();
    },
  },
  {
    name: "a subscriber that stopped is not called any more, and stopping twice is harmless",
    needs: ["subscribe"],
    run: async ({ subject }) => {
      await grow(subject, "t", 1);
      const [stopped, listening] = [listen(subject, "t"), listen(subject, "t")];
      await put(subject, "t", recordAt(2));
      await rings(stopped, "before it stopped");
      stopped.stop();
      stopped.stop();
      const [before, heard] = [stopped.rung(), listening.rung()];
      await put(subject, "t", recordAt(3));
      await rings(listening, "the one that went on listening", heard);
      assert.equal(stopped.rung(), before);
      listening.stop();
    },
  },
]);
