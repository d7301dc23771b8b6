import type { Saver } from "../../../src/saver/saver.ts";
import type { Fixture } from "../../../src/testing/conformance-case.ts";
import { manualClock } from "../../../src/testing/manual-clock.ts";
import { runCase } from "../../../src/testing/run-case.ts";
import { saverSuite } from "../../../src/testing/saver-cases/suite.ts";
import type { BrokenKind } from "../fault.ts";
import { oneNamed } from "../one-named.ts";
import { saverFaults } from "./every-fault.ts";
import type { SaverFault } from "./fault.ts";

/** A saver on an empty storage of its own, with the clock held. */
export const create = (saver: SaverFault["saver"]) => async (): Promise<Fixture<Saver>> => {
  const clock = manualClock();
  const threads = new Map();
  const open = () => saver({ now: clock.now, threads });
  return { subject: open(), clock, reopen: async () => open() };
};

export const SAVERS: BrokenKind<SaverFault> = {
  faults: saverFaults,
  cases: saverSuite.cases,
  outcomeOf: (name, { saver }) => runCase(saverSuite, oneNamed(saverSuite.cases, name), create(saver)),
};
