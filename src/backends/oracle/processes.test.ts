import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithStandIn } from "../../../test/oracle-stand-in/with-oracle.ts";
import { Programs } from "../../../test/processes/programs.ts";
import { race } from "../../../test/processes/racing-writers.ts";

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(() => programs.dispose());

await describeWithStandIn((place) => {
  test("eight processes that save a hundred times each to one thread lose nothing", { timeout: 600_000 }, async () => {
    const [address, service] = place.dsn.split("/");
    const url = `oracle://${place.user}:${place.password}@${address}/${service}?tableName=${place.tableName()}`;
    const conflicts = await race(programs, { url, processes: 8, increments: 100 });
    expect(conflicts).toBeGreaterThan(0);
  });
});
