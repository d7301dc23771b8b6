import { describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { MemoryLog } from "../../backends/memory/log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { textOf, userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";
import type { AppendRequest } from "../log/thread-log.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

describe("two processes that name their writes alike, as clones of one virtual machine do", () => {
  test("with a write id of the caller's: the second is told CONFLICT, and its state is not taken for saved", async () => {
    const log = new MemoryLog();
    const [one, other] = [new Checkpointer(log), new Checkpointer(log)];
    await one.save(said("before"), "t");
    const [first, second] = [await one.load("t"), await other.load("t")];
    await one.save((first ?? said("")).withMessage(userMessage("one")), "t", { writeId: "same" });
    const late = (second ?? said("")).withMessage(userMessage("other"));
    expect(await failureOf(() => other.save(late, "t", { writeId: "same" }))).toMatchObject({ code: "CONFLICT" });
    expect((await one.load("t"))?.messages.map(textOf)).toEqual(["before", "one"]);
  });

  test("with a write id of the caller's, the same state is the same write, in every process", async () => {
    const log = new MemoryLog();
    const [one, other] = [new Checkpointer(log), new Checkpointer(log)];
    await one.save(said("before"), "t");
    const [first, second] = [await one.load("t"), await other.load("t")];
    const message = userMessage("one");
    const checkpointId = await one.save((first ?? said("")).withMessage(message), "t", { writeId: "same" });
    expect(await other.save((second ?? said("")).withMessage(message), "t", { writeId: "same" })).toBe(checkpointId);
    expect((await one.load("t"))?.messages).toHaveLength(2);
  });

  test("with drawn ids, also where the answer to the second was lost", async () => {
    const log = new MemoryLog();
    const [one, other] = [new Checkpointer(log), new Checkpointer(log, { retry: { attempts: 1 } })];
    await one.save(said("before"), "t");
    const [first, second] = [await one.load("t"), await other.load("t")];
    const drawn: AppendRequest[] = [];
    const append = log.append.bind(log);
    log.append = async (threadId, request) => {
      drawn.push(request);
      return append(threadId, request);
    };
    await one.save((first ?? said("")).withMessage(userMessage("one")), "t");
    const [{ record } = { record: undefined }] = drawn;
    const late = (second ?? said("")).withMessage(userMessage("other"));
    let isLost = false;
    log.append = async (threadId, request) => {
      if (!isLost) {
        isLost = true;
        throw new Error("the connection is gone");
      }
      const writeId = record?.writeId ?? "";
      return append(threadId, { ...request, record: { ...request.record, writeId } });
    };
    await failureOf(() => other.save(late, "t"));
    expect(await failureOf(() => other.save(late, "t"))).toMatchObject({ code: "CONFLICT" });
    expect((await one.load("t"))?.messages.map(textOf)).toEqual(["before", "one"]);
  });
});
