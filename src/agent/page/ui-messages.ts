import type { Answer, Signal } from "../../checkpoint/signals/signal.ts";
import { StateError } from "../../errors.ts";
import { described } from "../../internal/known-options.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { Interrupt } from "../../state/fields.ts";
import type { AssistantMessage, ContentPart, Message, UserMessage } from "../../state/message.ts";
import { type PendingCall, pendingIn } from "../../state/pending.ts";
import { isRepairRequest } from "../run/turn-number.ts";
import { approvalIdOf, deniedApproval } from "../tool-call/interrupts.ts";
import { maskedError, outputOf, pendingData, ToolFailure, turnMessageId, type UIStreamOptions } from "./ui-stream.ts";

/** A message as pages of the AI SDK keep it. */
export interface UIMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly UIPart[];
}

export type UIPart = { readonly type: string } & Readonly<Record<string, unknown>>;

/** A thread as a page begins with it: one message for what a user said, one for all that the turn brought. */
export function toUIMessages(
  state: Pick<AgentState, "messages"> & Partial<Pick<AgentState, "interrupts" | "toolExecutions">>,
  { onError = maskedError }: Pick<UIStreamOptions, "onError"> = {},
): readonly UIMessage[] {
  if (!Array.isArray(state?.messages)) {
    throw new TypeError("toUIMessages() takes a state; load() gives undefined where there is no thread");
  }
  const { messages, interrupts = [], toolExecutions = [] } = state;
  const pending = pendingIn({ messages, interrupts, toolExecutions });
  const shown: UIMessage[] = [];
  const results = new Map(
    messages.flatMap((message) => (message.role === "tool" ? [[message.toolCallId, message]] : [])),
  );
  let turn = 0;
  for (const message of messages) {
    if (message.role === "user" && !isRepairRequest(message)) {
      turn++;
      shown.push({ id: message.id ?? `user-${turn}`, role: "user", parts: partsOf(message.content) });
    }
    if (message.role !== "assistant") continue;
    const id = turnMessageId(turn);
    const last = shown.at(-1);
    const parts = [
      { type: "step-start" },
      ...partsOf(message.content),
      ...callsOf(message, results, interrupts, pending, onError),
    ];
    if (last?.id === id) shown[shown.length - 1] = { ...last, parts: [...last.parts, ...parts] };
    else shown.push({ id, role: "assistant", parts });
  }
  return shown;
}

function partsOf(content: Message["content"]): readonly UIPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content, state: "done" }];
  return content.flatMap((part): readonly UIPart[] => {
    if (part.type !== "file") return part.text === "" ? [] : [{ type: part.type, text: part.text, state: "done" }];
    const { mediaType, filename } = part;
    return [{ type: "file", mediaType, url: urlOf(part), ...(filename !== undefined && { filename }) }];
  });
}

const urlOf = ({ data, mediaType }: Extract<ContentPart, { type: "file" }>): string =>
  data instanceof Uint8Array ? `data:${mediaType};base64,${Buffer.from(data).toString("base64")}` : data.url;

function callsOf(
  { toolCalls = [] }: AssistantMessage,
  results: ReadonlyMap<unknown, unknown>,
  interrupts: AgentState["interrupts"],
  pending: readonly PendingCall[],
  onError: (error: unknown) => string,
): readonly UIPart[] {
  return toolCalls.flatMap(({ id, name, arguments: input }): readonly UIPart[] => {
    const waiting = pending.filter(({ toolCallId }) => toolCallId === id || toolCallId.startsWith(`${id}/`));
    const asked = waiting.find((one) => one.id === approvalIdOf(id));
    const others = waiting.filter((one) => one !== asked).map((one) => ({ type: "data-pending", ...pendingData(one) }));
    return [shownCall({ id, name, input }, asked), ...others];
  });

  function shownCall(
    { id, name, input }: { readonly id: string; readonly name: string; readonly input: unknown },
    asked: PendingCall | undefined,
  ): UIPart {
    const result = results.get(id) as Extract<Message, { role: "tool" }> | undefined;
    const call = { type: `tool-${name}`, toolCallId: id, input };
    if (asked !== undefined) return { ...call, state: "approval-requested", approval: { id: asked.id } };
    if (result === undefined) return { ...call, state: "input-available" };
    const denied = deniedApproval({ interrupts }, id);
    if (denied !== undefined) return { ...call, state: "output-denied", approval: refusalIn(denied) };
    if (result.isError === true) return { ...call, state: "output-error", errorText: onError(new ToolFailure(result)) };
    return { ...call, state: "output-available", output: outputOf(result) };
  }
}

function refusalIn({ id, answer }: Interrupt): UIPart["approval"] {
  const { reason } = (answer?.value ?? {}) as { readonly reason?: string };
  return { id, approved: false, ...(reason !== undefined && { reason }) };
}

/**
 * What a page sent, as a signal for the thread: what the user said, or the decisions that they made about calls. Of an
 * assistant's message nothing else is taken, because everything that a page holds may have been changed there.
 */
export function signalFromUIMessage(message: unknown): Signal {
  const { role, parts } = (typeof message === "object" && message !== null ? message : {}) as Partial<UIMessage>;
  if (role !== "assistant" || !Array.isArray(parts)) return { message: fromUIMessage(message) };
  const answer = parts.flatMap((part: unknown): readonly Answer[] => {
    const { state, approval } = (part ?? {}) as UIPart;
    const { id, approved, reason } = (approval ?? {}) as Partial<Record<string, unknown>>;
    if (state !== "approval-responded" || typeof id !== "string" || typeof approved !== "boolean") return [];
    const why = typeof reason === "string" && reason !== "" ? { reason } : {};
    return [{ id, response: approved ? { decision: "approve" } : { decision: "deny", ...why } }];
  });
  if (answer.length > 0) return { answer };
  const what = "signalFromUIMessage(): the assistant's message has no part that answers a request for approval";
  throw new StateError("INVALID_ARGUMENT", what);
}

/**
 * What a page sent, as a prompt, with its id, so that it is answered once
 * however often the page sends it. Only what a user says is taken: everything
 * else that a page holds may have been changed there.
 */
export function fromUIMessage(message: unknown): UserMessage {
  const { id, role, parts } = (typeof message === "object" && message !== null ? message : {}) as Partial<UIMessage>;
  if (role !== "user" || !Array.isArray(parts)) {
    const what = role === undefined ? described(message) : `a message of role ${JSON.stringify(role)}`;
    throw new StateError("INVALID_ARGUMENT", `fromUIMessage() takes what the user said, with its parts, not ${what}`);
  }
  const content = parts.flatMap((part): readonly ContentPart[] => {
    const { type, text, mediaType, url, filename } = (part ?? {}) as UIPart;
    if (type === "text" && typeof text === "string") return [{ type: "text", text }];
    if (type === "file" && typeof url === "string" && typeof mediaType === "string") {
      return [{ type: "file", mediaType, data: { url }, ...(typeof filename === "string" && { filename }) }];
    }
    return [];
  });
  if (content.length === 0) throw new StateError("INVALID_ARGUMENT", "fromUIMessage(): the message says nothing");
  const [first] = content;
  const said = content.length === 1 && first?.type === "text" ? first.text : content;
  return { role: "user", content: said, ...(typeof id === "string" && id !== "" && { id }) };
}
