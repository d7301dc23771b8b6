import { StateError } from "../../../errors.ts";
import { isInDoubt } from "../../../state/call-facts.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { stateOf } from "../../references.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer } = call;
  const [threadId, toolCallId, outcome] = [given["thread"] ?? "", given["call"] ?? "", given["outcome"]];
  const [by, reason, result] = [options.text("by"), options.text("reason"), options.text("result")];
  if (outcome !== "done" && outcome !== "not-done") throw new UsageError("the outcome is done or not-done");
  if (by === undefined) throw new UsageError("settle needs --by <name>: who says so is kept with the call");
  const isDry = options.flag("dry-run");
  const checkpointer = await call.open(isDry ? "read" : "write");
  if (isDry) {
    const { state } = await stateOf(checkpointer, threadId, undefined);
    const execution = state.toolExecutions.findLast((entry) => entry.toolCallId === toolCallId);
    const which = `the call ${JSON.stringify(toolCallId)}`;
    if (execution === undefined) throw new StateError("NOT_FOUND", `there is no ${which} in this thread`, { threadId });
    if (!isInDoubt(execution))
      throw new StateError("CONFLICT", `${which} is not in doubt: it is ${execution.status}`, { threadId });
  } else {
    const more = { ...(reason !== undefined && { reason }), ...(result !== undefined && { result }) };
    await checkpointer.settleCall(threadId, toolCallId, { outcome, by, ...more });
  }
  await printer.facts(
    [
      ["thread", { id: threadId }],
      [isDry ? "would settle" : "settled", { id: toolCallId }],
      ["outcome", outcome],
    ],
    { threadId, toolCallId, outcome, by, dryRun: isDry },
  );
  return EXIT.done;
}
