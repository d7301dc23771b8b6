import type { BaseStore } from "../../store/base-store.ts";
import { accessOf } from "../../store/items/store-access.ts";
import { type ConformanceCase, casesOf, type Fixture, type FixtureNeed } from "../conformance-case.ts";

/** A capability, or a part of the fixture. */
export type StoreNeed =
  | FixtureNeed
  | "search"
  | "semanticSearch"
  | "ttl"
  | "listNamespaces"
  | "transactions"
  | "compareAndSet"
  /** The items outlive the process. */
  | "durable"
  /** It is a `Store` over a driver, and so can be opened with other options. */
  | "driver";

export type StoreCase = ConformanceCase<BaseStore, StoreNeed>;
export type StoreFixture = Fixture<BaseStore>;

export const storeCasesOf: (area: string, cases: readonly Omit<StoreCase, "area">[]) => readonly StoreCase[] = casesOf;

export function storeOffers({ subject, ...fixture }: StoreFixture, need: StoreNeed): boolean {
  switch (need) {
    case "reopen":
    case "clock":
    case "outage":
    case "copy":
      return fixture[need] !== undefined;
    case "driver":
      return accessOf(subject) !== undefined;
    case "durable":
      return subject.capabilities.durability !== "memory";
    default:
      return subject.capabilities[need];
  }
}
