import { StateError } from "../../../errors.ts";
import { openCallsIn } from "../../../state/tool-calls.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { stateOf } from "../../references.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer } = call;
  const [threadId, target] = [given["thread"] ?? "", given["new"] ?? ""];
  const [settles, keeps, isDry] = [options.flag("settle-open"), options.flag("keep-open"), options.flag("dry-run")];
  if (settles && keeps) throw new UsageError("--settle-open and --keep-open exclude each other");
  const checkpointer = await call.open(isDry ? "read" : "write");
  const { checkpointId, state } = await stateOf(checkpointer, threadId, options.text("at"));
  const open = openCallsIn(state).map(({ call: { id, name } }) => `${name} (${id})`);
  if (open.length > 0 && !settles && !keeps) {
    const message = `calls are open at ${checkpointId}: ${open.join(", ")}. Run in both threads, they would act twice: --settle-open leaves them to the original, --keep-open runs them here as well`;
    throw new StateError("CONFLICT", message, { threadId, checkpointId });
  }
  if (isDry && (await checkpointer.exists(target))) {
    throw new StateError("CONFLICT", `there is a thread ${JSON.stringify(target)} already`, { threadId: target });
  }
  const openCalls = keeps ? "keep" : "settle";
  const first = isDry ? undefined : await checkpointer.fork(threadId, target, { at: checkpointId, openCalls });
  await printer.facts(
    [
      ["thread", { id: target }],
      [isDry ? "would be forked from" : "forked from", { id: `${threadId}@${checkpointId}` }],
      ["checkpoint", first === undefined ? undefined : { id: first }],
    ],
    {
      threadId: target,
      forkedFrom: { threadId, checkpointId },
      ...(first !== undefined && { checkpointId: first }),
      openCalls: open.length === 0 ? undefined : openCalls,
      dryRun: isDry,
    },
  );
  return EXIT.done;
}
