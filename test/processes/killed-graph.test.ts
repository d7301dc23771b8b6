import { afterAll, beforeAll, expect, test } from "vitest";
import { seed } from "../property-seed.ts";
import { killGraphs } from "./killed-graph.ts";
import { Programs } from "./programs.ts";
import { sharedOnDisk } from "./shared-storage.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.bundle("killed-graph-program");
});
afterAll(() => programs.dispose());

test.each(["sqlite", "file"] as const)(
  "%s: a graph whose process is killed at any instant loses no step, and applies every write once",
  async (backend) => {
    console.log(`${backend}: HOLDFAST_SEED=${seed}`);
    const { url, dispose } = await sharedOnDisk(backend);
    const report = await killGraphs(programs, { url, kills: 8, seed });
    expect(report.kills).toBe(8);
    await dispose();
  },
);
