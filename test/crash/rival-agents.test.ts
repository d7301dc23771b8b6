import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repairHistory } from "../../src/agent/model-call/repair-history.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import { assertValidForAnthropic, assertValidForOpenAI } from "../../src/testing/models/history-validators.ts";
import { agentOf } from "../agent/agent-of.ts";
import { linesOf } from "../agent/stored-thread.ts";
import { DISK_BACKENDS } from "../processes/disk-backends.ts";
import type { ProgramProcess } from "../processes/programs.ts";
import { AgentPrograms } from "./agent-programs.ts";
import { type Effect, effectsInFile } from "./effects.ts";
import { openStore, type Store } from "./stores.ts";
import { ANSWER, LATER_ANSWER, LATER_PROMPT, PROMPT, partsOf, resultFor, type Story } from "./story.ts";
import { nothingTold } from "./told.ts";

let programs: AgentPrograms;
beforeAll(async () => {
  programs = await AgentPrograms.compile();
});
afterAll(() => programs.dispose());

describe.each(DISK_BACKENDS)("two processes that run one thread at once on %s:", (backend) => {
  let store: Store;
  beforeAll(async () => {
    store = await openStore(backend);
  });
  afterAll(() => store.dispose());

  const effectsPath = (threadId: string): string => join(store.directory, `${threadId}.jsonl`);
  /** With a lease that no stall of a busy machine outlasts, unless a test waits for its end. */
  const start = (threadId: string, story: Story, prompt: string, barrier: string, ttlMs = 60_000): ProgramProcess =>
    programs.start("rival-agent", [
      backend,
      store.directory,
      threadId,
      effectsPath(threadId),
      JSON.stringify(story),
      prompt,
      barrier,
      String(ttlMs),
    ]);
  const ending = async (process: ProgramProcess): Promise<string> => {
    await process.ended();
    return (process.said.at(-1) as { ended: string }).ended;
  };

  /** The thread as a run left it that stopped before the first call of the model began. */
  async function leaveCallsOpen(threadId: string, story: Story): Promise<void> {
    const checkpointer = new Checkpointer(store.open());
    const world = {
      point: async () => undefined,
      effects: effectsInFile(effectsPath(threadId)),
      faults: [],
      told: nothingTold(),
    };
    const { hooks: _, ...parts } = partsOf(story, world);
    const stop = new AbortController();
    const afterModel = (): void => stop.abort();
    const agent = agentOf({ ...parts, checkpointer, hooks: { afterModel } });
    await agent.run(PROMPT, { threadId, signal: stop.signal });
    await checkpointer.close();
  }

  async function look(threadId: string): Promise<{ state: AgentState; effects: readonly Effect[] }> {
    const checkpointer = new Checkpointer(store.open());
    const state = await checkpointer.load(threadId);
    await checkpointer.close();
    if (state === undefined) throw new Error("the thread is gone");
    assertValidForOpenAI(repairHistory(state.messages));
    assertValidForAnthropic(repairHistory(state.messages));
    return { state, effects: effectsInFile(effectsPath(threadId)).all() };
  }

  test.each([1, 3] as const)(
    "both find %i open calls; one goes on, the other waits for it, each tool acts once",
    async (tools) => {
      const [threadId, story] = [`open ${tools}`, { kind: "idempotent", tools, every: 1 } as const];
      await leaveCallsOpen(threadId, story);
      const rivals = [1, 2].map(() => start(threadId, story, "", "after load"));
      for (const rival of rivals) await rival.hasSaid(1);
      for (const rival of rivals) rival.tell("go");
      const ended = await Promise.all(rivals.map(ending));
      expect(ended).toEqual(["complete", "complete"]);
      const { state, effects } = await look(threadId);
      expect(effects.map(({ n }) => n).sort()).toEqual(Array.from({ length: 2 * tools }, (_, index) => index + 1));
      expect(linesOf(state).at(-1)).toBe(`assistant: ${ANSWER}`);
    },
  );

  test("both say something new; both are heard, one after the other", async () => {
    const [threadId, story] = ["new words", { kind: "pure", tools: 0, every: 1 } as const];
    await ending(start(threadId, story, PROMPT, ""));
    const rivals = [LATER_PROMPT, PROMPT].map((prompt) => start(threadId, story, prompt, "after load"));
    for (const rival of rivals) await rival.hasSaid(1);
    for (const rival of rivals) rival.tell("go");
    expect(await Promise.all(rivals.map(ending))).toEqual(["complete", "complete"]);
    const [first, second] = [
      [`user: ${PROMPT}`, `assistant: ${ANSWER}`],
      [`user: ${LATER_PROMPT}`, `assistant: ${LATER_ANSWER}`],
    ] as const;
    const lines = linesOf((await look(threadId)).state);
    expect(lines.slice(0, 2)).toEqual(first);
    expect([
      [...first, ...second],
      [...second, ...first],
    ]).toContainEqual(lines.slice(2));
  });

  test("one is in the middle of a tool that acts at most once: the other waits, and no call is in doubt", async () => {
    const [threadId, story] = ["in a tool", { kind: "atMostOnce", tools: 1, every: 1 } as const];
    const first = start(threadId, story, PROMPT, "tool acted");
    await first.hasSaid(1);
    const second = start(threadId, story, "", "after load");
    await second.hasSaid(1);
    second.tell("go");
    first.tell("go");
    expect(await Promise.all([first, second].map(ending))).toEqual(["complete", "complete"]);
    const { state, effects } = await look(threadId);
    expect(effects.map(({ n }) => n)).toEqual([1, 2]);
    expect(state.toolExecutions.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    expect(linesOf(state).slice(-2)).toEqual([`tool: ${resultFor(2)}`, `assistant: ${ANSWER}`]);
  });

  test("one is stopped past its lease in the middle of a tool: the other takes over, and the first gets CONFLICT when it wakes", async () => {
    const [threadId, story] = ["stopped", { kind: "atMostOnce", tools: 1, every: 1 } as const];
    const first = start(threadId, story, PROMPT, "tool acted", 3_000);
    await first.hasSaid(1);
    first.signal("SIGSTOP");
    expect(await ending(start(threadId, story, "", ""))).toBe("complete");
    first.signal("SIGCONT");
    first.tell("go");
    expect(await ending(first)).toBe("CONFLICT");
    const { state, effects } = await look(threadId);
    expect(effects.map(({ n }) => n)).toEqual([1, 2]);
    expect(state.toolExecutions.map(({ status }) => status)).toEqual(["unknown", "succeeded"]);
  });

  test("one that is ended by SIGTERM leaves its call as begun, and another process goes on at once", async () => {
    const [threadId, story] = ["asked to end", { kind: "atMostOnce", tools: 1, every: 1 } as const];
    const first = start(threadId, story, PROMPT, "tool acted", 600_000);
    await first.hasSaid(1);
    first.signal("SIGTERM");
    expect(await first.ended()).toMatchObject({ signal: "SIGTERM" });
    expect((await look(threadId)).state.toolExecutions.map(({ status }) => status)).toEqual(["started"]);
    expect(await ending(start(threadId, story, "", ""))).toBe("complete");
    expect((await look(threadId)).state.toolExecutions[0]?.status).toBe("unknown");
  });
});
