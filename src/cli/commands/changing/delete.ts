import { contextOf } from "../../../checkpoint/context.ts";
import { removeThreadIf } from "../../../checkpoint/history/removing-threads.ts";
import { placeOfTail } from "../../../checkpoint/log/driver-rules.ts";
import { Thread } from "../../../checkpoint/thread/thread.ts";
import { StateError } from "../../../errors.ts";
import { type CommandCall, confirm } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { plural } from "../../output/wording.ts";
import { checkpointIdOf, missingThread } from "../../references.ts";

/** Deletes what was shown and nothing newer: a thread that moved meanwhile is left alone. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer } = call;
  const threadId = given["thread"] ?? "";
  const isDry = options.flag("dry-run");
  const checkpointer = await call.open(isDry ? "read" : "write");
  const context = contextOf(checkpointer);
  const place = { operation: "delete", threadId };
  const tail = await context?.call(place, (log) => log.tail(threadId));
  const stats = await checkpointer.stats(threadId);
  if (context === undefined || tail === undefined || stats === undefined) throw missingThread(threadId);
  const [newest] = await checkpointer.listCheckpoints(threadId, 1);
  const wanted = options.text("if-head");
  if (wanted !== undefined && newest?.checkpointId !== wanted) throw moved(threadId);
  const at = options.text("at");
  const checkpointId = at === undefined ? undefined : await checkpointIdOf(checkpointer, threadId, at);
  const what = checkpointId === undefined ? plural(stats.checkpoints, "checkpoint") : `checkpoint ${checkpointId}`;
  if (!isDry) {
    await confirm(call, `this deletes ${what} of ${JSON.stringify(threadId)}; type the thread's id to go on`, threadId);
    if (checkpointId !== undefined) await checkpointer.delete(threadId, { checkpointId });
    else {
      const removed = await removeThreadIf(new Thread(context, threadId, "delete"), placeOfTail(tail));
      if (removed === "moved") throw moved(threadId);
    }
  }
  const done = checkpointId === undefined ? { threadId, checkpoints: stats.checkpoints } : { threadId, checkpointId };
  await printer.facts(
    [
      ["thread", { id: threadId }],
      [isDry ? "would delete" : "deleted", what],
    ],
    { ...done, dryRun: isDry },
  );
  return EXIT.done;
}

const moved = (threadId: string): StateError =>
  new StateError("CONFLICT", `thread ${JSON.stringify(threadId)} moved on meanwhile; nothing was deleted`, {
    threadId,
  });
