import { isDeepStrictEqual } from "node:util";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { contextOf } from "../../src/checkpoint/context.ts";
import { growThread } from "../../src/testing/checkpointer-cases/conversations.ts";
import { everythingIn } from "../cli/everything.ts";
import type { ProgramProcess, Programs } from "./programs.ts";
import { openShared } from "./shared-storage.ts";

export interface CopyEnds {
  readonly from: string;
  readonly to: string;
}

export interface KilledCopies extends CopyEnds {
  readonly when: "before" | "during";
  readonly args: readonly string[];
  /** The numbers of the driver calls that are killed; without it, all of them. */
  readonly at?: readonly number[];
}

const THREADS = ["long", "fork"];

/**
 * Copies by a process that the system kills at one driver call after another.
 * Each time the command is run again by a process that lives: then the target
 * has all that the source has, and no write id twice. Returns how many were killed.
 */
export async function killCopies(programs: Programs, { from, to, when, args, at }: KilledCopies): Promise<number> {
  const [source, target] = [await openShared(from), await openShared(to)];
  const start = (): ProgramProcess => programs.start("copying-program", [from, to]);
  // The next two processes start up while one is at work.
  const waiting = [start(), start()];
  const run = async (order: { readonly at: number; readonly when: string }): Promise<number | "killed"> => {
    const current = waiting.shift() as ProgramProcess;
    waiting.push(start());
    await current.hasSaid(1);
    current.tell(JSON.stringify({ ...order, args }));
    const { code, signal } = await current.ended();
    if (signal === "SIGKILL") return "killed";
    const last = JSON.stringify(current.said.at(-1));
    if (code !== 0) throw new Error(`the copy ended with ${code} and ${signal}: ${last}`);
    return code;
  };
  try {
    await target.exists("-");
    await fill(source);
    for (let kills = 0; ; kills++) {
      const call = at === undefined ? kills + 1 : at[kills];
      if (call === undefined) return kills;
      if ((await run({ at: call, when })) !== "killed") {
        if (at === undefined) return kills;
        throw new Error(`there is no driver call ${call} to be killed at`);
      }
      await run({ at: 0, when });
      await assertCopied(source, target, `killed ${when} call ${call}`);
      for (const threadId of THREADS) await target.delete(threadId);
      // A thread that was moved takes no more part in anything.
      if (args.includes("--cut-over")) await refill(source);
    }
  } finally {
    for (const process of waiting) {
      process.signal("SIGKILL");
      await process.ended();
    }
    await source.close();
    await target.close();
  }
}

async function refill(source: Checkpointer): Promise<void> {
  for (const threadId of THREADS) await source.delete(threadId);
  await fill(source);
}

/** Two threads, with gaps where checkpoints were deleted, one of them the newest. */
async function fill(source: Checkpointer): Promise<void> {
  const { ids } = await growThread(source, "long", 9);
  await source.delete("long", ids[2] ?? "");
  await source.delete("long", ids.at(-1) ?? "");
  await source.fork("long", "fork", ids[4] ?? "");
}

async function assertCopied(source: Checkpointer, target: Checkpointer, what: string): Promise<void> {
  const [expected, found] = [await everythingIn(source), await everythingIn(target)];
  if (!isDeepStrictEqual(found, expected)) {
    throw new Error(`${what}: the target is not what the source is: ${JSON.stringify(found).slice(0, 2000)}`);
  }
  for (const threadId of THREADS) {
    const chain = await contextOf(target)?.log.readRecords(threadId, { limit: 1000 });
    const writeIds = chain?.records.map(({ writeId }) => writeId) ?? [];
    if (new Set(writeIds).size !== writeIds.length)
      throw new Error(`${what}: a write id of ${threadId} is there twice`);
  }
}
