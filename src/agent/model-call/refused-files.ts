import { createHash } from "node:crypto";
import { StateError } from "../../errors.ts";
import type { ModelError } from "../../models/model-error.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { ContentPart, FilePart, Message } from "../../state/message.ts";
import { isRepairRequest } from "../run/turn-number.ts";

/**
 * A provider refuses a whole conversation because of one file in it: of a kind
 * that it does not take, too large, at an address that it cannot reach. The run
 * that brings such a file fails and says so. Later ones must not fail for ever:
 * they leave it out, tell the model that something was there, and the thread
 * remembers which files this model did not take.
 */

/** Under which the state keeps, by model, the digests of files that were refused. */
const KEY = "holdfast.refusedFiles";

type Refused = Readonly<Record<string, readonly string[]>>;

const refusedIn = ({ providerState }: AgentState): Refused => (providerState[KEY] ?? {}) as Refused;

/** The conversation without the files that this model is known to refuse. */
export function withoutRefusedFiles(
  messages: readonly Message[],
  state: AgentState,
  model: string,
): readonly Message[] {
  const refused = refusedIn(state);
  const known = Object.hasOwn(refused, model) ? (refused[model] ?? []) : [];
  return known.length === 0 ? messages : withoutFiles(messages, new Set(known));
}

export function rememberRefused(state: AgentState, model: string, digests: ReadonlySet<string>): AgentState {
  const refused = refusedIn(state);
  const known = Object.hasOwn(refused, model) ? (refused[model] ?? []) : [];
  return state.withProviderState({ [KEY]: { ...refused, [model]: [...new Set([...known, ...digests])] } });
}

/** Statuses that say something of the request itself; a failure without a status may do so too. */
const ABOUT_THE_REQUEST: ReadonlySet<number | undefined> = new Set([undefined, 400, 413, 415, 422]);

export const isAboutTheRequest = (error: unknown): boolean =>
  StateError.is(error, "MODEL_FAILED") && !error.retryable && ABOUT_THE_REQUEST.has((error as ModelError).status);

/**
 * What may be left out for a second and a third attempt: files of turns that were never
 * answered, which are under suspicion, then all of them. Never those of the user's
 * newest message: a user who has just attached a file is told instead.
 */
export function filesToLeaveOut(messages: readonly Message[]): readonly ReadonlySet<string>[] {
  const newest = messages.findLastIndex((message) => message.role === "user" && !isRepairRequest(message));
  const all = new Set<string>();
  const unanswered = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (index === newest) continue;
    const isAnswered = messages[index + 1]?.role !== "user";
    for (const file of filesIn(message)) {
      all.add(digestOf(file));
      if (message.role === "user" && !isAnswered) unanswered.add(digestOf(file));
    }
  }
  return [unanswered, all].filter(
    (digests, index) => digests.size > 0 && (index === 0 || digests.size > unanswered.size),
  );
}

export function withoutFiles(messages: readonly Message[], digests: ReadonlySet<string>): readonly Message[] {
  const isLeftOut = (part: ContentPart): part is FilePart => part.type === "file" && digests.has(digestOf(part));
  return messages.map((message) => {
    if (typeof message.content === "string" || !message.content.some(isLeftOut)) return message;
    return { ...message, content: message.content.map((part) => (isLeftOut(part) ? noteOf(part) : part)) } as Message;
  });
}

const filesIn = ({ content }: Message): readonly FilePart[] =>
  typeof content === "string" ? [] : content.filter((part) => part.type === "file");

const noteOf = ({ mediaType, filename }: FilePart): ContentPart => ({
  type: "text",
  text: `[A file was here (${filename === undefined ? mediaType : `${filename}, ${mediaType}`}). It could not be sent to you.]`,
});

/** Parts do not change, and a file may be large: each is read once. */
const digests = new WeakMap<FilePart, string>();

function digestOf(part: FilePart): string {
  const known = digests.get(part);
  if (known !== undefined) return known;
  const { mediaType, data } = part;
  const hash = createHash("sha256").update(`${mediaType}\n`);
  const digest = hash
    .update(data instanceof Uint8Array ? data : data.url)
    .digest("hex")
    .slice(0, 32);
  digests.set(part, digest);
  return digest;
}
