import { afterAll, beforeAll, expect, test } from "vitest";
import { openStore } from "../../src/backends/open-store.ts";
import { Programs } from "../processes/programs.ts";
import { sharedOnDisk, sharedOnServer } from "../processes/shared-storage.ts";
import { describeWithService } from "../services/with-service.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

const PROCESSES = 3;
const TIMES = 20;

/** Three processes count at once, and one of them is killed on the way. */
async function proveCounting(url: string): Promise<void> {
  const counting = Array.from({ length: PROCESSES }, () => programs.start("counting-program", [url, String(TIMES)]));
  const [killed, ...others] = counting;
  try {
    for (const program of counting) await program.hasSaid(1);
    for (const program of counting) program.tell("go");
    await killed?.hasSaid(1 + TIMES / 2);
    killed?.signal("SIGKILL");
    for (const program of others) expect(await program.ended()).toEqual({ code: 0, signal: null });
    await killed?.ended();
  } finally {
    for (const program of counting) program.signal("SIGKILL");
  }
  const counted = counting.flatMap(({ said }) => said.slice(1));
  // No number was returned twice: that would be two requests on one count.
  expect(new Set(counted).size).toBe(counted.length);
  const store = await openStore(url);
  const count = (await store.get<number>(["limits"], "requests")) ?? 0;
  await store.close();
  // What was acknowledged is there; of the killed one, the last may be there without that it could say so.
  expect(count).toBeGreaterThanOrEqual(counted.length);
  expect(count).toBeLessThanOrEqual(counted.length + 1);
  expect(Math.max(...(counted as number[]))).toBeLessThanOrEqual(count);
}

test.for(["file", "sqlite"] as const)(
  "%s: processes that count at once lose nothing and count nothing twice, also when one is killed",
  async (backend) => {
    const storage = await sharedOnDisk(backend);
    await proveCounting(storage.url);
    await storage.dispose();
  },
);

for (const service of ["postgres", "redis"] as const) {
  await describeWithService(service, (server) => {
    test("processes that count at once lose nothing and count nothing twice, also when one is killed", async () => {
      await proveCounting(sharedOnServer(server).url);
    });
  });
}
