import { afterEach, expect, test, vi } from "vitest";
import { holdLease } from "../../../test/held-lease.ts";
import { HeldTimers } from "../../../test/held-timers.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { textOf, userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import type { AppendOutcome, AppendRequest } from "../log/thread-log.ts";

afterEach(() => vi.restoreAllMocks());

/** Longer than any caller keeps losing races. */
const LONG_MS = 60_000;

/** A storage whose next append is held up, while something happens on the thread. */
class HeldUpLog extends MemoryLog {
  meanwhile: (() => Promise<unknown>) | undefined;

  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    const work = this.meanwhile;
    this.meanwhile = undefined;
    if (work !== undefined) {
      await work();
      const late = performance.now() + LONG_MS;
      vi.spyOn(performance, "now").mockReturnValue(late);
    }
    return super.append(threadId, request);
  }
}

function opened(): { log: HeldUpLog; checkpointer: Checkpointer; other: Checkpointer } {
  const log = new HeldUpLog();
  return { log, checkpointer: new Checkpointer(log), other: new Checkpointer(log) };
}

test("a save that its storage held up for a minute, and that met one vacuum in it, is made", async () => {
  const { log, checkpointer, other } = opened();
  let state = AgentState.create();
  for (const text of ["one", "two", "three"]) {
    state = state.withMessage(userMessage(text));
    await checkpointer.save(state, "t");
  }
  log.meanwhile = () => other.vacuum({ keepLast: 1 });
  await checkpointer.save(state.withMessage(userMessage("four")), "t");
  expect((await other.load("t"))?.messages.map(textOf)).toEqual(["one", "two", "three", "four"]);
  expect(await other.listCheckpoints("t")).toHaveLength(2);
});

test("who waits for a lease goes on for as long as was said, however many others are faster", async () => {
  const { log, checkpointer, other } = opened();
  // The pause before a waiting one looks again.
  const pauses = HeldTimers.forThisTest(250);
  await checkpointer.save(AgentState.create(), "t");
  let holder = await holdLease(other, "first", 60_000);
  const waiting = checkpointer.withLease("t", async ({ token }) => token, { waitMs: 3_600_000 });
  const faster = 12;
  for (let lost = 0; lost < faster; lost++) {
    await pauses.untilOneWaits();
    await holder.letGo();
    log.meanwhile = async () => {
      holder = await holdLease(other, "faster", 60_000);
    };
    pauses.expire();
  }
  await pauses.untilOneWaits();
  await holder.letGo();
  pauses.expire();
  expect(typeof (await waiting)).toBe("string");
});
