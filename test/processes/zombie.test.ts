import { afterAll, beforeAll, describe, test } from "vitest";
import { DISK_BACKENDS } from "./disk-backends.ts";
import { Programs } from "./programs.ts";
import { sharedOnDisk } from "./shared-storage.ts";
import { wakeZombie, ZOMBIE_MOMENTS } from "./zombie.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

describe.each(DISK_BACKENDS)("%s: a lease holder that was stopped past its time", (backend) => {
  test.each(ZOMBIE_MOMENTS)("is refused when it was stopped while %s", async (moment) => {
    const storage = await sharedOnDisk(backend);
    await wakeZombie(programs, storage.url, moment);
    await storage.dispose();
  });
});
