import type { BaseCheckpointer } from "../src/checkpoint/base-checkpointer.ts";
import { checkpointerSuite } from "../src/testing/checkpointer-cases/suite.ts";
import type { ConformanceSuite } from "../src/testing/conformance-case.ts";
import { type ConformanceOptions, registerSuite } from "../src/testing/register-suite.ts";
import type { Openable } from "../src/testing/run-case.ts";

/**
 * The features of a checkpointer are written once, above the log, and proved whole on memory and SQLite. Another backend
 * proves its driver, and here that every kind of feature reaches it: the first case of each area. `npm run test:matrix`
 * runs every case on every backend.
 */
export const testFeatures = (options: ConformanceOptions<BaseCheckpointer>): void =>
  registerSuite(
    process.env["HOLDFAST_TIER"] === "matrix" ? checkpointerSuite : firstOfEachArea(checkpointerSuite),
    options,
  );

export function firstOfEachArea<Subject extends Openable, Need extends string>(
  suite: ConformanceSuite<Subject, Need>,
): ConformanceSuite<Subject, Need> {
  const seen = new Set<string>();
  const cases = suite.cases.filter(({ area }) => !seen.has(area) && seen.add(area));
  return { ...suite, title: `${suite.title} (${cases.length} of ${suite.cases.length} cases)`, cases };
}
