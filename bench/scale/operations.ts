import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { signCursor } from "../../src/driver/page.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { seededRandom } from "../../test/processes/seeded-random.ts";
import { percentile } from "../statistics.ts";
import {
  COMMON_WORD,
  customerOf,
  metadataOf,
  OWN_THREADS,
  rareWord,
  THREADS_OF_A_CUSTOMER,
  THREADS_WITH_A_WORD,
  threadId,
} from "./sample-threads.ts";

/** A store of a known number of threads. */
export interface FilledStore {
  readonly threads: number;
  readonly checkpointer: Checkpointer;
}

export const OPERATIONS = [
  "first page of 50 threads",
  "page of 50 from the middle",
  "threads of one customer, by metadata",
  "search of a rare word",
  "search of a common word",
  "load",
  "save",
  "save of a new thread",
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Grows with how many records have the word, whatever the number of threads: it has a target of its own. */
export const GROWS_WITH_MATCHES: ReadonlySet<Operation> = new Set(["search of a common word"]);

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

export type Timings = Readonly<Record<Operation, Percentiles>>;

/**
 * How many of each operation in a round, and how many rounds, of which the quietest counts.
 */
const PER_ROUND = 100;
const ROUNDS = 5;
/** A slow operation is run less often in a round, but at least a few times. */
const LONGEST_MS = 4000;
const LEAST_PER_ROUND = 3;
const PAGE = 50;

/**
 * Every operation on all stores in turn, one after the other, so that what else the machine does meets
 * them alike. Each round reads threads that were not read before: a process that knows a thread reads less.
 */
export async function measureSideBySide(stores: readonly FilledStore[]): Promise<readonly Timings[]> {
  const runs = stores.map((store) => new Run(store));
  const rounds = stores.map(() => new Map<Operation, Percentiles[]>());
  for (let round = 0; round < ROUNDS; round++) {
    for (const operation of OPERATIONS) {
      const samples = stores.map(() => [] as number[]);
      const end = performance.now() + LONGEST_MS;
      for (let at = 0; at < PER_ROUND && (at < LEAST_PER_ROUND || performance.now() < end); at++) {
        for (const [index, run] of runs.entries()) samples[index]?.push(await run.timed(operation));
      }
      for (const [index, measured] of samples.entries()) {
        const known = rounds[index]?.get(operation) ?? [];
        rounds[index]?.set(operation, [...known, percentiles(measured)]);
      }
    }
    // What the saves of this round brought is indexed now, and not within a search of the next.
    for (const { checkpointer } of stores) await checkpointer.search("catch up with all");
  }
  return rounds.map(quietest);
}

class Run {
  readonly #store: FilledStore;
  readonly #random = seededRandom(7);
  /** Each thread is read once. */
  #nextToRead = 0;
  #made = 0;

  constructor(store: FilledStore) {
    this.#store = store;
  }

  async timed(operation: Operation): Promise<number> {
    const work = await this.#prepared(operation);
    const begun = performance.now();
    await work();
    return performance.now() - begun;
  }

  async #prepared(operation: Operation): Promise<() => Promise<unknown>> {
    const { checkpointer } = this.#store;
    const any = this.#random.below(OWN_THREADS);
    switch (operation) {
      case "first page of 50 threads":
        return () => counted(PAGE, checkpointer.listThreads({ limit: PAGE }));
      case "page of 50 from the middle": {
        // From the first half of the order, so that fifty follow.
        const cursor = signCursor("threads", `${(this.#random.below(128) + 64).toString(16)}`);
        return () => counted(PAGE, checkpointer.listThreads({ limit: PAGE, ...(cursor && { cursor }) }));
      }
      case "threads of one customer, by metadata": {
        const customer = customerOf(any);
        return () =>
          counted(THREADS_OF_A_CUSTOMER, checkpointer.queryByMetadata("customer", customer, { limit: PAGE }));
      }
      case "search of a rare word":
        return () => counted(THREADS_WITH_A_WORD, checkpointer.search(rareWord(any)));
      case "search of a common word":
        return () => counted(10, checkpointer.search(COMMON_WORD));
      case "load": {
        const id = threadId(this.#unread());
        return () => checkpointer.load(id);
      }
      case "save": {
        const index = this.#unread();
        const [id, metadata] = [threadId(index), metadataOf(index)];
        const state = await checkpointer.load(id);
        if (state === undefined) throw new Error(`${id} is not there`);
        const next = state.withMessage(userMessage(`and more ${id}`));
        return () => checkpointer.save(next, id, { metadata });
      }
      case "save of a new thread": {
        const id = `${threadId(this.#made++)}-new`;
        const state = AgentState.create().withMessage(userMessage("a new thread"));
        return () => checkpointer.save(state, id);
      }
    }
  }

  #unread(): number {
    const { threads } = this.#store;
    const step = Math.max(1, Math.floor(threads / (2 * PER_ROUND * ROUNDS)));
    return (this.#nextToRead++ * step) % threads;
  }
}

async function counted(expected: number, answer: Promise<{ readonly length: number }>): Promise<void> {
  const { length } = await answer;
  if (length !== expected) throw new Error(`found ${length} where ${expected} are`);
}

const percentiles = (samples: readonly number[]): Percentiles => ({
  p50: percentile(samples, 50),
  p99: percentile(samples, 99),
});

const quietest = (rounds: ReadonlyMap<Operation, readonly Percentiles[]>): Timings =>
  Object.fromEntries(
    [...rounds].map(([operation, all]) => [
      operation,
      { p50: Math.min(...all.map(({ p50 }) => p50)), p99: Math.min(...all.map(({ p99 }) => p99)) },
    ]),
  ) as unknown as Timings;
