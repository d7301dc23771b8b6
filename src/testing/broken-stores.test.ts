import { AssertionError } from "node:assert/strict";
import { describe, expect, test } from "vitest";
import { MemoryStoreDriver } from "../backends/memory/store-driver.ts";
import type { BaseStore } from "../store/base-store.ts";
import { Store } from "../store/store.ts";
import { findingFaults } from "./broken-stores/finding-faults.ts";
import { ReferenceDriver, type StoreFault } from "./broken-stores/reference-driver.ts";
import { writingFaults } from "./broken-stores/writing-faults.ts";
import type { Fixture } from "./conformance-case.ts";
import { manualClock } from "./manual-clock.ts";
import { RewindableStoreDriver } from "./rewindable-store-driver.ts";
import { type CaseOutcome, runCase } from "./run-case.ts";
import type { StoreCase } from "./store-cases/store-case.ts";
import { storeSuite } from "./store-cases/suite.ts";

const FAULTS: readonly StoreFault[] = [...writingFaults, ...findingFaults];

/** One case of each area: a store that is broken in one respect still does most of them. */
const CONTROLS = [...new Map(storeSuite.cases.toReversed().map((each) => [each.area, each])).values()];

const named = (name: string): StoreCase => {
  const found = storeSuite.cases.filter((each) => each.name === name);
  expect(found, `the case "${name}"`).toHaveLength(1);
  return found[0]!;
};

function outcomeOf(each: StoreCase, driver: StoreFault["driver"]): Promise<CaseOutcome> {
  return runCase(storeSuite, each, async (): Promise<Fixture<BaseStore>> => {
    const clock = manualClock();
    const storage = new RewindableStoreDriver(() => new MemoryStoreDriver(clock));
    const broken = driver(storage);
    const open = (): Store => new Store(broken);
    const { copy } = storage;
    return { subject: open(), clock, outage: () => broken.outage(), reopen: async () => open(), copy };
  });
}

test("a correct driver passes every case that needs no disk", async () => {
  const lacks = new Set<string>();
  for (const each of storeSuite.cases) {
    const result = await outcomeOf(each, (inner) => new ReferenceDriver(inner));
    expect(result.outcome === "failed" ? result.error : undefined, each.name).toBeUndefined();
    if (result.outcome === "not applicable") for (const need of result.lacks) lacks.add(need);
  }
  expect([...lacks]).toEqual(["durable"]);
});

describe.each(FAULTS)("a store whose driver $fault", ({ driver, caughtBy }) => {
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
