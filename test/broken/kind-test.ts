import { AssertionError } from "node:assert/strict";
import { describe, expect, test } from "vitest";
import { StateError } from "../../src/errors.ts";
import type { BrokenKind, Fault } from "./fault.ts";

/** One case of each area: what is broken in one respect still does most of them. */
export const oneOfEachArea = (
  { cases }: Pick<BrokenKind, "cases">,
  without: readonly string[] = [],
): readonly string[] =>
  [...new Map(cases.toReversed().map((each) => [each.area, each])).values()]
    .filter(({ area }) => !without.includes(area))
    .map(({ name }) => name);

export const isAssertion = (error: unknown): boolean => error instanceof AssertionError;
/** For what users hold, which itself may refuse what the fault made of it. */
export const isAssertionOrStateError = (error: unknown): boolean => isAssertion(error) || StateError.is(error);

export interface BrokenExpectations {
  /** Whether the case found the fault, and did not break at something else. */
  readonly isFinding: (error: unknown) => boolean;
  /** Cases most of which pass. */
  readonly controls: readonly string[];
}

/** Each fault is found by every case that it names, and by few others. */
export function testBroken<Each extends Fault>(
  what: string,
  kind: BrokenKind<Each>,
  { isFinding, controls }: BrokenExpectations,
): void {
  describe.each(kind.faults.map((fault) => [fault.fault, fault] as const))(`a ${what} %s`, (_, fault) => {
    test.each(fault.caughtBy)("is caught by: %s", async (name) => {
      const result = await kind.outcomeOf(name, fault);
      expect(result.outcome).toBe("failed");
      expect(result.outcome === "failed" && result.error).toSatisfy(isFinding);
    });

    test("passes most other cases", async () => {
      const outcomes = await Promise.all(controls.map((name) => kind.outcomeOf(name, fault)));
      const passed = outcomes.filter(({ outcome }) => outcome === "passed").length;
      expect(passed).toBeGreaterThan(controls.length / 2);
    });
  });
}
