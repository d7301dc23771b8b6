import { expect, test } from "vitest";
import { nearestName } from "./known-options.ts";

const NAMES = ["checkpointId", "metadata", "limit", "cursor", "olderThanDays"];

test.each([
  ["checkpoint_id", "checkpointId"],
  ["checkpointID", "checkpointId"],
  ["checkpoint", "checkpointId"],
  ["limt", "limit"],
  ["older_than_days", "olderThanDays"],
  ["metaData", "metadata"],
])("%s was meant to be %s", (given, meant) => {
  expect(nearestName(given, NAMES)).toBe(meant);
});

test("a name that is like no other has no nearest", () => {
  for (const given of ["colour", "x", "", "__proto__", "a".repeat(100_000)]) {
    expect(nearestName(given, NAMES)).toBeUndefined();
  }
  expect(nearestName("limit", [])).toBeUndefined();
});
