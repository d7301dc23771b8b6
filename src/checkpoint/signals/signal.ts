import { StateError } from "../../errors.ts";
import { described } from "../../internal/known-options.ts";
import type { UserMessage } from "../../state/message.ts";
import type { SignalPart } from "../../state/people/personal-fields.ts";
import { asUserMessage, withId } from "../../state/prompt.ts";
import { decodeText, encodeText } from "../../state/values/codec.ts";
import { isPlainObject } from "../../state/values/doorway.ts";
import type { LogRecord } from "../log/thread-log.ts";
import { openRecord, type SignalFacts } from "../record/record.ts";

/** An answer to one thing that waits in a thread. `by`: who gives it. */
export type Answer =
  | { readonly id: string; readonly response: unknown; readonly reason?: string; readonly by?: string }
  /** It will not be answered; with a text, for this reason. */
  | { readonly id: string; readonly decline: true | string; readonly by?: string };

/** How a call ended that a tool left to another system. */
export type CallResult =
  | { readonly toolCallId: string; readonly result: unknown }
  /** In place of a result: why there is none. */
  | { readonly toolCallId: string; readonly error: unknown };

/** What any process may send to a thread. */
export type Signal =
  /** Words for the turn that is under way, or for the next one. */
  | { readonly message: string | UserMessage["content"] | UserMessage }
  /** To what waits for a person. Several answers are one signal, and taken together. */
  | { readonly answer: Answer | readonly Answer[] }
  | { readonly result: CallResult | readonly CallResult[] }
  /** Ends the turn that is under way, as an AbortSignal would; with a text, for this reason. */
  | { readonly cancel: true | string };

/** A signal as it is stored. */
export type StoredSignal =
  | { readonly kind: "message"; readonly message: UserMessage }
  | { readonly kind: "answers"; readonly answers: readonly SignalPart[] }
  | { readonly kind: "cancel"; readonly reason: string | undefined };

export type SentSignal = StoredSignal & {
  readonly id: string;
  readonly sentAt: number;
};

const FORMS = "{ message }, { answer }, { result } or { cancel }";

/** What was handed to `send`, checked. `id` becomes the message's own. */
export function storedSignal(signal: Signal, id: string): StoredSignal {
  const given: unknown = signal;
  const names = isPlainObject(given) ? Object.keys(given) : [];
  if (names.length !== 1) {
    const found = isPlainObject(given) ? `{ ${names.join(", ")} }` : described(given);
    throw new TypeError(`send() takes one signal: ${FORMS}, not ${found}`);
  }
  if ("message" in signal) return { kind: "message", message: withId(asUserMessage(signal.message, "send()"), id) };
  if ("answer" in signal) return { kind: "answers", answers: listed("answer", signal.answer).map(answerPart) };
  if ("result" in signal) return { kind: "answers", answers: listed("result", signal.result).map(resultPart) };
  const { cancel } = signal;
  if (cancel === true || typeof cancel === "string")
    return { kind: "cancel", reason: cancel === true ? undefined : cancel };
  throw new TypeError(`send() takes one signal: ${FORMS}, not { ${names.join(", ")} }`);
}

function listed(name: string, value: unknown): readonly unknown[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (all.length > 0) return all;
  throw new TypeError(`send({ ${name} }): the list is empty: it answers nothing`);
}

function answerPart(given: unknown): SignalPart {
  const { by, reason, ...form } = isPlainObject(given) ? given : {};
  const { id, response, decline } = partsOf("answer", form, "{ id, response } or { id, decline }", [
    "response",
    "decline",
  ]);
  if (typeof id !== "string") throw new TypeError("send({ answer }): id must be that of something that waits");
  for (const [name, text] of Object.entries({ by, reason })) {
    if (text !== undefined && typeof text !== "string") throw new TypeError(`send({ answer }): ${name} must be a text`);
  }
  const who = typeof by === "string" ? { by } : {};
  const why = typeof reason === "string" ? { reason } : {};
  if (decline === undefined) return { id, value: response, ...who, ...why };
  if (decline === true) return { id, declined: true, ...who, ...why };
  if (typeof decline === "string") return { id, declined: true, ...who, reason: decline };
  throw new TypeError("send({ answer }): decline must be true, or the reason as a text");
}

function resultPart(given: unknown): SignalPart {
  const forms = "{ toolCallId, result } or { toolCallId, error }";
  const { toolCallId, result, error } = partsOf("result", given, forms, ["result", "error"]);
  if (typeof toolCallId !== "string") throw new TypeError("send({ result }): toolCallId must be that of a call");
  return error === undefined ? { toolCallId, value: result } : { toolCallId, error: reasonText(error) };
}

/** Exactly one of the two names must be there. */
function partsOf(
  name: string,
  given: unknown,
  forms: string,
  [one, other]: readonly [string, string],
): Readonly<Record<string, unknown>> {
  const value = isPlainObject(given) ? given : {};
  const isOne = Object.hasOwn(value, one) !== Object.hasOwn(value, other);
  if (isOne && Object.keys(value).length === 2) return value;
  throw new TypeError(`send({ ${name} }) takes ${forms}, not ${described(given)}`);
}

const reasonText = (error: unknown): string =>
  typeof error === "string" ? error : error instanceof Error ? error.message : encodeText(error, "error");

export const factsOfSignal = ({ kind }: StoredSignal, id: string): SignalFacts => ({ id, kind });

/**
 * The body, as a change of a state would have it: what erases, seals and redacts states knows these lists. Refuses with
 * the path what cannot be stored.
 */
export function bodyOfSignal(signal: StoredSignal): Buffer {
  const append =
    signal.kind === "message"
      ? { messages: [signal.message] }
      : { signals: signal.kind === "answers" ? signal.answers : [reasonOf(signal)] };
  return Buffer.from(encodeText({ delta: { append } }, "signal"), "utf8");
}

const reasonOf = ({ reason }: { readonly reason: string | undefined }): SignalPart =>
  reason === undefined ? {} : { reason };

/** A signal from its record, whose bytes are verified. */
export function signalIn(record: LogRecord): SentSignal {
  const { signal, createdAt: sentAt } = openRecord(record);
  const text = Buffer.from(record.body.buffer, record.body.byteOffset, record.body.byteLength).toString("utf8");
  const { delta } = decodeText(text, `record ${record.seq}`) as {
    readonly delta?: {
      readonly append?: { readonly messages?: readonly UserMessage[]; readonly signals?: readonly SignalPart[] };
    };
  };
  const { messages, signals } = delta?.append ?? {};
  const [message] = messages ?? [];
  if (signal === undefined || (message ?? signals) === undefined) throw damaged(record);
  const { id, kind } = signal;
  if (kind === "message" && message !== undefined) return { id, sentAt, kind, message };
  if (kind === "answers" && signals !== undefined) return { id, sentAt, kind, answers: signals };
  if (kind === "cancel" && signals !== undefined) return { id, sentAt, kind, reason: signals[0]?.reason };
  throw damaged(record);
}

const damaged = ({ seq }: LogRecord): StateError =>
  new StateError("CORRUPT", `record ${seq} holds no signal that this version knows`, { location: `record ${seq}` });
