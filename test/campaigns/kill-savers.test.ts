import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Programs } from "../processes/programs.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { sharedOnDisk } from "../processes/shared-storage.ts";
import { seed } from "../property-seed.ts";
import { KilledSavers } from "../saver/killed-saver.ts";
import { runRandomly } from "../saver/random-operations.ts";
import { reportCampaign, reportProgress } from "./report.ts";

vi.setConfig({ testTimeout: 7_200_000 });

const OPERATIONS = Number(process.env["HOLDFAST_RANDOM_OPERATIONS"] ?? 30_000);
const EVERY = 100;
const LONGEST_MOMENT_MS = 12;

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.bundle("saver-program");
});
afterAll(() => programs.dispose());

test.each(["file", "sqlite"] as const)(
  "%s: two savers never differ from the model while their process is killed in every hundredth operation",
  async (backend) => {
    console.log(`${backend}: HOLDFAST_SEED=${seed}`);
    const began = performance.now();
    const { url, dispose } = await sharedOnDisk(backend);
    const random = seededRandom(seed);
    const processes = [0, 1].map(() => new KilledSavers(programs.pathOf("saver-program"), url));
    let turn = 0;
    await runRandomly({
      seed,
      operations: OPERATIONS,
      open: () => (processes[turn++ % 2] as KilledSavers).open(),
      now: () => 0,
      wasRepeated: (saver) => processes.some((each) => each.wasRepeated(saver)),
      disturb: (operation) => {
        reportProgress(`${backend}, kill -9`, began, operation);
        if (operation % EVERY === 0) processes[random.below(2)]?.killIn(random.next() * LONGEST_MOMENT_MS);
      },
    });
    for (const each of processes) await each.close();
    const kills = processes.reduce((sum, each) => sum + each.kills, 0);
    reportCampaign(`random savers, ${backend}, kill -9`, began, `${OPERATIONS} operations, seed ${seed}`, { kills });
    expect(kills).toBeGreaterThan(OPERATIONS / EVERY / 2);
    await dispose();
  },
);
