import { expect, test } from "vitest";
import { parted, restored } from "./parted-text.ts";

test("what only several people's sweeps together take out is sealed with the keys of all of them, and never with none", () => {
  interface Sample {
    readonly of: string;
    readonly first: string;
    readonly both: string;
  }
  const whole: Sample = { of: "ada", first: "bob", both: "theirs" };
  const { erased, parts } = parted(JSON.stringify(whole), ["ada", "bob"], (person, text) => {
    const sample = JSON.parse(text) as Sample;
    if (person === "ada") return JSON.stringify({ ...sample, of: "[erased]" });
    return JSON.stringify({ ...sample, first: "[erased]", ...(sample.of === "[erased]" && { both: "[erased]" }) });
  });
  expect(JSON.parse(erased)).toEqual({ of: "[erased]", first: "[erased]", both: "[erased]" });
  expect(parts.map(({ path, keys }) => [path, keys])).toEqual([
    [["of"], ["ada"]],
    [["first"], ["bob"]],
    [["both"], ["ada", "bob"]],
  ]);
  expect(restored(erased, parts)).toBe(JSON.stringify(whole));
});
