import { afterAll, beforeAll, expect, test } from "vitest";
import { DISK_BACKENDS } from "./disk-backends.ts";
import { Programs } from "./programs.ts";
import { race } from "./racing-writers.ts";
import { sharedOnDisk } from "./shared-storage.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

test.each(DISK_BACKENDS)("%s: four processes that increment one thread at once lose nothing", async (backend) => {
  const storage = await sharedOnDisk(backend);
  const conflicts = await race(programs, { url: storage.url, processes: 4, increments: 25 });
  expect(conflicts).toBeGreaterThan(0);
  await storage.dispose();
});
