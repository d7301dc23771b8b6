import { expect, test } from "vitest";
import { isOwned, own } from "./doorway.ts";

test("the mark of an owned value shows in no keys, spread, JSON, comparison or clone", () => {
  const value = own({ a: [1] });
  expect(isOwned(value)).toBe(true);
  expect(Reflect.ownKeys(value)).toEqual(["a"]);
  expect(JSON.stringify(value)).toBe('{"a":[1]}');
  expect(value).toEqual({ a: [1] });
  for (const copy of [{ ...value }, structuredClone(value), Object.create(value) as object, new Proxy(value, {})]) {
    expect(isOwned(copy)).toBe(false);
  }
});

test("a value is marked once, however often it is handed in", () => {
  const list = own([1, 2]);
  expect(own(list)).toBe(list);
  expect(Object.isFrozen(list)).toBe(true);
});
