import { afterAll, beforeAll, expect, test } from "vitest";
import { DISK_BACKENDS } from "./disk-backends.ts";
import { Programs } from "./programs.ts";
import { race } from "./racing-writers.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

test.each(DISK_BACKENDS)("%s: four processes that increment one thread at once lose nothing", async (backend) => {
  const conflicts = await race(programs, { backend, processes: 4, increments: 25 });
  expect(conflicts).toBeGreaterThan(0);
});
