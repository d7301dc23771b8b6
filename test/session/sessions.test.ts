import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { Agent } from "../../src/wiring/agent.ts";
import { AgentSession } from "../../src/wiring/agent-session.ts";
import { describeWithService } from "../services/with-service.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-sessions-"));
afterAll(() => rm(folder, { recursive: true }));
let places = 0;
const freshName = (): string => `place-${++places}`;

const bytesIn = async (directory: string): Promise<string> => {
  let bytes = "";
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await readFile(join(entry.parentPath, entry.name))).toString("latin1");
  }
  return bytes;
};

const storages: readonly (readonly [name: string, url: () => string])[] = [
  ["sqlite", () => `sqlite:${join(folder, `${freshName()}.db`)}`],
  ["file", () => `file:${join(folder, freshName())}`],
];

describe.each(storages)("a session on %s", (_, freshUrl) => {
  test("checkpoints outlive the process, working state does not", async () => {
    const backend = freshUrl();
    const session = new AgentSession({ sessionId: "s1", userId: "u1", backend });
    session.setWorking("current_subtask", "generate_report");
    session.setWorking("in_flight", { name: "fetch" });
    const id = await session.checkpoint("done", { includeKeys: ["current_subtask", "missing"] });
    await session.close();
    expect(session.workingKeys()).toEqual([]);
    const restored = await AgentSession.restore("s1", { backend });
    expect(restored.workingKeys()).toEqual([]);
    expect(restored.getWorking("current_subtask", "nothing")).toBe("nothing");
    expect(await restored.getCheckpoint("done")).toEqual({ current_subtask: "generate_report" });
    expect(restored.userId).toBe("u1");
    expect((await restored.listCheckpoints()).map((each) => each.id)).toEqual([id]);
    await restored.close();
  });

  test("the newest checkpoint with a label is found, and all are listed, the oldest first", async () => {
    const backend = freshUrl();
    const session = new AgentSession({ sessionId: "s1", backend });
    for (let step = 1; step <= 3; step++) {
      session.setWorking("step", step);
      await session.checkpoint(step === 2 ? "other" : "mine");
    }
    expect(await session.getCheckpoint("mine")).toEqual({ step: 3 });
    expect(await session.getCheckpoint("other")).toEqual({ step: 2 });
    expect(await session.getCheckpoint("unknown")).toBeUndefined();
    const listed = await session.listCheckpoints();
    expect(listed.map(({ label }) => label)).toEqual(["mine", "other", "mine"]);
    expect(listed.every(({ createdAt }) => createdAt instanceof Date)).toBe(true);
    await session.close();
  });

  test("two processes in one session both keep their checkpoints, whichever is faster", async () => {
    const backend = freshUrl();
    const sessions = [1, 2].map(() => new AgentSession({ sessionId: "s1", backend }));
    await Promise.all(
      sessions.flatMap((session, index) => {
        session.setWorking("who", index);
        return [1, 2, 3].map(() => session.checkpoint(`from-${index}`));
      }),
    );
    const [one] = sessions;
    expect(await one?.listCheckpoints()).toHaveLength(6);
    expect(await one?.getCheckpoint("from-1")).toEqual({ who: 1 });
    for (const session of sessions) await session.close();
  });
});

describe("working state", () => {
  test("never reaches the disk, a log line or a JSON text unless a checkpoint names it", async () => {
    const directory = join(folder, freshName());
    const session = new AgentSession({ sessionId: "s1", backend: `file:${directory}` });
    session.setWorking("kept", "canary-kept");
    session.setWorking("scratch", "canary-scratch");
    await session.checkpoint("half", { includeKeys: ["kept"] });
    await session.checkpoint("nothing", { includeKeys: [] });
    expect(await session.getCheckpoint("nothing")).toEqual({});
    await session.close();
    const bytes = await bytesIn(directory);
    expect(bytes).toContain("canary-kept");
    expect(bytes).not.toContain("canary-scratch");
    session.clearWorking();
    const open = new AgentSession({ sessionId: "s2", backend: new MemoryCheckpointer() });
    open.setWorking("scratch", "canary-scratch");
    expect(inspect(open, { depth: 9, showHidden: true }) + JSON.stringify(open)).not.toContain("canary-scratch");
  });

  test("may hold what cannot be stored, until a checkpoint asks for it: then it is refused with its path", async () => {
    const session = new AgentSession({ sessionId: "s1", backend: new MemoryCheckpointer() });
    const socket = { write: () => undefined };
    session.setWorking("socket", socket);
    expect(session.getWorking("socket")).toBe(socket);
    await expect(session.checkpoint("all")).rejects.toThrow(/metadata\.working\.socket\.write: a function/);
    expect(await session.listCheckpoints()).toEqual([]);
  });
});

describe("everyday mistakes", () => {
  test("what is not a backend, an unknown option and a closed session are refused by name", async () => {
    expect(() => new AgentSession({ sessionId: "s", backend: {} as never })).toThrow(/takes a checkpointer/);
    expect(() => new AgentSession({ sessionID: "s" } as never)).toThrow(/did you mean "sessionId"/);
    expect(() => new AgentSession({ sessionId: "" })).toThrow(/must not be empty/);
    const session = new AgentSession({ sessionId: "s", backend: new MemoryCheckpointer() });
    await expect(session.checkpoint("done", ["a"] as never)).rejects.toThrow(/takes its options as an object/);
    await expect(session.checkpoint("")).rejects.toThrow(/a label is a text/);
    await session.close();
    expect(() => session.setWorking("a", 1)).toThrow(/after close\(\)/);
    await expect(session.checkpoint("done")).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("a conversation with the session's id is another thread; one with its thread id is refused by name", async () => {
    const backend = new MemoryCheckpointer();
    await backend.save(AgentState.create({ metadata: { mine: true } }), "s1");
    const session = new AgentSession({ sessionId: "s1", backend });
    await session.checkpoint("done");
    expect((await backend.load("s1"))?.metadata).toEqual({ mine: true });
    await backend.save(AgentState.create(), "session:s2");
    const other = new AgentSession({ sessionId: "s2", backend });
    await expect(other.getCheckpoint("done")).rejects.toThrow(/is not a session's/);
    await expect(other.checkpoint("done")).rejects.toThrow(/is not a session's/);
    expect(await backend.listCheckpoints("session:s2")).toHaveLength(1);
  });

  test("a backend that cannot be reached is an error of restore, never an empty session", async () => {
    const backend = "http://127.0.0.1:9/absent";
    await expect(AgentSession.restore("s1", { backend })).rejects.toMatchObject({ name: "StateError" });
  });
});

describe("an agent in a session", () => {
  const note = tool({
    name: "note",
    effect: "pure",
    execute: (_, { session }) => {
      session?.setWorking("noted", `${session.getWorking("topic")} was noted`);
      return "noted";
    },
  });

  test("its tools see working state, and a finished task becomes a labelled checkpoint", async () => {
    const backend = new MemoryCheckpointer();
    const agent = new Agent({
      model: scriptedModel([{ toolCalls: [{ name: "note" }] }, "Done."]),
      tools: [note],
      checkpointer: backend,
    });
    const session = new AgentSession({ sessionId: "s1", userId: "u1", backend });
    session.setWorking("topic", "the outage");
    const task = session.task("report_done", { includeKeys: ["noted"] });
    const { checkpointId } = await agent.run("Note it.", { threadId: "t1", session: task });
    expect(await session.getCheckpoint("report_done")).toEqual({ noted: "the outage was noted" });
    const [summary] = await backend.listCheckpoints("session:s1");
    const state = await backend.load("session:s1", summary?.checkpointId ?? "");
    expect(state?.metadata["holdfast.session"]).toEqual({
      label: "report_done",
      task: { threadId: "t1", checkpointId, stopReason: "complete" },
    });
  });

  test("a run that did not finish makes no checkpoint, and one that cannot be made costs no answer", async () => {
    const backend = new MemoryCheckpointer();
    const endless = new Agent({
      model: scriptedModel([{ toolCalls: [{ name: "note" }] }, "Done."]),
      tools: [note],
      maxIterations: 1,
    });
    const session = new AgentSession({ sessionId: "s1", backend });
    await endless.run("Note it.", { session: session.task("done") });
    expect(await session.listCheckpoints()).toEqual([]);
    session.setWorking("socket", () => undefined);
    const agent = new Agent({ model: scriptedModel(["Hello."]) });
    const warnings: unknown[] = [];
    const run = agent.run("Hi.", { session: session.task("done") });
    for await (const event of run) if (event.type === "warning") warnings.push(event.where);
    expect((await run).text).toBe("Hello.");
    expect(warnings).toEqual(["session"]);
    expect(() => agent.run("Hi.", { session: session as never })).toThrow(/session\.task\("report_done"\)/);
  });
});

for (const service of ["postgres", "redis"] as const) {
  await describeWithService(service, (url) => {
    test(`a session is restored from ${service}`, async () => {
      const sessionId = `s-${process.pid}-${Math.random()}`;
      const session = new AgentSession({ sessionId, backend: url });
      session.setWorking("step", 1);
      await session.checkpoint("done");
      await session.close();
      const restored = await AgentSession.restore(sessionId, { backend: url });
      expect(await restored.getCheckpoint("done")).toEqual({ step: 1 });
      await restored.close();
    });
  });
}
