import { expect, test } from "vitest";
import { Recent } from "./recent.ts";

test("what was set longest ago is forgotten when all together weigh too much", () => {
  const recent = new Recent<number>(10);
  recent.set("a", 1, 4);
  recent.set("b", 2, 4);
  recent.set("a", 3, 4);
  recent.set("c", 4, 4);
  expect([recent.get("a"), recent.get("b"), recent.get("c")]).toEqual([3, undefined, 4]);
});

test("the newest is kept whatever it weighs, and makes room when another comes", () => {
  const recent = new Recent<number>(10);
  recent.set("a", 1);
  recent.set("huge", 2, 100);
  expect([recent.get("a"), recent.get("huge")]).toEqual([undefined, 2]);
  recent.set("b", 3);
  expect([recent.get("huge"), recent.get("b")]).toEqual([undefined, 3]);
});

test("what was deleted weighs nothing", () => {
  const recent = new Recent<number>(10);
  recent.set("a", 1, 9);
  recent.delete("a");
  recent.set("b", 2, 5);
  recent.set("c", 3, 5);
  expect([recent.get("b"), recent.get("c")]).toEqual([2, 3]);
});
