import { afterAll, beforeAll, expect, test } from "vitest";
import { seed } from "../property-seed.ts";
import { killGraphs } from "./killed-graph.ts";
import { Programs } from "./programs.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

test.each(["sqlite", "file"] as const)(
  "%s: a graph whose process is killed at any instant loses no step, and applies every write once",
  async (backend) => {
    console.log(`${backend}: HOLDFAST_SEED=${seed}`);
    const report = await killGraphs(programs, { backend, kills: 8, seed });
    expect(report.kills).toBe(8);
  },
  120_000,
);
