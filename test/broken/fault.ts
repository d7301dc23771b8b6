import type { CaseOutcome } from "../../src/testing/run-case.ts";

/** Something that is broken on purpose in one respect. */
export interface Fault {
  readonly fault: string;
  /** Names of cases, each of which must fail. */
  readonly caughtBy: readonly string[];
}

/** What is broken on purpose of one kind, and the suite that has to notice. */
export interface BrokenKind<Each extends Fault = Fault> {
  readonly faults: readonly Each[];
  /** The cases of its suite. */
  readonly cases: readonly { readonly area: string; readonly name: string }[];
  outcomeOf(name: string, fault: Each): Promise<CaseOutcome>;
}
