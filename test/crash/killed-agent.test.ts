import { afterAll, beforeAll, expect, test } from "vitest";
import { DISK_BACKENDS } from "../processes/disk-backends.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";
import { AgentPrograms } from "./agent-programs.ts";
import { killAgent } from "./killed-agent.ts";
import { openStore } from "./stores.ts";

const KILLS = 4;

let programs: AgentPrograms;
beforeAll(async () => {
  programs = await AgentPrograms.compile();
});
afterAll(() => programs.dispose());

test.each(DISK_BACKENDS)(
  "%s: an agent that is killed with SIGKILL is brought to its end by another",
  async (backend) => {
    console.log(`${backend}: HOLDFAST_SEED=${seed}`);
    const store = await openStore(backend);
    const random = seededRandom(seed);
    const killed: (string | undefined)[] = [];
    for (let kill = 0; kill < KILLS; kill++) killed.push(await killAgent(programs, store, backend, random));
    expect(killed).toHaveLength(KILLS);
    await store.dispose();
  },
);
