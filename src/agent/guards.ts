import { reasonOf } from "../errors.ts";
import type { AgentState } from "../state/agent-state.ts";
import type { AssistantMessage, ToolCall, UserMessage } from "../state/message.ts";
import type { Ending } from "./run/loop.ts";
import type { RunContext } from "./run/run-context.ts";
import type { Outcome } from "./tool-call/tool-result.ts";

/** What a guard says of something: nothing lets it pass. */
export type Verdict<Replacement> =
  | { readonly replace: Replacement }
  /** The reason, for the person or model that is told. */
  | { readonly refuse: string };

type Said<Replacement> = Verdict<Replacement> | undefined;

/**
 * Guards stand where something would go further: each may let it pass, put
 * something else in its place, or refuse it with a reason. Nothing that a guard
 * keeps back is stored or shown. One that throws ends the run there; after a
 * tool has run its result is kept back instead, so that the call stays settled.
 */
export interface Guards {
  /** What a user says, before it is part of the thread. Refused, the run ends as `"guarded"` and leaves no trace. */
  guardPrompt?(context: {
    readonly message: UserMessage;
    readonly state: AgentState;
    readonly threadId: string | undefined;
  }): Said<UserMessage["content"]> | Promise<Said<UserMessage["content"]>>;
  /**
   * What the model says, before it is saved: with this guard `model-delta` events come when it has passed. Refused,
   * the reason stands in its place, its calls are dropped, and the turn ends as `"guarded"`.
   */
  guardAnswer?(context: {
    readonly message: AssistantMessage;
    readonly state: AgentState;
  }): Said<AssistantMessage["content"]> | Promise<Said<AssistantMessage["content"]>>;
  /** A call, before it begins; a replacement is its new arguments. Refused, it is settled as denied and the model is told why. */
  guardCall?(context: { readonly call: ToolCall; readonly state: AgentState }): Said<unknown> | Promise<Said<unknown>>;
  /** What a call brought, before it is saved or shown to the model. */
  guardResult?(context: {
    readonly call: ToolCall;
    readonly status: Outcome["status"];
    readonly content: Outcome["content"];
    readonly state: AgentState;
  }): Said<Outcome["content"]> | Promise<Said<Outcome["content"]>>;
}

/** The message as it may enter the thread, or how the run ends. */
export async function guardedPrompt(context: RunContext, message: UserMessage): Promise<UserMessage | Ending> {
  const { parts, session, threadId, emit } = context;
  if (parts.hooks.guardPrompt === undefined) return message;
  // A message that was accepted once is not judged again: it may have been replaced when it was accepted.
  const known = message.id !== undefined && session.state.messages.find(({ id }) => id === message.id);
  if (known !== undefined && known !== false) return { ...message, content: known.content };
  const verdict = await parts.hooks.guardPrompt({ message, state: session.state, threadId });
  if (verdict === undefined) return message;
  if ("replace" in verdict) {
    emit({ type: "guarded", what: "prompt", verdict: "replaced" });
    return { ...message, content: verdict.replace };
  }
  emit({ type: "guarded", what: "prompt", verdict: "refused", reason: verdict.refuse });
  return { stopReason: "guarded", text: verdict.refuse };
}

/** The model's message as it may be saved. */
export async function guardedAnswer(context: RunContext, message: AssistantMessage): Promise<AssistantMessage> {
  const { parts, session, emit } = context;
  const verdict = await parts.hooks.guardAnswer?.({ message, state: session.state });
  if (verdict === undefined) return message;
  if ("replace" in verdict) {
    emit({ type: "guarded", what: "answer", verdict: "replaced" });
    // What a provider wants back belongs to the words that are gone.
    const { providerMetadata: _, ...rest } = message;
    return { ...rest, content: verdict.replace };
  }
  emit({ type: "guarded", what: "answer", verdict: "refused", reason: verdict.refuse });
  return { role: "assistant", content: verdict.refuse, finishReason: "guarded" };
}

/** The call as it may begin, or how it ends instead. */
export async function guardedCall(context: RunContext, call: ToolCall): Promise<ToolCall | Outcome> {
  const { parts, session, emit } = context;
  const verdict = await parts.hooks.guardCall?.({ call, state: session.state });
  if (verdict === undefined) return call;
  if ("replace" in verdict) {
    emit({ type: "guarded", what: "call", verdict: "replaced", toolCallId: call.id });
    return { ...call, arguments: verdict.replace };
  }
  emit({ type: "guarded", what: "call", verdict: "refused", reason: verdict.refuse, toolCallId: call.id });
  return { status: "denied", content: `This call was refused. The reason: ${verdict.refuse}` };
}

/** The outcome as the model may see it. The call has run, so it stays settled whatever the guard does. */
export async function guardedResult(context: RunContext, call: ToolCall, outcome: Outcome): Promise<Outcome> {
  const { parts, session, emit } = context;
  const { status, content } = outcome;
  try {
    const verdict = await parts.hooks.guardResult?.({ call, status, content, state: session.state });
    if (verdict === undefined) return outcome;
    if ("replace" in verdict) {
      emit({ type: "guarded", what: "result", verdict: "replaced", toolCallId: call.id });
      const { returned: _, ...kept } = outcome;
      return { ...kept, content: verdict.replace };
    }
    emit({ type: "guarded", what: "result", verdict: "refused", reason: verdict.refuse, toolCallId: call.id });
    return { status, content: `The result is kept back. The reason: ${verdict.refuse}` };
  } catch (error) {
    emit({ type: "warning", where: "guardResult", error });
    return { status, content: `The result is kept back, because it could not be checked: ${reasonOf(error)}` };
  }
}
