import type { SendOptions } from "../../../checkpoint/signals/sending.ts";
import type { Signal } from "../../../checkpoint/signals/signal.ts";
import { userMessage } from "../../../state/message.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { missingThread } from "../../references.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const subject = call.options.text("subject");
  const text = call.given["message"] ?? "";
  const message = userMessage(text, subject === undefined ? {} : { metadata: { subject } });
  return sendTo(call, { message }, { create: call.options.flag("create") });
}

/** Sends to the thread that the command names. A dry run only says whether it is there. */
export async function sendTo(
  { given, options, printer, note, open }: CommandCall,
  signal: Signal,
  { create = false }: Pick<SendOptions, "create"> = {},
): Promise<ExitCode> {
  const threadId = given["thread"] ?? "";
  const [id, isDry] = [options.text("id"), options.flag("dry-run")];
  const checkpointer = await open(isDry ? "read" : "write");
  if (isDry && !create && !(await checkpointer.exists(threadId))) throw missingThread(threadId);
  const sent = isDry
    ? undefined
    : await checkpointer.send(threadId, signal, { create, ...(id !== undefined && { id }) });
  await printer.facts(
    [
      ["thread", { id: threadId }],
      [sent === undefined ? "would send" : sent.isRepeated ? "was sent before" : "sent", sent && { id: sent.id }],
    ],
    { threadId, ...sent, dryRun: isDry },
  );
  if (printer.isForPeople && sent !== undefined)
    await note("it is taken in by the run that is under way, or by the next: agent.run or agent.recover");
  return EXIT.done;
}
