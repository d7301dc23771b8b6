import { expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import { type CheckpointContext, contextOf } from "../context.ts";
import type { AppendOutcome, AppendRequest } from "../log/thread-log.ts";
import { eraseInThread } from "./erasing.ts";

const PERSON = "ann";
/** More than two pages of an erasure. */
const CHECKPOINTS = 250;

/** Refuses every edit after the first few, as one does that other writers are always faster than. */
class BusyLog extends MemoryLog {
  edits = Number.POSITIVE_INFINITY;

  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    if (request.replace !== undefined && request.replace.length > 0 && this.edits-- <= 0) {
      const tail = await this.tail(threadId);
      return { appended: false, tail: tail?.entry, generation: tail?.generation, occupant: undefined };
    }
    return super.append(threadId, request);
  }
}

test("an erasure that lost its races after some pages says how much it has done, and not that nothing was written", async () => {
  const log = new BusyLog();
  const checkpointer = new Checkpointer(log);
  let state = AgentState.create();
  for (let index = 0; index < CHECKPOINTS; index++) {
    state = state.withMessage(userMessage(`said ${index}`, { metadata: { subject: PERSON } }));
    await checkpointer.save(state, "t");
  }
  const context = contextOf(checkpointer) as CheckpointContext;
  const isAnn = (subject: string): boolean => subject === PERSON;
  log.edits = 1;
  const failure = await failureOf(() => eraseInThread(context, "t", isAnn));
  expect(failure).toMatchObject({ code: "CONFLICT" });
  expect(failure.message).toMatch(/\d+ records were rewritten before that and stay so; erase again to go on/);
  expect(failure.message).not.toMatch(/nothing was written/i);
  expect((failure.context as { written?: string }).written).not.toBe("no");
  log.edits = Number.POSITIVE_INFINITY;
  expect(await eraseInThread(context, "t", isAnn)).toBeGreaterThan(0);
  expect(JSON.stringify((await checkpointer.load("t"))?.messages)).not.toContain("said");
});
