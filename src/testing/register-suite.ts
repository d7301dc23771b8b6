import type { ConformanceSuite, Fixture } from "./conformance-case.ts";
import { type Openable, runCase } from "./run-case.ts";
import { startTally } from "./tally.ts";

/** What a runner hands to a test, as far as it is used here. Both vitest and node:test have it. */
export interface RunningTest {
  skip(reason?: string): unknown;
}

export interface ConformanceOptions<Subject> {
  /** Which backend this is, for the line that says how much ran. */
  readonly name: string;
  /** The runner's own: vitest's or node:test's `test`. */
  readonly test: (name: string, run: (running: RunningTest) => Promise<void>) => unknown;
  /** The runner's own, to print that line when all is done: vitest's `afterAll`, node:test's `after`. */
  readonly afterAll: (run: () => void) => unknown;
  /** A subject on an empty storage of its own. Called once for each case. */
  readonly create: () => Promise<Fixture<Subject>>;
}

/** Registers every case as a test. One that does not apply is skipped and says what it needs. */
export function registerSuite<Subject extends Openable, Need extends string>(
  suite: ConformanceSuite<Subject, Need>,
  { name, test, afterAll, create }: ConformanceOptions<Subject>,
): void {
  const tally = startTally(name, suite.title, (line) => console.log(line));
  for (const conformanceCase of suite.cases) {
    test(`${name} ${suite.title}: ${conformanceCase.area}: ${conformanceCase.name}`, async (running) => {
      const result = await runCase(suite, conformanceCase, create);
      tally.count(result);
      if (result.outcome === "failed") throw result.error;
      if (result.outcome === "not applicable") running.skip(`needs ${result.lacks.join(", ")}`);
    });
  }
  afterAll(() => tally.finish());
}
