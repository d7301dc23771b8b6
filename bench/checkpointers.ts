import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ContenderProcess } from "./contender-process.ts";
import type { Contender } from "./contenders/contender.ts";
import { median, sum } from "./statistics.ts";

export interface Measurement {
  readonly name: string;
  readonly durability: string;
  /** Of all files, after closing. */
  readonly bytes: number;
  /** What the file system set aside for them. */
  readonly allocatedBytes: number;
  /** Medians over the steps around each of these. */
  readonly saveMs: Readonly<Record<ShownStep, number>>;
  /** The median over all of them. */
  readonly anySaveMs: number;
  /** Medians of each turn. The turns of all contenders, and of all three threads, went side by side. */
  readonly turnsMs: Readonly<Record<ShownStep, readonly number[]>>;
  /**
   * The whole conversation, including work that continues after a save has returned.
   */
  readonly totalMs: number;
  /** By an instance that was just opened, opening included. */
  readonly openAndLoadMs: number;
  /** By an instance that is open. */
  readonly loadMs: number;
  /** What a save and a load ask of a server; 0 without one. */
  readonly roundTrips: { readonly save: number; readonly load: number };
  readonly historyMs: number | undefined;
}

export interface Plan {
  readonly seed: number;
  /** Every round begins in empty directories; one more, before the first, only warms the processes up. */
  readonly rounds: number;
  /**
   * How often the whole thread is read in each round; the first reading lists the
   * history too.
   */
  readonly readings: number;
}

export const STEPS = 400;
export const SHOWN_STEPS = [10, 100, 400] as const;
export type ShownStep = (typeof SHOWN_STEPS)[number];
/** How many steps around a shown one are timed. */
const WINDOW = 20;
/** How many steps a contender takes before the next one's turn. */
const TURN = 5;

const firstOfWindow = (step: ShownStep): number => Math.min(step - WINDOW / 2, STEPS - WINDOW);

interface Entrant {
  readonly contender: Contender;
  readonly process: ContenderProcess;
  readonly samples: Samples;
}

interface Samples {
  readonly saves: Readonly<Record<ShownStep, number[]>>;
  readonly turns: Readonly<Record<ShownStep, number[]>>;
  readonly totals: number[];
  readonly bytes: number[];
  readonly allocated: number[];
  readonly openAndLoads: number[];
  readonly loads: number[];
  readonly saveTrips: number[];
  readonly loadTrips: number[];
  readonly histories: number[];
}

/**
 * Every contender keeps three threads, grown to just before the steps that are
 * shown. Then all contenders and all three threads go through those steps side
 * by side, in an order that rotates: whatever else the machine does meets a
 * short thread and a long one, ours and theirs alike.
 */
export async function measure(contenders: readonly Contender[], plan: Plan): Promise<readonly Measurement[]> {
  const entrants = contenders.map((contender) => ({
    contender,
    process: new ContenderProcess(contender.name, plan.seed, STEPS),
    samples: emptySamples(),
  }));
  try {
    await runRound(
      entrants.map((entrant) => ({ ...entrant, samples: emptySamples() })),
      { readings: 2, listsHistory: false },
    );
    const { readings, rounds } = plan;
    for (let round = 0; round < rounds; round++) await runRound(entrants, { readings, listsHistory: true });
    return entrants.map(summarise);
  } finally {
    for (const { process } of entrants) process.end();
  }
}

const emptySamples = (): Samples => ({
  saves: { 10: [], 100: [], 400: [] },
  turns: { 10: [], 100: [], 400: [] },
  totals: [],
  bytes: [],
  allocated: [],
  openAndLoads: [],
  loads: [],
  saveTrips: [],
  loadTrips: [],
  histories: [],
});

async function runRound(
  entrants: readonly Entrant[],
  { readings, listsHistory }: { readonly readings: number; readonly listsHistory: boolean },
): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  const directoryOf = ({ contender }: Entrant, step: ShownStep): string =>
    join(root, `${contender.name.replaceAll(/\W+/g, "-")}-${step}`);
  try {
    const totals = await grow(entrants, directoryOf);
    await takeTurns(entrants, directoryOf, totals);
    for (const entrant of entrants) {
      for (const step of SHOWN_STEPS) await entrant.process.close(directoryOf(entrant, step));
      const { bytes, allocated } = sizeOf(directoryOf(entrant, STEPS));
      const onServer = await entrant.process.size(directoryOf(entrant, STEPS));
      entrant.samples.bytes.push(onServer ?? bytes);
      entrant.samples.allocated.push(onServer ?? allocated);
      entrant.samples.totals.push(totals.get(entrant)!);
    }
    for (let reading = 0; reading < readings; reading++) {
      for (const entrant of rotated(entrants, reading)) {
        const times = await entrant.process.read(directoryOf(entrant, STEPS), STEPS, listsHistory && reading === 0);
        entrant.samples.openAndLoads.push(times.openAndLoad);
        entrant.samples.loads.push(times.load);
        entrant.samples.loadTrips.push(times.loadRoundTrips);
        if (times.history !== undefined) entrant.samples.histories.push(times.history);
      }
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

type Directories = (entrant: Entrant, step: ShownStep) => string;

/** Brings all threads up to their windows; returns how long each entrant's longest took for it. */
async function grow(entrants: readonly Entrant[], directoryOf: Directories): Promise<Map<Entrant, number>> {
  const totals = new Map<Entrant, number>();
  for (const entrant of entrants) {
    for (const step of SHOWN_STEPS) {
      mkdirSync(directoryOf(entrant, step));
      await entrant.process.open(directoryOf(entrant, step));
      const times = await entrant.process.steps(directoryOf(entrant, step), 0, firstOfWindow(step));
      totals.set(entrant, sum(times.map(({ whole }) => whole)));
    }
  }
  return totals;
}

async function takeTurns(
  entrants: readonly Entrant[],
  directoryOf: Directories,
  totals: Map<Entrant, number>,
): Promise<void> {
  for (let offset = 0; offset < WINDOW; offset += TURN) {
    for (const entrant of rotated(entrants, offset / TURN)) {
      for (const step of rotated(SHOWN_STEPS, offset / TURN)) {
        const from = firstOfWindow(step) + offset;
        const times = await entrant.process.steps(directoryOf(entrant, step), from, from + TURN);
        const saves = times.map(({ save }) => save);
        entrant.samples.saves[step].push(...saves);
        entrant.samples.turns[step].push(median(saves));
        entrant.samples.saveTrips.push(...times.map(({ roundTrips }) => roundTrips));
        if (step === STEPS) totals.set(entrant, totals.get(entrant)! + sum(times.map(({ whole }) => whole)));
      }
    }
  }
}

function summarise({ contender, samples }: Entrant): Measurement {
  const { saves } = samples;
  return {
    name: contender.name,
    durability: contender.durability,
    bytes: median(samples.bytes),
    allocatedBytes: median(samples.allocated),
    saveMs: { 10: median(saves[10]), 100: median(saves[100]), 400: median(saves[400]) },
    anySaveMs: median(Object.values(saves).flat()),
    turnsMs: samples.turns,
    totalMs: median(samples.totals),
    openAndLoadMs: median(samples.openAndLoads),
    loadMs: median(samples.loads),
    roundTrips: { save: median(samples.saveTrips), load: median(samples.loadTrips) },
    historyMs: samples.histories.length === 0 ? undefined : median(samples.histories),
  };
}

const rotated = <T>(items: readonly T[], by: number): readonly T[] => [
  ...items.slice(by % items.length),
  ...items.slice(0, by % items.length),
];

function sizeOf(directory: string): { readonly bytes: number; readonly allocated: number } {
  const found = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)));
  return { bytes: sum(found.map(({ size }) => size)), allocated: sum(found.map(({ blocks }) => blocks * 512)) };
}
