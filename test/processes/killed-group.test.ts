import { afterAll, beforeAll, expect, test } from "vitest";
import { seed } from "../property-seed.ts";
import { describeWithService } from "../services/with-service.ts";
import { killGroups } from "./killed-group.ts";
import { Programs } from "./programs.ts";
import { sharedOnDisk, sharedOnServer } from "./shared-storage.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

test(`sqlite: a process that is killed inside a group of saves loses nothing it acknowledged (HOLDFAST_SEED=${seed})`, async () => {
  const { url, dispose } = await sharedOnDisk("sqlite");
  const report = await killGroups(programs, { url, kills: 4, seed });
  expect(report.acked).toBeGreaterThan(0);
  await dispose();
});

for (const backend of ["postgres", "mysql", "redis"] as const) {
  await describeWithService(backend, (server) => {
    test(`a process that is killed inside a group of saves loses nothing it acknowledged (HOLDFAST_SEED=${seed})`, async () => {
      const { url } = sharedOnServer(server);
      const report = await killGroups(programs, { url, kills: 3, seed });
      expect(report.acked).toBeGreaterThan(0);
    });
  });
}
