import type { ManualClock } from "./manual-clock.ts";

/**
 * One statement about a subject and its proof, as data: any test runner can run
 * it, and a command can run it against a live deployment. Proofs use
 * `node:assert` and nothing else.
 */
export interface ConformanceCase<Subject, Need extends string> {
  /** The statement. Unique within its suite. */
  readonly name: string;
  /** What the statement is about, for a table of results. */
  readonly area: string;
  /** What the subject or its fixture must offer before the statement means anything. */
  readonly needs?: readonly Need[];
  readonly run: (fixture: Fixture<Subject>) => Promise<void>;
}

/**
 * A subject and what surrounds it. Every case gets one of its own, on a storage
 * (a directory, a schema, a key prefix) that holds nothing else: cases use the
 * same ids again and look at the list of all threads.
 */
export interface Fixture<Subject> {
  readonly subject: Subject;
  /** Another instance on the same storage, as a second process would open it. The first may be open still, or closed. */
  readonly reopen?: () => Promise<Subject>;
  /** Present when the subject reads this clock and not the machine's. */
  readonly clock?: ManualClock;
  /** Makes the storage fail every call until the returned function is called. */
  readonly outage?: () => Promise<() => Promise<void>>;
  /** Copies the storage; what it returns puts the copy in its place, as a restored backup or a replica that was behind does. */
  readonly copy?: () => Promise<() => Promise<void>>;
  /** Takes away what was made. The instances are closed by then. */
  readonly cleanup?: () => Promise<void>;
}

/** What any fixture may offer beside its subject. */
export type FixtureNeed = "reopen" | "clock" | "outage" | "copy";

export interface ConformanceSuite<Subject, Need extends string> {
  /** One word: "log", "checkpointer". */
  readonly title: string;
  readonly cases: readonly ConformanceCase<Subject, Need>[];
  /** Whether a need is met: by the subject's own capabilities or by its fixture. */
  readonly offers: (fixture: Fixture<Subject>, need: Need) => boolean;
}

/** Cases of one area; the area is named once. */
export function casesOf<Subject, Need extends string>(
  area: string,
  cases: readonly Omit<ConformanceCase<Subject, Need>, "area">[],
): readonly ConformanceCase<Subject, Need>[] {
  return cases.map((conformanceCase) => ({ area, ...conformanceCase }));
}

/** The fixture's way to a second instance; cases that use it say so in `needs`. */
export async function another<Subject>({ reopen }: Fixture<Subject>): Promise<Subject> {
  if (reopen === undefined) throw new Error("a case that reopens must name the need");
  return reopen();
}
