/**
 * A save beside one raw statement on the same server, in one process and in turns:
 * whatever the machine and its disk do meets both.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Contender, OpenContender } from "./contenders/contender.ts";
import { median, timed } from "./statistics.ts";
import { conversation, type WorkloadMessage } from "./workload.ts";

/** Each round begins a new thread. */
const ROUNDS = 10;
/** Thousands of saves: until then most of what is measured is Node interpreting and compiling, up to five times the rest. */
const WARM_UP_ROUNDS = 40;
const PAIRS_IN_A_BLOCK = 40;
const BLOCKS = 4;
/** The first saves of a thread make its tables and its connections. */
const FIRST_PAIRS = 20;

export interface SideBySide {
  /** How many times the raw statement a save takes: the median of all blocks, in each of which medians are compared. */
  readonly ratio: number;
  /** Medians of all. */
  readonly saveMs: number;
  readonly rawMs: number;
}

interface Block {
  readonly saves: readonly number[];
  readonly inserts: readonly number[];
}

export async function sideBySide(ours: Contender, raw: Contender, seed: number): Promise<SideBySide> {
  const messages = conversation(seed, FIRST_PAIRS + BLOCKS * PAIRS_IN_A_BLOCK);
  const blocks: Block[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const measured = await oneRound(ours, raw, messages);
    if (round >= WARM_UP_ROUNDS) blocks.push(...measured);
  }
  return {
    ratio: median(blocks.map(({ saves, inserts }) => median(saves) / median(inserts))),
    saveMs: median(blocks.flatMap(({ saves }) => saves)),
    rawMs: median(blocks.flatMap(({ inserts }) => inserts)),
  };
}

async function oneRound(
  ours: Contender,
  raw: Contender,
  messages: readonly WorkloadMessage[],
): Promise<readonly Block[]> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-bench-pairs-"));
  const [save, insert] = [await ours.open(join(folder, "ours")), await raw.open(join(folder, "raw"))];
  try {
    await inTurns(save, insert, messages.slice(0, FIRST_PAIRS));
    const blocks: Block[] = [];
    for (let from = FIRST_PAIRS; from < messages.length; from += PAIRS_IN_A_BLOCK) {
      blocks.push(await inTurns(save, insert, messages.slice(from, from + PAIRS_IN_A_BLOCK)));
    }
    return blocks;
  } finally {
    await save.close();
    await insert.close();
    rmSync(folder, { recursive: true });
  }
}

/** Who goes first changes from pair to pair. */
async function inTurns(
  save: OpenContender,
  insert: OpenContender,
  messages: readonly WorkloadMessage[],
): Promise<Block> {
  const [saves, inserts]: [number[], number[]] = [[], []];
  for (const [index, message] of messages.entries()) {
    const turns = [
      async () => saves.push(await timed(() => save.append(message))),
      async () => inserts.push(await timed(() => insert.append(message))),
    ];
    for (const turn of index % 2 === 0 ? turns : turns.toReversed()) await turn();
  }
  return { saves, inserts };
}
