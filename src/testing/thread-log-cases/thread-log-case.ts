import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { type ConformanceCase, casesOf, type Fixture, type FixtureNeed } from "../conformance-case.ts";

/** A capability, or a part of the fixture. */
export type ThreadLogNeed =
  | FixtureNeed
  | "conditionalAppend"
  | "listThreads"
  | "ttl"
  | "search"
  /** A search whose index is deferred. */
  | "catchUp"
  | "metadataQuery"
  | "subscribe"
  | "storageClock"
  /** The records outlive the process. */
  | "durable";

export type ThreadLogCase = ConformanceCase<ThreadLog, ThreadLogNeed>;

export const threadLogCasesOf: (
  area: string,
  cases: readonly Omit<ThreadLogCase, "area">[],
) => readonly ThreadLogCase[] = casesOf;

export function logOffers({ subject, ...fixture }: Fixture<ThreadLog>, need: ThreadLogNeed): boolean {
  switch (need) {
    case "conditionalAppend":
    case "listThreads":
    case "ttl":
    case "metadataQuery":
    case "subscribe":
      return subject.capabilities[need] === true;
    case "durable":
      return subject.capabilities.durability !== "memory";
    case "search":
      return subject.capabilities.search !== undefined;
    case "catchUp":
      return subject.capabilities.search === "deferred";
    case "storageClock":
      return subject.capabilities.clock === true;
    default:
      return fixture[need] !== undefined;
  }
}
