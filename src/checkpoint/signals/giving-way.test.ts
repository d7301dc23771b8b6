import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import { LogLayer } from "../log/log-layer.ts";
import type { AppendOutcome, AppendRequest, LogChain, ThreadTail } from "../log/thread-log.ts";

const MS = 4;
/** Where senders did not give way, a save got through when the mailbox was full: after 44, beside one of them. */
const MOST_ATTEMPTS = 30;

/** As over a network, on an object store: each request takes its time, and a refused append is two. */
class FarLog extends LogLayer {
  refused = 0;

  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    await sleep(MS);
    const outcome = await super.append(threadId, request);
    if (outcome.appended) return outcome;
    this.refused++;
    await sleep(MS);
    return outcome;
  }

  override async tail(threadId: string): Promise<ThreadTail | undefined> {
    await sleep(MS);
    return super.tail(threadId);
  }

  override async readRecords(
    threadId: string,
    options: { before?: number; limit: number },
  ): Promise<LogChain | undefined> {
    await sleep(MS);
    return super.readRecords(threadId, options);
  }
}

/** Sends until it is told to stop. */
function sendWithoutPause(checkpointer: Checkpointer, name: string, isOver: () => boolean): Promise<readonly string[]> {
  const send = async (): Promise<readonly string[]> => {
    const sent: string[] = [];
    for (let each = 0; !isOver(); each++) {
      const id = `${name}${each}`;
      const isSent = await checkpointer.send("t", { message: id }, { id }).then(
        () => true,
        () => false,
      );
      if (isSent) sent.push(id);
    }
    return sent;
  };
  return send();
}

test.each([1, 4])(
  "a holder's save beside %i senders that never stop needs few attempts, however slow the storage",
  async (senders) => {
    const memory = new MemoryLog();
    const own = new FarLog(memory);
    const holder = new Checkpointer(own);
    let state = AgentState.create().withMessage(userMessage("first"));
    await holder.save(state, "t");
    await holder.send("t", { message: "modules are loaded now" }, { id: "0" });
    let isOver = false;
    const sending = Array.from({ length: senders }, (_, index) =>
      sendWithoutPause(new Checkpointer(new FarLog(memory)), `${index} `, () => isOver),
    );
    const consumed: string[] = [];
    const attempts: number[] = [];
    for (let each = 0; each < 20; each++) {
      const ids = (await holder.signals("t")).map(({ id }) => id);
      state = state.withMessage(userMessage(`holder ${each}`));
      own.refused = 0;
      await holder.save(state, "t", { consumes: ids });
      attempts.push(own.refused + 1);
      consumed.push(...ids);
    }
    isOver = true;
    const sent = (await Promise.all(sending)).flat();
    consumed.push(...(await holder.signals("t")).map(({ id }) => id));
    expect(consumed.toSorted()).toEqual(["0", ...sent].toSorted());
    for (const each of attempts) expect(each).toBeLessThanOrEqual(MOST_ATTEMPTS);
  },
);

test("a signal to a thread whose mailbox is empty is two requests and does not wait", async () => {
  const checkpointer = new Checkpointer(new FarLog(new MemoryLog()));
  await checkpointer.save(AgentState.create(), "t");
  const began = performance.now();
  await checkpointer.send("t", { message: "hello" });
  expect(performance.now() - began).toBeLessThan(100 * MS);
});
