import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { type CheckpointContext, contextOf } from "../../checkpoint/context.ts";
import { everyThread } from "../../checkpoint/find/finding.ts";
import { openHeader } from "../../checkpoint/record/record.ts";
import { Warnings } from "../../driver/warnings.ts";
import type { CommandCall } from "../command.ts";
import { plural } from "../output/wording.ts";
import type { Progress } from "../transfer/progress.ts";
import { begunAt } from "./scratch.ts";

export interface Damage {
  readonly threadId: string;
  readonly code: string;
  readonly message: string;
}

/** With `--quick` only the newest entry of each thread is looked at, which the list has already. */
export async function damagesIn(
  call: CommandCall,
  checkpointer: Checkpointer,
  root: string,
  progress: Progress,
): Promise<{ readonly damages: readonly Damage[]; readonly threads: number }> {
  const context = contextOf(checkpointer) as CheckpointContext;
  if (!context.log.capabilities.listThreads) return { damages: [], threads: 0 };
  const isQuick = call.options.flag("quick");
  const warnings = new Warnings();
  const damages: Damage[] = [];
  let threads = 0;
  for await (const { threadId, head } of everyThread(context, "doctor", "", warnings)) {
    call.world.signal.throwIfAborted();
    // Another doctor may be under way, whose records are of no agent.
    if (begunAt(root, threadId) !== undefined) continue;
    threads++;
    if (isQuick) await warnings.skipping(threadId, () => openHeader(head));
    else
      await warnings.skipping(threadId, async () => {
        for (const { code, message } of (await checkpointer.verify(threadId))?.faults ?? [])
          damages.push({ threadId, code, message });
      });
    await progress.show(() => `${plural(threads, "thread")} looked at`);
  }
  for (const { threadId = "", code, message } of warnings.list) damages.push({ threadId, code, message });
  return { damages, threads };
}
