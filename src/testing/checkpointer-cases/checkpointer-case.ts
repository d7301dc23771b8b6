import type { BaseCheckpointer, ThreadStats } from "../../checkpoint/base-checkpointer.ts";
import type { CapabilityFlag } from "../../checkpoint/capabilities.ts";
import { contextOf } from "../../checkpoint/context.ts";
import type { ForkPoint } from "../../checkpoint/record/record.ts";
import { type ConformanceCase, casesOf, type Fixture, type FixtureNeed } from "../conformance-case.ts";

/** What checkpointers on a log have beside the methods of the base class. */
export interface DetailedCheckpointer extends BaseCheckpointer {
  stats(threadId: string): Promise<ThreadStats | undefined>;
  lineage(threadId: string): Promise<readonly ForkPoint[]>;
}

/**
 * A flag that must be true, a part of the fixture, "details" (`stats`, `lineage`
 * and full summaries), or "log": a driver of this package's contract beneath,
 * whose records a case can spoil.
 */
export type CheckpointerNeed = FixtureNeed | CapabilityFlag | "details" | "log";

export type CheckpointerCase = ConformanceCase<BaseCheckpointer, CheckpointerNeed>;

export const checkpointerCasesOf: (
  area: string,
  cases: readonly Omit<CheckpointerCase, "area">[],
) => readonly CheckpointerCase[] = casesOf;

export const hasDetails = (subject: BaseCheckpointer): subject is DetailedCheckpointer =>
  "stats" in subject && "lineage" in subject;

export function detailed(subject: BaseCheckpointer): DetailedCheckpointer {
  if (!hasDetails(subject)) throw new Error("a case that looks at details must name the need");
  return subject;
}

export function checkpointerOffers(
  { subject, ...fixture }: Fixture<BaseCheckpointer>,
  need: CheckpointerNeed,
): boolean {
  switch (need) {
    case "reopen":
    case "clock":
    case "outage":
    case "copy":
      return fixture[need] !== undefined;
    case "details":
      return hasDetails(subject);
    case "log":
      return contextOf(subject) !== undefined;
    default:
      return subject.capabilities[need];
  }
}
