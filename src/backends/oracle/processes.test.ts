import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithStandIn } from "../../../test/oracle-stand-in/with-oracle.ts";
import { Programs } from "../../../test/processes/programs.ts";
import { race } from "../../../test/processes/racing-writers.ts";
import { openStore } from "../open-store.ts";

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

  test("four processes that count one counter of a store on lose nothing", { timeout: 600_000 }, async () => {
    const [address, service] = place.dsn.split("/");
    const url = `oracle://${place.user}:${place.password}@${address}/${service}?tableName=${place.tableName()}`;
    const counting = Array.from({ length: 4 }, () => programs.start("counting-program", [url, "25"]));
    for (const program of counting) await program.hasSaid(1);
    for (const program of counting) program.tell("go");
    for (const program of counting) expect(await program.ended()).toEqual({ code: 0, signal: null });
    const counted = counting.flatMap(({ said }) => said.slice(1));
    expect(new Set(counted).size).toBe(100);
    const store = await openStore(url);
    expect(await store.get(["limits"], "requests")).toBe(100);
    await store.close();
  });
});
