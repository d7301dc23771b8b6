import { afterAll, test } from "vitest";
import { testSaver } from "../../src/testing/test-saver.ts";
import { isAssertionOrStateError, testBroken } from "./kind-test.ts";
import { create, SAVERS } from "./savers/kind.ts";
import { ReferenceSaver } from "./savers/reference-saver.ts";

testSaver({ name: "reference", test, afterAll, create: create((...given) => new ReferenceSaver(...given)) });

testBroken("saver that", SAVERS, {
  isFinding: isAssertionOrStateError,
  controls: SAVERS.cases.filter(({ area }) => area !== "hostile input").map(({ name }) => name),
});
