import { expect, test } from "vitest";
import { threadLogSuite } from "../../src/testing/thread-log-cases/suite.ts";
import { DeferredIndexLog } from "./drivers/deferred-index-log.ts";
import { DRIVERS } from "./drivers/kind.ts";
import { ReferenceLog } from "./drivers/reference-log.ts";
import { isAssertion, oneOfEachArea, testBroken } from "./kind-test.ts";

const correct = { fault: "does everything right", caughtBy: [] };

test("a correct driver that can do everything passes every case that needs no disk and no server", async () => {
  const lacks = new Set<string>();
  for (const { name } of threadLogSuite.cases) {
    const result = await DRIVERS.outcomeOf(name, { ...correct, driver: (inner) => new ReferenceLog(inner) });
    expect(result.outcome === "failed" ? result.error : undefined, name).toBeUndefined();
    if (result.outcome === "not applicable") for (const need of result.lacks) lacks.add(need);
  }
  expect([...lacks].sort()).toEqual(["catchUp", "durable", "storageClock"]);
});

test("a correct driver that indexes later passes every case of searching", async () => {
  for (const { name } of threadLogSuite.cases.filter(({ area }) => area === "search")) {
    const result = await DRIVERS.outcomeOf(name, { ...correct, driver: (inner) => new DeferredIndexLog(inner) });
    expect(result, name).toMatchObject({ outcome: "passed" });
  }
});

testBroken("driver that", DRIVERS, { isFinding: isAssertion, controls: oneOfEachArea(DRIVERS, ["long threads"]) });
