import { expect, test } from "vitest";
import { MemoryStoreDriver } from "../../backends/memory/store-driver.ts";
import { Store } from "../store.ts";
import type { StoreDriver } from "./store-driver.ts";

const CONTRACT = [
  ...["write", "read", "scan", "namespaces", "clear", "now", "classify", "close"],
  ...["searchVector", "readVector", "dimension", "capabilities"],
];

/** A whole driver but for one member. */
function lacking(name: string): StoreDriver {
  const driver = new MemoryStoreDriver();
  return new Proxy(driver, {
    get: (target, key) => {
      const value: unknown = key === name ? undefined : Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

test.each(CONTRACT)("a driver without %s is refused when it is handed in, by name", (name) => {
  expect(() => new Store(lacking(name))).toThrow(TypeError);
  expect(() => new Store(lacking(name))).toThrow(
    new RegExp(`^new Store\\(driver\\) takes a StoreDriver; this one .*${name}`),
  );
});

test("a driver that compares no vectors needs no method for them, and no driver has to search words", () => {
  const driver = lacking("searchVector");
  const capabilities = { ...driver.capabilities, vectorSearch: "none" } as const;
  expect(() => new Store(Object.assign(Object.create(driver), { capabilities }))).not.toThrow();
  expect(() => new Store(lacking("searchText"))).not.toThrow();
});

test.each([[undefined], [null], ["sqlite:./a.db"], [{}], [new Date(0)]])("%s is no driver", (value) => {
  expect(() => new Store(value as never)).toThrow(/^new Store\(driver\) takes a StoreDriver, .*await openStore\(url\)/);
});
