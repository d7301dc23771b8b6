import { described } from "../internal/known-options.ts";
import type { StoreDriver } from "./store-driver.ts";

type Method = {
  [Name in keyof StoreDriver]-?: NonNullable<StoreDriver[Name]> extends (...given: never) => unknown ? Name : never;
}[keyof StoreDriver];

/** Every method of the contract, and when it must be there: with one missing here this does not compile. */
const METHODS: Readonly<Record<Method, "always" | "with vectors" | "if it likes">> = {
  write: "always",
  read: "always",
  scan: "always",
  namespaces: "always",
  clear: "always",
  now: "always",
  classify: "always",
  close: "always",
  searchVector: "with vectors",
  readVector: "with vectors",
  dimension: "with vectors",
  searchText: "if it likes",
  verify: "if it likes",
  connect: "if it likes",
  scrub: "if it likes",
};

/** Refuses an incomplete driver when a store is made from it, not at the first write. */
export function assertStoreDriver(value: unknown): asserts value is StoreDriver {
  const takes = "new Store(driver) takes a StoreDriver";
  const instead = "For a built-in backend use await openStore(url), or its factory";
  const driver = (typeof value === "object" && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const lacks = (name: string): boolean => typeof driver[name] !== "function";
  const needed = (when: string): readonly string[] =>
    Object.entries(METHODS).flatMap(([name, its]) => (its === when ? [name] : []));
  const always = needed("always");
  if (always.every(lacks)) throw new TypeError(`${takes}, not ${described(value)}. ${instead}`);
  const { capabilities } = driver as { readonly capabilities?: unknown };
  if (typeof capabilities !== "object" || capabilities === null) {
    throw new TypeError(`${takes}; this one has no capabilities, which say what it promises`);
  }
  const hasVectors = (capabilities as StoreDriver["capabilities"]).vectorSearch !== "none";
  const missing = [...always, ...(hasVectors ? needed("with vectors") : [])].filter(lacks);
  if (missing.length > 0) throw new TypeError(`${takes}; this one lacks ${missing.join(", ")}`);
}
