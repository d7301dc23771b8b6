import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { type ConformanceCase, casesOf, type Fixture, type FixtureNeed } from "../conformance-case.ts";

/** An optional method, a capability, or a part of the fixture. */
export type ThreadLogNeed =
  | FixtureNeed
  | "conditionalAppend"
  | "listThreads"
  | "ttl"
  | "search"
  | "catchUp"
  | "queryMetadata"
  | "subscribe"
  | "now"
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
      return subject.capabilities[need];
    case "durable":
      return subject.capabilities.durability !== "memory";
    case "search":
    case "catchUp":
    case "queryMetadata":
    case "subscribe":
    case "now":
      return subject[need] !== undefined;
    default:
      return fixture[need] !== undefined;
  }
}
