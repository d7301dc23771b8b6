import { AssertionError } from "node:assert/strict";
import { describe, expect, test } from "vitest";
import { MemoryLog } from "../backends/memory/log.ts";
import { StateError } from "../errors.ts";
import { answeringFaults } from "./broken-drivers/answering-faults.ts";
import type { CheckpointerFault } from "./broken-drivers/checkpointer-fault.ts";
import { optionFaults } from "./broken-drivers/option-faults.ts";
import { savingFaults } from "./broken-drivers/saving-faults.ts";
import { troubleFaults } from "./broken-drivers/trouble-faults.ts";
import type { CheckpointerCase } from "./checkpointer-cases/checkpointer-case.ts";
import { checkpointerSuite } from "./checkpointer-cases/suite.ts";
import { FaultyLog } from "./faulty-log.ts";
import { manualClock } from "./manual-clock.ts";
import { type CaseOutcome, runCase } from "./run-case.ts";

/** One case of each area, without the longest: a checkpointer that is broken in one respect still does most of them. */
const LONGEST: readonly string[] = ["hostile ids", "hostile values", "cost"];
const CONTROLS = [...new Map(checkpointerSuite.cases.toReversed().map((each) => [each.area, each])).values()].filter(
  ({ area }) => !LONGEST.includes(area),
);

const named = (name: string): CheckpointerCase => {
  const found = checkpointerSuite.cases.filter((each) => each.name === name);
  expect(found, `the case "${name}"`).toHaveLength(1);
  return found[0]!;
};

function outcomeOf(each: CheckpointerCase, checkpointer: CheckpointerFault["checkpointer"]): Promise<CaseOutcome> {
  return runCase(checkpointerSuite, each, async () => {
    const clock = manualClock();
    let down = false;
    const faultAt = () => (down ? ({ when: "before", code: "PERMISSION_DENIED" } as const) : undefined);
    const subject = checkpointer(new FaultyLog(new MemoryLog(clock), { faultAt }), clock);
    const outage = async () => {
      down = true;
      return async () => {
        down = false;
      };
    };
    return { subject, clock, outage };
  });
}

const FAULTS = [...savingFaults, ...answeringFaults, ...optionFaults, ...troubleFaults];

describe.each(FAULTS)("a checkpointer that $fault", ({ checkpointer, caughtBy }) => {
  test.each(caughtBy)("is caught by: %s", async (name) => {
    const result = await outcomeOf(named(name), checkpointer);
    expect(result.outcome).toBe("failed");
    const error = result.outcome === "failed" ? result.error : undefined;
    expect(error instanceof AssertionError || StateError.is(error), String(error)).toBe(true);
  });

  test("runs otherwise", async () => {
    const outcomes = await Promise.all(CONTROLS.map((each) => outcomeOf(each, checkpointer)));
    const passed = outcomes.filter(({ outcome }) => outcome === "passed").length;
    expect(passed).toBeGreaterThan(CONTROLS.length / 2);
  });
});
