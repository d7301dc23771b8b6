import { afterAll, beforeAll, expect, test } from "vitest";
import { AgentPrograms } from "../crash/agent-programs.ts";
import { killAgent } from "../crash/killed-agent.ts";
import { openStore } from "../crash/stores.ts";
import { DISK_BACKENDS } from "../processes/disk-backends.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { reportCampaign } from "./report.ts";

const PROCESSES = 150;

let programs: AgentPrograms;
beforeAll(async () => {
  programs = await AgentPrograms.compile();
});
afterAll(() => programs.dispose());

test.each(DISK_BACKENDS)(
  "%s: agents killed with SIGKILL at random await points are brought to their end",
  async (backend) => {
    console.log(`${backend}: HOLDFAST_SEED=${seed}`);
    const began = performance.now();
    const store = await openStore(backend);
    const random = seededRandom(seed);
    const points = new Map<string, number>();
    for (let started = 0; started < PROCESSES; started++) {
      const stoppedAt = await killAgent(programs, store, backend, random);
      if (stoppedAt !== undefined) points.set(stoppedAt, (points.get(stoppedAt) ?? 0) + 1);
    }
    await store.dispose();
    const kills = [...points.values()].reduce((sum, count) => sum + count, 0);
    reportCampaign(`agents killed, ${backend}`, began, `${kills} kills, seed ${seed}: every run came to its end`, {
      "processes started": PROCESSES,
      "kinds of await point": points.size,
    });
    expect(kills).toBeGreaterThan(PROCESSES / 2);
  },
);
