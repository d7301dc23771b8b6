import { afterAll, beforeAll, expect, test } from "vitest";
import { seed } from "../property-seed.ts";
import { KILLED_BACKENDS } from "./disk-backends.ts";
import { killWriters } from "./killed-writer.ts";
import { Programs } from "./programs.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

test.each(KILLED_BACKENDS)(
  "%s: a process that is killed at any instant loses nothing it acknowledged",
  async (backend) => {
    console.log(`${backend}: HOLDFAST_SEED=${seed}`);
    const report = await killWriters(programs, { backend, kills: 10, seed });
    expect(report.kills).toBe(10);
    expect(report.acked).toBeGreaterThan(0);
  },
);
