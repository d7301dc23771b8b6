import type { UserMessage } from "../../state/message.ts";
import { guardedPrompt } from "../guards.ts";
import type { RunOptions } from "../run-options.ts";
import { type CompleteOptions, completion } from "../tool-call/completing.ts";
import { answerInterrupt, declineWaiting, type PersonAnswer } from "../tool-call/interrupts.ts";
import { giveUpPending } from "../tool-call/later.ts";
import { goBack } from "./going-back.ts";
import { endedByTerminalTool, isAnswered } from "./loop.ts";
import { begin, type Opening } from "./opening.ts";

/** Words of a user, or without them what was left unfinished. */
export function saying(
  message: UserMessage | undefined,
  { backTo, declines }: { readonly backTo: RunOptions["backTo"]; readonly declines: boolean | string },
): Opening {
  const opening: Opening["begin"] = async (context, adopt) => {
    const { session, parts } = context;
    const heard = message && (await guardedPrompt(context, message));
    if (heard !== undefined && "stopReason" in heard) return heard;
    if (backTo !== undefined) await goBack(context, backTo, heard?.id);
    const reason = typeof declines === "string" ? declines : undefined;
    if (declines !== false) {
      const options = { now: parts.now(), maxResultChars: parts.maxResultChars };
      session.change((state) => giveUpPending(declineWaiting(state, reason, options.now), reason, options));
    }
    return begin(context, adopt, heard);
  };
  return { needsThread: message === undefined, begin: opening, ...(message !== undefined && { message }) };
}

/** A person's answer to a question. */
export const answering = (interruptId: string, given: PersonAnswer): Opening => ({
  needsThread: true,
  begin: async ({ session, parts }, adopt) => {
    const answered = await answerInterrupt(session.state, interruptId, given, {
      now: parts.now(),
      tools: parts.tools,
    });
    session.change(() => adopt(answered));
    session.saveBeside();
    return undefined;
  },
});

/** The outcome of a call whose tool answered "later". */
export const completing = (options: CompleteOptions): Opening => ({ needsThread: true, begin: completion(options) });

/** Nothing new: what a process that is gone left unfinished. */
export const goingOn = (onNothingLeft: () => void): Opening => ({
  needsThread: true,
  begin: async (context, adopt) => {
    const { state } = context.session;
    if (!isAnswered(state) && !endedByTerminalTool(context)) return begin(context, adopt, undefined);
    onNothingLeft();
    return { stopReason: "complete" };
  },
});
