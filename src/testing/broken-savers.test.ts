import { AssertionError } from "node:assert/strict";
import { afterAll, describe, expect, test } from "vitest";
import { StateError } from "../errors.ts";
import { ReferenceSaver } from "./broken-savers/reference-saver.ts";
import type { SaverFault } from "./broken-savers/saver-fault.ts";
import { saverFaults } from "./broken-savers/saver-faults.ts";
import { manualClock } from "./manual-clock.ts";
import { type CaseOutcome, runCase } from "./run-case.ts";
import type { SaverCase } from "./saver-cases/saver-case.ts";
import { saverSuite } from "./saver-cases/suite.ts";
import { testSaver } from "./test-saver.ts";

const create = (saver: SaverFault["saver"]) => async () => {
  const clock = manualClock();
  const threads = new Map();
  const open = () => saver({ now: clock.now, threads });
  return { subject: open(), clock, reopen: async () => open() };
};

testSaver({ name: "reference", test, afterAll, create: create((...given) => new ReferenceSaver(...given)) });

const named = (name: string): SaverCase => {
  const found = saverSuite.cases.filter((each) => each.name === name);
  expect(found, `the case "${name}"`).toHaveLength(1);
  return found[0]!;
};

const outcomeOf = (each: SaverCase, saver: SaverFault["saver"]): Promise<CaseOutcome> =>
  runCase(saverSuite, each, create(saver));

describe.each(saverFaults)("a saver that $fault", ({ saver, caughtBy }) => {
  test.each(caughtBy)("is caught by: %s", async (name) => {
    const result = await outcomeOf(named(name), saver);
    expect(result.outcome).toBe("failed");
    const error = result.outcome === "failed" ? result.error : undefined;
    expect(error instanceof AssertionError || StateError.is(error), String(error)).toBe(true);
  });

  test("runs otherwise", async () => {
    const controls = saverSuite.cases.filter(({ area }) => area !== "hostile input");
    const outcomes = await Promise.all(controls.map((each) => outcomeOf(each, saver)));
    expect(outcomes.filter(({ outcome }) => outcome === "passed").length).toBeGreaterThan(controls.length / 2);
  });
});
