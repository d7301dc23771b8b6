import { withoutFence } from "../../models/markdown-fence.ts";
import { type AssistantMessage, textOf } from "../../state/message.ts";
import { subjectOfTurn } from "../../state/people/subjects.ts";
import type { Ending } from "../run/loop.ts";
import type { RunContext } from "../run/run-context.ts";
import { isRepairRequest, repairRequest } from "../run/turn-number.ts";
import { stopReasonOf } from "./finish.ts";

/**
 * With an output schema: checks the answer and, while there are tries left, asks
 * again with what is wrong. The request is an ordinary message, saved while the model
 * is asked, so that a crash in between changes nothing that was shown.
 */
export async function judgeAnswer(context: RunContext): Promise<Ending | "ask again"> {
  const { parts, session } = context;
  const last = session.state.messages.at(-1) as AssistantMessage;
  const stopReason = stopReasonOf(last);
  if (parts.output === undefined) return { stopReason };
  const faults = await faultsIn(context, textOf(last));
  if ("output" in faults) return { stopReason, output: faults.output };
  // Asking for other words does not help an answer that was cut off or refused; one without words may have been an accident.
  if (stopReason !== "complete" && stopReason !== "empty") return { stopReason };
  if (repairsSoFar(context) >= parts.maxOutputRepairs) return { stopReason: "invalid-output" };
  const request = `That answer does not fit: ${faults.faults.join("; ")}. Answer again with nothing but JSON that fits this schema: ${JSON.stringify(parts.output.jsonSchema)}`;
  session.change((state) => state.withMessage(repairRequest(request, subjectOfTurn(state.messages))));
  session.saveBeside();
  return "ask again";
}

/** The ending of a run that has nothing to do, because an earlier one gave this answer. */
export async function answeredBefore(context: RunContext, text: string): Promise<Ending> {
  if (context.parts.output === undefined) return { stopReason: "complete", text };
  const faults = await faultsIn(context, text);
  if ("output" in faults) return { stopReason: "complete", text, output: faults.output };
  return { stopReason: "invalid-output", text };
}

async function faultsIn(
  { parts }: RunContext,
  text: string,
): Promise<{ output: unknown } | { faults: readonly string[] }> {
  let value: unknown;
  try {
    value = JSON.parse(withoutFence(text));
  } catch (error) {
    return { faults: [`it is not JSON (${error instanceof Error ? error.message : String(error)})`] };
  }
  const checked = await parts.output?.check(value);
  if (checked === undefined || "value" in checked) return { output: checked?.value };
  return checked;
}

/** Since the user's own last message: the count survives a crash because it is read from the conversation. */
function repairsSoFar({ session }: RunContext): number {
  let count = 0;
  for (const message of session.state.messages.toReversed()) {
    if (message.role !== "user") continue;
    if (!isRepairRequest(message)) break;
    count++;
  }
  return count;
}
