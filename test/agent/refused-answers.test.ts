import { describe, expect, test } from "vitest";
import type { RunError } from "../../src/agent/run/run-error.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { refuseSecrets } from "../../src/state/secrets.ts";
import { type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { smallRecords } from "../small-records-log.ts";
import { agentOf } from "./agent-of.ts";
import { type Gate, gate } from "./gate.ts";
import { linesOf } from "./stored-thread.ts";

/** Its next write waits for the gate. */
class SlowLog extends MemoryLog {
  gate: Gate | undefined;

  override async append(...args: Parameters<MemoryLog["append"]>): ReturnType<MemoryLog["append"]> {
    const { gate: closed } = this;
    this.gate = undefined;
    await closed?.opened;
    return super.append(...args);
  }
}

const secret = `sk-proj-${"aB3".repeat(20)}`;
const storages = {
  "is too large for the storage": {
    open: (log: MemoryLog) => new Checkpointer(smallRecords(log, 20_000).log),
    words: "x".repeat(40_000),
    code: "TOO_LARGE",
  },
  "holds a secret that the storage refuses": {
    open: (log: MemoryLog) => new Checkpointer(log, { redact: refuseSecrets }),
    words: `the key is ${secret}`,
    code: "INVALID_ARGUMENT",
  },
};

describe.each(Object.entries(storages))("an answer that %s", (_, { open, words, code }) => {
  /** Two payments, of which the second is settled by the save that brings the answer, too. */
  async function paidTwice(result: string, answer: ScriptStep) {
    const log = new SlowLog();
    const checkpointer = open(log);
    const held = gate();
    const paid: string[] = [];
    const pay = (name: string, before: () => unknown) =>
      tool({
        name,
        execute: async () => {
          await before();
          paid.push(name);
          return `${name} ${result}`;
        },
      });
    const first = gate();
    const tools = [
      pay("one", () => {
        log.gate = held;
        first.open();
      }),
      pay("two", async () => {
        await first.opened;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }),
    ];
    const answers: ScriptStep = async () => {
      setTimeout(held.open, 20);
      return answer;
    };
    const model = scriptedModel([{ toolCalls: [{ name: "one" }, { name: "two" }] }, answers, "hello"]);
    return { agent: agentOf({ model, checkpointer, tools }), checkpointer, paid };
  }

  test("beside the outcome of a payment: that is kept as it is, the run fails, and no later one of the process", async () => {
    const { agent, checkpointer, paid } = await paidTwice("paid", words);
    const error = (await failureOf(() => agent.run("go", { threadId: "t" }))) as RunError;
    expect(error.code).toBe(code);
    const lines = ["user: go", "assistant: (calls one, two)", "tool: one paid", "tool: two paid"];
    expect(linesOf((await checkpointer.load("t"))!)).toEqual(lines);
    expect(await agent.run("and?", { threadId: "t" })).toMatchObject({ text: "hello" });
    const { messages, toolExecutions } = (await checkpointer.load("t"))!;
    expect(linesOf({ messages })).toEqual([...lines, "user: and?", "assistant: hello"]);
    expect(toolExecutions.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    expect(paid).toEqual(["one", "two"]);
  });

  test("and asks for another payment: that is not made", async () => {
    const { agent, checkpointer, paid } = await paidTwice("paid", { text: words, toolCalls: [{ name: "one" }] });
    const error = (await failureOf(() => agent.run("go", { threadId: "t" }))) as RunError;
    expect(error.code).toBe(code);
    expect(await agent.run("and?", { threadId: "t" })).toMatchObject({ text: "hello" });
    const { toolExecutions } = (await checkpointer.load("t"))!;
    expect(toolExecutions.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    expect(paid).toEqual(["one", "two"]);
  });

  test("beside results that are refused as well: the payments are settled, and no later run fails", async () => {
    const { agent, checkpointer, paid } = await paidTwice(words, words);
    const error = (await failureOf(() => agent.run("go", { threadId: "t" }))) as RunError;
    expect(error.code).toBe(code);
    expect(await agent.run("and?", { threadId: "t" })).toMatchObject({ text: "hello" });
    const { toolExecutions } = (await checkpointer.load("t"))!;
    expect(toolExecutions.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    expect(paid).toEqual(["one", "two"]);
  });

  test("where it is the payment's own result that is refused, the answer beside it is kept", async () => {
    const { agent, checkpointer } = await paidTwice(words, "ready");
    expect(await agent.run("go", { threadId: "t" })).toMatchObject({ text: "ready" });
    const lines = linesOf((await checkpointer.load("t"))!);
    expect(lines).toHaveLength(5);
    expect(lines.filter((line) => line.includes("what it brought was not kept"))).toHaveLength(2);
    expect(lines.at(-1)).toBe("assistant: ready");
  });

  test("of a sub-agent is the failure of its call, and the caller goes on", async () => {
    const checkpointer = open(new MemoryLog());
    const clerk = agentOf({ model: scriptedModel([words]) }).asTool({ name: "clerk" });
    const toolCalls = [{ name: "clerk", arguments: { prompt: "book it" } }];
    const agent = agentOf({ model: scriptedModel([{ toolCalls }, "ready"]), tools: [clerk], checkpointer });
    expect(await agent.run("go", { threadId: "t" })).toMatchObject({ text: "ready" });
    expect((await checkpointer.load("t"))!.toolExecutions.map(({ status }) => status)).toEqual(["failed"]);
  });
});
