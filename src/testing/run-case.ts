import assert from "node:assert/strict";
import type { ConformanceCase, ConformanceSuite, Fixture } from "./conformance-case.ts";

export type CaseOutcome =
  | { readonly outcome: "passed" }
  | { readonly outcome: "failed"; readonly error: unknown }
  /** `lacks` says which needs are not met. */
  | { readonly outcome: "not applicable"; readonly lacks: readonly string[] };

/** What both kinds of subject are opened and closed with. */
export interface Openable {
  connect?(): Promise<unknown>;
  close(): Promise<void>;
}

/** Runs one case on a fixture of its own, closes what it opened and takes it away. Never rejects. */
export async function runCase<Subject extends Openable, Need extends string>(
  suite: ConformanceSuite<Subject, Need>,
  conformanceCase: ConformanceCase<Subject, Need>,
  create: () => Promise<Fixture<Subject>>,
): Promise<CaseOutcome> {
  let fixture: Fixture<Subject>;
  try {
    fixture = await create();
    await fixture.subject.connect?.();
  } catch (error) {
    return { outcome: "failed", error };
  }
  const opened = [fixture.subject];
  const outcome = await prove(suite, conformanceCase, tracked(fixture, opened));
  try {
    for (const subject of opened) await subject.close();
    await fixture.cleanup?.();
  } catch (error) {
    // A proof that failed says more than the tidying up that failed after it.
    return outcome.outcome === "failed" ? outcome : { outcome: "failed", error };
  }
  return outcome;
}

async function prove<Subject, Need extends string>(
  { offers }: ConformanceSuite<Subject, Need>,
  { needs = [], run }: ConformanceCase<Subject, Need>,
  fixture: Fixture<Subject>,
): Promise<CaseOutcome> {
  const lacks = needs.filter((need) => !offers(fixture, need));
  if (lacks.length > 0) return { outcome: "not applicable", lacks };
  const before = prototypeKeys();
  try {
    await run(fixture);
    assert.deepEqual(prototypeKeys(), before, "the prototypes every object shares must stay as they were");
    return { outcome: "passed" };
  } catch (error) {
    return { outcome: "failed", error };
  }
}

function tracked<Subject extends Openable>(fixture: Fixture<Subject>, opened: Subject[]): Fixture<Subject> {
  const { reopen } = fixture;
  if (reopen === undefined) return fixture;
  const open = async (): Promise<Subject> => {
    const another = await reopen();
    opened.push(another);
    await another.connect?.();
    return another;
  };
  return { ...fixture, reopen: open };
}

/** What an object named `__proto__`, read carelessly, would leave behind. */
const prototypeKeys = (): readonly PropertyKey[] =>
  [Object.prototype, Array.prototype, Function.prototype].flatMap((prototype) => Reflect.ownKeys(prototype));
