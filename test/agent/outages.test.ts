import { describe, expect, test } from "vitest";
import { RunError } from "../../src/agent/run/run-error.ts";
import { type Tool, tool } from "../../src/agent/tool-call/tool.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import type { AppendOutcome, AppendRequest } from "../../src/checkpoint/log/thread-log.ts";
import type { ErrorCode } from "../../src/errors.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

/** A storage that can be away: before a write is made, or after, when its answer is lost. */
class OutageLog extends MemoryLog {
  away: "no" | "before" | "after" = "no";
  /** It is back after this many writes were refused. */
  patience = Number.POSITIVE_INFINITY;

  override async append(threadId: string, request: AppendRequest): Promise<AppendOutcome> {
    if (this.away === "before") {
      if (--this.patience <= 0) this.away = "no";
      throw new Error("no answer");
    }
    const outcome = await super.append(threadId, request);
    if (this.away === "after") {
      this.away = "before";
      throw new Error("the connection was cut");
    }
    return outcome;
  }

  override classify(): ErrorCode {
    return "UNAVAILABLE";
  }
}

const pays = { toolCalls: [{ name: "pay", id: "c" }] };

describe.each(["before", "after"] as const)("the storage is away (%s the write) while a payment settles:", (away) => {
  function paying(log: OutageLog): { pay: Tool; paid: () => number } {
    let paid = 0;
    const pay = tool({
      name: "pay",
      execute: () => {
        paid++;
        log.away = away;
        return "paid";
      },
    });
    return { pay, paid: () => paid };
  }

  test("for a while: its outcome is saved when the storage is back, and a warning says so", async () => {
    const log = new OutageLog();
    const store = new MemoryStore(log);
    const { pay, paid } = paying(log);
    log.patience = 3;
    const agent = agentOf({ model: scriptedModel([pays, "ready"]), checkpointer: store.open(), tools: [pay] });
    const run = agent.run("go", { threadId: "t" });
    const warnings = ofType(await eventsOf(run), "warning");
    expect(await run).toMatchObject({ text: "ready" });
    expect(warnings.length).toBeGreaterThanOrEqual(1);
    expect(warnings[0]).toMatchObject({ where: "save", error: { code: "UNAVAILABLE" } });
    expect({ paid: paid(), statuses: await store.statuses() }).toEqual({ paid: 1, statuses: ["succeeded"] });
  });

  test("for longer: the error has the state, and settle() writes it once the storage is back", async () => {
    const log = new OutageLog();
    const store = new MemoryStore(log);
    const { pay, paid } = paying(log);
    const model = scriptedModel([pays, "ready"]);
    const agent = agentOf({ model, checkpointer: store.open(), tools: [pay], saveRetryMs: 150 });
    const error = (await failureOf(() => agent.run("go", { threadId: "t" }))) as RunError;
    expect(error).toBeInstanceOf(RunError);
    expect(error.state.toolExecutions.map(({ status }) => status)).toEqual(["succeeded"]);
    await expect(agent.settle(error)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    log.away = "no";
    await agent.settle(error);
    await agent.settle(error);
    expect({ paid: paid(), statuses: await store.statuses() }).toEqual({ paid: 1, statuses: ["succeeded"] });
    const next = agentOf({ model: scriptedModel(["ready"]), checkpointer: store.open(), tools: [pay] });
    expect(await next.run(undefined, { threadId: "t" })).toMatchObject({ text: "ready" });
  });

  test("for longer: the next run of the same process writes it before anything else", async () => {
    const log = new OutageLog();
    const store = new MemoryStore(log);
    const { pay, paid } = paying(log);
    const model = scriptedModel([pays, "lost", "ready"]);
    const agent = agentOf({ model, checkpointer: store.open(), tools: [pay], saveRetryMs: 150 });
    await failureOf(() => agent.run("go", { threadId: "t" }));
    log.away = "no";
    await agent.run(undefined, { threadId: "t" });
    expect({ paid: paid(), statuses: await store.statuses() }).toEqual({ paid: 1, statuses: ["succeeded"] });
  });

  test("for longer: a run that was waiting for its turn writes it before anything else, too", async () => {
    const log = new OutageLog();
    const store = new MemoryStore(log);
    const { pay, paid } = paying(log);
    const model = scriptedModel([pays, "lost", "ready", "ready"]);
    const agent = agentOf({ model, checkpointer: store.open(), tools: [pay], saveRetryMs: 150 });
    const first = agent.run("go", { threadId: "t" });
    const second = agent.run("and then?", { threadId: "t" });
    await failureOf(() => first.finally(() => (log.away = "no")));
    await second;
    expect({ paid: paid(), statuses: await store.statuses() }).toEqual({ paid: 1, statuses: ["succeeded"] });
  });

  test("and another process went on meanwhile: what it decided stands, and settling says nothing against it", async () => {
    const log = new OutageLog();
    const store = new MemoryStore(log);
    const { pay } = paying(log);
    const agent = agentOf({
      model: scriptedModel([pays, "?"]),
      checkpointer: store.open(),
      tools: [pay],
      saveRetryMs: 50,
    });
    const error = (await failureOf(() => agent.run("go", { threadId: "t" }))) as RunError;
    log.away = "no";
    store.killAll();
    await agentOf({ model: scriptedModel(["other"]), checkpointer: store.open(), tools: [pay] }).run(undefined, {
      threadId: "t",
    });
    await agent.settle(error);
    expect((await store.lines()).at(-1)).toBe("assistant: other");
  });
});

describe.each(["before", "after"] as const)("a claim that could not be saved (broken %s the write)", (away) => {
  function claiming(log: OutageLog, store: MemoryStore, saveRetryMs: number) {
    let ran = 0;
    const pay = tool({ name: "pay", execute: () => ++ran });
    const agent = agentOf({
      model: scriptedModel([pays, "ready"]),
      checkpointer: store.open(),
      tools: [pay],
      saveRetryMs,
      hooks: {
        beforeTool: () => {
          log.away = away;
        },
        afterModel: () => undefined,
      },
    });
    return { agent, ran: () => ran };
  }

  test("leaves nothing behind that says it began, once the storage is back", async () => {
    const log = new OutageLog();
    const store = new MemoryStore(log);
    const { agent, ran } = claiming(log, store, 60_000);
    log.patience = 3;
    const error = await failureOf(() => agent.run("go", { threadId: "t" }));
    expect(error.code).toBe("UNAVAILABLE");
    if (away === "before") {
      log.away = "no";
      await agent.settle(error as RunError);
    }
    expect({ ran: ran(), statuses: await store.statuses() }).toEqual({ ran: 0, statuses: ["intended"] });
  });

  test("nor when the storage is away for longer: the next run takes it back and begins", async () => {
    const log = new OutageLog();
    const store = new MemoryStore(log);
    const { agent, ran } = claiming(log, store, 50);
    await failureOf(() => agent.run("go", { threadId: "t" }));
    log.away = "no";
    const error = await failureOf(() => agent.run(undefined, { threadId: "t" }));
    expect(error.code).toBe("UNAVAILABLE");
    log.away = "no";
    await agent.settle(error as RunError);
    expect({ ran: ran(), statuses: await store.statuses() }).toEqual({ ran: 0, statuses: ["intended"] });
  });
});
