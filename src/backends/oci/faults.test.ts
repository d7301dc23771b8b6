import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FAULTS, FaultSweep, nameOf, SCENARIOS } from "../../../test/oci-stand-in/fault-sweep.ts";

/** One fault without effect and one with it; `npm run test:chaos` runs all kinds. */
const SOME = FAULTS.filter((fault) => ["503 before the effect", "500 after the effect"].includes(nameOf(fault)));

let sweep: FaultSweep;
beforeAll(async () => {
  sweep = await FaultSweep.prepare();
});
afterAll(() => sweep.close());

describe.each(Object.entries(SCENARIOS))("%s", (_, scenario) => {
  test.each(SOME.map((fault) => [nameOf(fault), fault] as const))(
    "%s, at each request in turn: nothing is lost or doubled, and no conflict is made up",
    async (_, fault) => {
      expect(await sweep.run(scenario, fault)).toBeGreaterThan(0);
    },
  );
});
