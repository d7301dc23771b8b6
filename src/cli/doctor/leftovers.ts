import { type CheckpointContext, contextOf } from "../../checkpoint/context.ts";
import { everyThread } from "../../checkpoint/find/finding.ts";
import { Warnings } from "../../driver/warnings.ts";
import type { CommandCall } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { plural, warningText } from "../output/wording.ts";
import { begunAt } from "./scratch.ts";

/** A run that began within this time may still be under way. */
const MAY_RUN_MS = 3_600_000;

/** What runs left behind that were killed. Those that may be under way are left alone unless `--yes` says otherwise. */
export async function removeLeftovers(call: CommandCall, root: string): Promise<ExitCode> {
  const { options, world, printer, note } = call;
  const isDry = options.flag("dry-run");
  const checkpointer = await call.open(isDry ? "read" : "write");
  const context = contextOf(checkpointer) as CheckpointContext;
  await checkpointer.connect();
  let [removed, young] = [0, 0];
  const warnings = new Warnings();
  for await (const { threadId } of everyThread(context, "doctor", root, warnings)) {
    world.signal.throwIfAborted();
    const begun = begunAt(root, threadId);
    if (begun === undefined) continue;
    if (world.now() - begun < MAY_RUN_MS && !options.flag("yes")) {
      young++;
      continue;
    }
    if (!isDry) await context.call({ operation: "doctor", threadId }, (log) => log.remove(threadId));
    removed++;
  }
  if (young > 0) await note(`${plural(young, "thread")} of a run that may be under way: --yes removes them as well`);
  await printer.facts([[isDry ? "would remove" : "removed", plural(removed, "thread")]], {
    removed,
    young,
    dryRun: isDry,
  });
  for (const warning of warnings.list) await note(warningText(warning));
  return young === 0 ? EXIT.done : EXIT.inPart;
}
