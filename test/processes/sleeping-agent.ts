import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "../agent/agent-of.ts";
import { Programs } from "./programs.ts";
import { openShared } from "./shared-storage.ts";

const TTL_MS = 300;

/**
 * An agent's process is stopped between the saved claim of a call and the call.
 * Another takes the thread over, finds out that nothing was done, and does it.
 * Then the first one is woken, again and again on thread after thread: it must not act.
 */
export async function wakeSleepers(url: string, times: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-sleepers-"));
  const programs = await Programs.pack("sleeping-agent-program");
  const effectsPath = join(directory, "effects");
  const effects: string[] = [];
  const pay = tool({
    name: "pay",
    execute: (_, { threadId }) => void effects.push(`${threadId} by its successor`),
    verify: () => ({ outcome: "not-done" }),
  });
  const checkpointer = await openShared(url);
  const sleeper = programs.start("sleeping-agent-program", [url, "0", String(times), effectsPath, String(TTL_MS)]);
  try {
    for (let round = 0; round < times; round++) {
      await sleeper.hasSaid(2 * round + 1);
      expect(sleeper.said.at(-1)).toBe("stopping");
      const successor = agentOf({ model: scriptedModel(["ready"]), checkpointer, tools: [pay] });
      const { stopReason } = await successor.run(undefined, { threadId: `t${round}` });
      expect(stopReason).toBe("complete");
      sleeper.signal("SIGCONT");
      await sleeper.hasSaid(2 * round + 2);
    }
    await sleeper.ended();
    const slept = await readFile(effectsPath, "utf8").catch(() => "");
    expect(slept).toBe("");
    expect(effects).toEqual(Array.from({ length: times }, (_, round) => `t${round} by its successor`));
    const rounds = Array.from({ length: times }, () => ["stopping", { ended: "CONFLICT" }]);
    expect(sleeper.said).toEqual(rounds.flat());
  } finally {
    sleeper.signal("SIGKILL");
    await checkpointer.close();
    await programs.dispose();
    await rm(directory, { recursive: true, force: true });
  }
}
