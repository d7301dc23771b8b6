import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { CHECKPOINT_COLUMNS, summaryJson } from "../../output/summaries.ts";
import { plural } from "../../output/wording.ts";
import { Walk } from "../../paging.ts";
import { missingThread } from "../../references.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, printer, note } = call;
  const threadId = given["thread"] ?? "";
  const checkpointer = await call.open();
  const walk = new Walk(call, (place) => checkpointer.listCheckpoints(threadId, place));
  if (!(await checkpointer.exists(threadId))) throw missingThread(threadId);
  const count = await printer.list({
    items: walk.items(),
    columns: CHECKPOINT_COLUMNS,
    json: summaryJson,
    id: ({ checkpointId }) => checkpointId,
    cursor: () => walk.cursor,
  });
  if (printer.isForPeople) await note(plural(count, "checkpoint"));
  await walk.report();
  return EXIT.done;
}
