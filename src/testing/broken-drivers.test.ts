import { AssertionError } from "node:assert/strict";
import { describe, expect, test } from "vitest";
import { MemoryLog } from "../backends/memory/log.ts";
import type { ThreadLog } from "../checkpoint/log/thread-log.ts";
import { DeferredIndexLog } from "./broken-drivers/deferred-index-log.ts";
import { DRIVER_FAULTS } from "./broken-drivers/every-fault.ts";
import type { DriverFault } from "./broken-drivers/fault.ts";
import { ReferenceLog } from "./broken-drivers/reference-log.ts";
import type { Fixture } from "./conformance-case.ts";
import { manualClock } from "./manual-clock.ts";
import { type CaseOutcome, runCase } from "./run-case.ts";
import { threadLogSuite } from "./thread-log-cases/suite.ts";
import type { ThreadLogCase } from "./thread-log-cases/thread-log-case.ts";

/** One case of each area, without the longest: a driver that is broken in one respect still does most of them. */
const CONTROLS = [...new Map(threadLogSuite.cases.toReversed().map((each) => [each.area, each])).values()].filter(
  ({ area }) => area !== "long threads",
);

const named = (name: string): ThreadLogCase => {
  const found = threadLogSuite.cases.filter((each) => each.name === name);
  expect(found, `the case "${name}"`).toHaveLength(1);
  return found[0]!;
};

function outcomeOf(each: ThreadLogCase, driver: DriverFault["driver"]): Promise<CaseOutcome> {
  return runCase(threadLogSuite, each, async (): Promise<Fixture<ThreadLog>> => {
    const clock = manualClock();
    const subject = driver(new MemoryLog(clock));
    const outage = (): Promise<() => Promise<void>> => (subject as ReferenceLog).outage();
    return { subject, clock, outage, reopen: async () => subject };
  });
}

test("a correct driver with every optional method passes every case that needs no disk and no server", async () => {
  const lacks = new Set<string>();
  for (const each of threadLogSuite.cases) {
    const result = await outcomeOf(each, (inner) => new ReferenceLog(inner));
    expect(result.outcome === "failed" ? result.error : undefined, each.name).toBeUndefined();
    if (result.outcome === "not applicable") for (const need of result.lacks) lacks.add(need);
  }
  expect([...lacks].sort()).toEqual(["catchUp", "durable", "now"]);
});

test("a correct driver that indexes later passes every case of searching", async () => {
  for (const each of threadLogSuite.cases.filter(({ area }) => area === "search")) {
    const result = await outcomeOf(each, (inner) => new DeferredIndexLog(inner));
    expect(result, each.name).toMatchObject({ outcome: "passed" });
  }
});

describe.each(DRIVER_FAULTS)("a driver that $fault", ({ driver, caughtBy }) => {
  test.each(caughtBy)("is caught by: %s", async (name) => {
    const result = await outcomeOf(named(name), driver);
    expect(result.outcome).toBe("failed");
    expect(result.outcome === "failed" && result.error).toBeInstanceOf(AssertionError);
  });

  test("runs otherwise", async () => {
    const outcomes = await Promise.all(CONTROLS.map((each) => outcomeOf(each, driver)));
    const passed = outcomes.filter(({ outcome }) => outcome === "passed").length;
    expect(passed).toBeGreaterThan(CONTROLS.length / 2);
  });
});
