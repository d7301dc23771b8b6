import { expect, test } from "vitest";
import { storeSuite } from "../../src/testing/store-cases/suite.ts";
import { isAssertion, oneOfEachArea, testBroken } from "./kind-test.ts";
import { STORES } from "./stores/kind.ts";
import { ReferenceDriver } from "./stores/reference-driver.ts";

test("a correct driver passes every case that needs no disk", async () => {
  const lacks = new Set<string>();
  for (const { name } of storeSuite.cases) {
    const correct = { fault: "does everything right", caughtBy: [] };
    const result = await STORES.outcomeOf(name, { ...correct, driver: (inner) => new ReferenceDriver(inner) });
    expect(result.outcome === "failed" ? result.error : undefined, name).toBeUndefined();
    if (result.outcome === "not applicable") for (const need of result.lacks) lacks.add(need);
  }
  expect([...lacks]).toEqual(["durable"]);
});

testBroken("store whose driver", STORES, { isFinding: isAssertion, controls: oneOfEachArea(STORES) });
