import type { CheckpointContext } from "../../checkpoint/context.ts";
import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { MAX_ID_BYTES, MAX_THREAD_ID_BYTES } from "../../driver/ids.ts";
import { reasonOf } from "../../errors.ts";
import { type CaseOutcome, runCase } from "../../testing/run-case.ts";
import { threadLogSuite } from "../../testing/thread-log-cases/suite.ts";
import type { ThreadLogCase } from "../../testing/thread-log-cases/thread-log-case.ts";
import { UsageError } from "../exit-codes.ts";
import type { Scratch } from "./scratch.ts";

export interface FailedCase {
  readonly area: string;
  readonly name: string;
  readonly message: string;
}

export interface Proofs {
  readonly passed: number;
  readonly failed: readonly FailedCase[];
  readonly notApplicable: number;
  /** What a store that is in use does not offer, or this kind of store does not have. */
  readonly lacks: readonly string[];
}

/** What one run needs: the store, a second instance of it where there can be one, and a place to write. */
export interface Subject {
  readonly context: CheckpointContext;
  readonly another: (() => Promise<ThreadLog>) | undefined;
  readonly scratch: Scratch;
  readonly signal: AbortSignal;
}

const LONG = "long threads";
const CASE_MS = 120_000;

/** What is closed in a case is its view of the store, which answers these by itself. */
const ANSWERED_BY_THE_VIEW: ReadonlySet<string> = new Set([
  "after closing every call is refused, and none answers that nothing is there",
  "closing twice is harmless",
  "a thread id that is longer than the log says it takes is INVALID_ARGUMENT",
]);
const LONGEST_ID =
  "the longest thread id is taken whole: 1088 bytes, or as many as a layer says that leave users their 1024";
/** These use ids of 1024 bytes, which a service takes without a prefix only. */
const WITH_LONGEST_IDS: ReadonlySet<string> = new Set([
  "every hostile id is a thread of its own",
  LONGEST_ID,
  "every hostile id is listed as it was given",
  "removing a hostile id removes that thread and no other",
]);
const CASES = threadLogSuite.cases.filter(({ name }) => !ANSWERED_BY_THE_VIEW.has(name));

export const AREAS: readonly string[] = [...new Set(CASES.map(({ area }) => area))];

export function casesOf(area: string | undefined, isQuick: boolean): readonly ThreadLogCase[] {
  if (area !== undefined && !AREAS.includes(area)) {
    throw new UsageError(`there are no cases of ${JSON.stringify(area)}`, `the areas are ${AREAS.join(", ")}`);
  }
  return CASES.filter((each) => (area === undefined ? !isQuick || each.area !== LONG : each.area === area));
}

export type ProvenCase = CaseOutcome & { readonly area: string; readonly name: string };

/** Runs the cases, each on a part of the store that holds nothing else, and removes what it made. */
export async function* provenCases(subject: Subject, cases: readonly ThreadLogCase[]): AsyncGenerator<ProvenCase> {
  for (const [index, each] of cases.entries()) {
    subject.signal.throwIfAborted();
    const { area, name } = each;
    const known =
      WITH_LONGEST_IDS.has(name) && !takesLongestIds(subject) ? withoutLongestIds(subject, name) : undefined;
    const result = known ?? (await unlessEnded(subject.signal, outcomeOf(subject, each, index + 1)));
    yield { area, name, ...result };
  }
}

export async function prove(
  subject: Subject,
  cases: readonly ThreadLogCase[],
  onCase: (done: number) => Promise<void>,
): Promise<Proofs> {
  const failed: FailedCase[] = [];
  const lacks = new Set<string>();
  let [passed, notApplicable, done] = [0, 0, 0];
  for await (const each of provenCases(subject, cases)) {
    const { area, name } = each;
    if (each.outcome === "passed") passed++;
    else if (each.outcome === "failed") failed.push({ area, name, message: messageOf(each) });
    else {
      notApplicable++;
      for (const need of each.lacks) lacks.add(need);
    }
    await onCase(++done);
  }
  return { passed, failed, notApplicable, lacks: [...lacks].sort() };
}

/** A store that takes no long id behind the prefix of a case may still say that it takes too little of its users. */
function withoutLongestIds({ context }: Subject, name: string): CaseOutcome {
  const stated = context.log.capabilities.maxThreadIdBytes ?? MAX_THREAD_ID_BYTES;
  if (name !== LONGEST_ID || stated >= MAX_ID_BYTES) {
    return { outcome: "not applicable", lacks: ["ids of 1024 bytes behind a prefix"] };
  }
  const message = `the store says that it takes ids of ${stated} bytes, and users may give ${MAX_ID_BYTES}`;
  return { outcome: "failed", error: new Error(message) };
}

function takesLongestIds({ context, scratch }: Subject): boolean {
  // As long as the prefix of any case.
  const { maxThreadIdBytes = MAX_THREAD_ID_BYTES } = scratch.view(context.log, 999).capabilities;
  return maxThreadIdBytes >= MAX_ID_BYTES;
}

async function outcomeOf(subject: Subject, each: ThreadLogCase, number: number): Promise<CaseOutcome> {
  const { context, another, scratch } = subject;
  const create = async () => ({
    subject: scratch.view(context.log, number),
    ...(another !== undefined && { reopen: async () => scratch.view(await another(), number) }),
    cleanup: async () => void (await scratch.clear(context)),
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<CaseOutcome>((resolve) => {
    const error = new Error(`it did not end within ${CASE_MS / 1000} s`);
    timer = setTimeout(() => resolve({ outcome: "failed", error }), CASE_MS);
  });
  try {
    return await Promise.race([runCase(threadLogSuite, each, create), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Ends at once when the command is ended; the clean-up waits for calls that are in flight. */
function unlessEnded<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.finally(() => signal.removeEventListener("abort", onAbort)).then(resolve, reject);
  });
}

/** The first line: what follows it in an assertion is a picture of both sides. */
export const messageOf = ({ error }: { readonly error: unknown }): string =>
  reasonOf(error).split("\n")[0]?.slice(0, 300) ?? "";
