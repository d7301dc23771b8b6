import type { CaseOutcome } from "./run-case.ts";

interface Count {
  readonly title: string;
  ran: number;
  failed: number;
  notApplicable: number;
  readonly lacks: Set<string>;
}

/** The suites of one backend, until the last of them has finished. */
interface Backend {
  readonly counts: Count[];
  unfinished: number;
}

const backends = new Map<string, Backend>();

export interface SuiteTally {
  count(outcome: CaseOutcome): void;
  /** Prints the backend's line once all of its suites have finished. */
  finish(): void;
}

/**
 * Counts what ran, so that a green run can be told from one that ran nothing:
 * `conformance: memory 143 cases (31 log, 112 checkpointer), 4 not applicable (needs reopen, ttl)`.
 */
export function startTally(backend: string, title: string, print: (line: string) => void): SuiteTally {
  const entry = backends.get(backend) ?? { counts: [], unfinished: 0 };
  backends.set(backend, entry);
  const count: Count = { title, ran: 0, failed: 0, notApplicable: 0, lacks: new Set() };
  entry.counts.push(count);
  entry.unfinished++;
  return {
    count: (result) => {
      if (result.outcome === "not applicable") {
        count.notApplicable++;
        for (const need of result.lacks) count.lacks.add(need);
        return;
      }
      count.ran++;
      if (result.outcome === "failed") count.failed++;
    },
    finish: () => {
      entry.unfinished--;
      if (entry.unfinished > 0) return;
      backends.delete(backend);
      print(lineOf(backend, entry.counts));
    },
  };
}

function lineOf(backend: string, counts: readonly Count[]): string {
  const sum = (of: (count: Count) => number): number => counts.reduce((total, count) => total + of(count), 0);
  const parts = counts.map(({ title, ran }) => `${ran} ${title}`).join(", ");
  const reasons = [...new Set(counts.flatMap(({ lacks }) => [...lacks]))].sort().join(", ");
  const failed = sum((count) => count.failed);
  return [
    `conformance: ${backend} ${sum((count) => count.ran)} cases (${parts})`,
    ...(failed > 0 ? [`${failed} FAILED`] : []),
    `${sum((count) => count.notApplicable)} not applicable${reasons === "" ? "" : ` (needs ${reasons})`}`,
  ].join(", ");
}
