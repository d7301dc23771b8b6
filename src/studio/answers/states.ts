import { metadataOf } from "../../checkpoint/find/summary.ts";
import { openHeader } from "../../checkpoint/record/record.ts";
import { Refusal } from "../../server/request/refusal.ts";
import { isInDoubt } from "../../state/call-facts.ts";
import type { ToolExecution } from "../../state/fields.ts";
import { unansweredIn } from "../../state/pending.ts";
import { openCallsIn } from "../../state/tool-calls.ts";
import type {
  BytesAnswer,
  LedgerAnswer,
  LedgerRow,
  MessagesAnswer,
  PlacesAnswer,
  StateAnswer,
  TextAnswer,
  ValueAnswer,
} from "../api.ts";
import type { StudioRequest } from "../request.ts";
import type { SeenState } from "../state-cache.ts";
import type { StudioContext } from "../studio-context.ts";
import { fitting } from "./cut.ts";
import { timesOf } from "./message-times.ts";
import { isProblem, type SentAnswers, searchedText, shownExecution, shownMessage, shownQuestion } from "./messages.ts";
import { valueAnswer, valueAt } from "./value-tree.ts";

const seen = ({ states }: StudioContext, request: StudioRequest): Promise<SeenState> =>
  states.at(request.thread, request.checkpoint());

/** What was answered and waits for the thread's next run. A mailbox that cannot be read hides nothing else of the thread. */
async function sentTo({ checkpointer }: StudioContext, place: SeenState): Promise<SentAnswers> {
  if (!place.isNewest || unansweredIn(place.state).length === 0) return new Map();
  const signals = await checkpointer.signals(place.threadId).catch(() => []);
  const parts = signals.flatMap((signal) => (signal.kind === "answers" ? signal.answers : []));
  return new Map(parts.flatMap((part) => (part.id === undefined ? [] : [[part.id, part] as const])));
}

const PAGE_MESSAGES = 100;

export async function messagesAnswer(studio: StudioContext, request: StudioRequest): Promise<MessagesAnswer> {
  const place = await seen(studio, request);
  const { messages } = place.state;
  const total = messages.length;
  const count = request.count("count", 50, PAGE_MESSAGES);
  const from = Math.min(request.count("from", Math.max(0, total - count), total), total);
  const wanted = messages.slice(from, from + count);
  const sent = await sentTo(studio, place);
  const shown = fitting(wanted.map((message, at) => shownMessage(message, from + at, place.calls, sent)));
  const times = await timesOf(studio.context, place, from, shown.length);
  const timed = shown.map((each, at) => {
    const time = times[at];
    return time === undefined ? each : { ...each, at: time };
  });
  return { checkpointId: place.entry.checkpointId ?? "", total, from, messages: timed };
}

const MOST_PLACES = 5000;

export async function problemsAnswer(studio: StudioContext, request: StudioRequest): Promise<PlacesAnswer> {
  const { state, calls } = await seen(studio, request);
  return placesWhere(state.messages, (message) => isProblem(message, calls));
}

export async function findAnswer(studio: StudioContext, request: StudioRequest): Promise<PlacesAnswer> {
  const words = request.text("words")?.toLowerCase();
  if (words === undefined) return { places: [], more: false };
  const { state } = await seen(studio, request);
  return placesWhere(state.messages, (message) => searchedText(message).toLowerCase().includes(words));
}

function placesWhere<T>(list: readonly T[], test: (item: T) => boolean): PlacesAnswer {
  const places: number[] = [];
  for (const [index, item] of list.entries()) {
    if (!test(item)) continue;
    if (places.length === MOST_PLACES) return { places, more: true };
    places.push(index);
  }
  return { places, more: false };
}

/** In doubt, then waiting, then open, then the rest; of each the newest first. */
const urgency = ({ status }: ToolExecution): number =>
  status === "unknown" || status === "started"
    ? 0
    : status === "waiting" || status === "pending"
      ? 1
      : status === "intended"
        ? 2
        : 3;

export async function ledgerAnswer(studio: StudioContext, request: StudioRequest): Promise<LedgerAnswer> {
  const place = await seen(studio, request);
  const { state, calls, entry } = place;
  const sent = await sentTo(studio, place);
  const { toolExecutions } = state;
  const order = toolExecutions
    .map((execution, index) => ({ execution, index, urgency: urgency(execution) }))
    .sort((a, b) => a.urgency - b.urgency || b.index - a.index);
  const from = request.count("from", 0, 1_000_000);
  const shown = order.slice(from, from + request.count("count", 100, 100)).map(({ execution }) => execution);
  const asked = askedIn(state.messages, new Set(shown.map(({ toolCallId }) => toolCallId)));
  const rows = shown.map((execution): LedgerRow => {
    const [message, question] = [asked.get(execution.toolCallId), calls.question(execution.toolCallId)];
    return {
      ...shownExecution(execution),
      ...(message !== undefined && { message }),
      ...(question !== undefined && { question: shownQuestion(question, sent) }),
    };
  });
  return {
    checkpointId: entry.checkpointId ?? "",
    total: toolExecutions.length,
    inDoubt: toolExecutions.filter(isInDoubt).length,
    from,
    rows: fitting(rows),
  };
}

/** The positions of the messages that asked for these calls. */
function askedIn(messages: SeenState["state"]["messages"], wanted: ReadonlySet<string>): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (let index = messages.length - 1; index >= 0 && found.size < wanted.size; index--) {
    const message = messages[index];
    if (message?.role !== "assistant") continue;
    for (const { id } of message.toolCalls ?? []) if (wanted.has(id) && !found.has(id)) found.set(id, index);
  }
  return found;
}

export async function stateAnswer(studio: StudioContext, request: StudioRequest): Promise<StateAnswer> {
  const { state, entry, header, isNewest, threadId } = await seen(studio, request);
  return {
    threadId,
    checkpointId: entry.checkpointId ?? "",
    seq: entry.seq,
    at: header.createdAt,
    kind: header.kind === "base" ? "base" : "delta",
    format: header.format,
    schema: header.schema,
    writeId: entry.writeId,
    bytes: header.bodyBytes,
    chainRecords: header.chain.records,
    chainBytes: header.chain.bytes,
    isNewest,
    metadata: valueAnswer(metadataOf(entry), 0),
    fields: valueAnswer(state.fields, 0),
    totals: { ...state.totals },
    openCalls: openCallsIn(state).map(({ call: { id, name }, execution }) => ({
      id,
      name,
      isBegun: execution === undefined || execution.status === "started",
    })),
    waiting: openHeader(entry).standing?.waiting ?? 0,
  };
}

export async function memberAnswer(studio: StudioContext, request: StudioRequest): Promise<ValueAnswer> {
  const { state } = await seen(studio, request);
  return valueAnswer(valueAt(state.fields, request.path()), request.count("from", 0, 10_000_000));
}

const SLICE = 100_000;

/** A text whole, slice by slice. */
export async function textAnswer(studio: StudioContext, request: StudioRequest): Promise<TextAnswer> {
  const { state } = await seen(studio, request);
  const value = valueAt(state.fields, request.path());
  if (typeof value !== "string") throw new Refusal("INVALID_ARGUMENT", "there is no text at this path");
  const from = request.count("from", 0, value.length);
  // Escaped, a letter may take six bytes: a slice of 40,000 keeps to the limit whatever is in it.
  return { text: value.slice(from, from + SLICE / 2.5), from, length: value.length };
}

export async function bytesAnswer(studio: StudioContext, request: StudioRequest): Promise<BytesAnswer> {
  const { state } = await seen(studio, request);
  const value = valueAt(state.fields, request.path());
  if (!(value instanceof Uint8Array)) throw new Refusal("INVALID_ARGUMENT", "there are no bytes at this path");
  const from = request.count("from", 0, value.byteLength);
  return {
    base64: Buffer.from(value.slice(from, from + 1.5 * SLICE)).toString("base64"),
    from,
    length: value.byteLength,
  };
}
