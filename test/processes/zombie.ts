import { expect } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { textOf, userMessage } from "../../src/state/message.ts";
import type { ProgramProcess, Programs } from "./programs.ts";
import { openShared } from "./shared-storage.ts";

export const ZOMBIE_MOMENTS = ["idle", "renewing", "writing"] as const;
export type ZombieMoment = (typeof ZOMBIE_MOMENTS)[number];

const THREAD = "leased";
const TTL_MS = 300;

/**
 * A holder of the lease is stopped past its time. This process takes over and
 * saves; the holder wakes up and saves too. It must be refused, and nothing of
 * that save may ever be seen.
 */
export async function wakeZombie(programs: Programs, url: string, moment: ZombieMoment): Promise<void> {
  await using checkpointer = await openShared(url);
  await checkpointer.save(AgentState.create().withMessage(userMessage("at first")), THREAD);
  const zombie = programs.start("zombie-program", [url, THREAD, String(TTL_MS), moment]);
  try {
    await takeOver(checkpointer, zombie);
  } finally {
    zombie.signal("SIGKILL");
  }
  expect(zombie.said[1]).toEqual({ saved: false, code: "CONFLICT" });

  await using again = await openShared(url);
  const found = await again.load(THREAD);
  expect(found?.messages.map(textOf)).toEqual(["at first", "by the holder", "by the successor"]);
  expect(await again.listCheckpoints(THREAD)).toHaveLength(3);
  await again.save(found!.withMessage(userMessage("afterwards")), THREAD);
}

/** While the holder is stopped: waits for its lease to end, saves, and wakes it up. */
async function takeOver(checkpointer: Checkpointer, zombie: ProgramProcess): Promise<void> {
  await zombie.hasSaid(1);
  expect(zombie.said).toEqual(["stopping"]);

  await checkpointer.withLease(
    THREAD,
    async (lease) => {
      const state = await checkpointer.load(THREAD);
      await checkpointer.save(state!.withMessage(userMessage("by the successor")), THREAD, { lease });
      zombie.signal("SIGCONT");
      expect(await zombie.ended()).toEqual({ code: 0, signal: null });
    },
    { owner: "successor", ttlMs: 60_000, waitMs: 60_000 },
  );
}
