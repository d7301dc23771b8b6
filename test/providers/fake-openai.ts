import {
  type FakeAnswer,
  type FakeDialect,
  type FakeFailure,
  type FakeProvider,
  type FakeReply,
  halves,
  type RecordedRequest,
  startFakeProvider,
} from "./fake-provider.ts";
import { faultInOpenAIChatBody, type OpenAIChatBody } from "./wire-openai-chat.ts";
import {
  faultInOpenAIResponsesBody,
  type OpenAIInputItem,
  type OpenAIItemMemory,
  type OpenAIResponsesBody,
} from "./wire-openai-responses.ts";

export const OPENAI_KEY = "sk-fake-0123456789abcdef";

/** Speaks completions, chat completions and responses, streamed, and refuses what the real one refuses, in its words. */
export const startFakeOpenAI = (replies: readonly FakeReply[]): Promise<FakeProvider> =>
  startFakeProvider(new OpenAIDialect(), replies);

class OpenAIDialect implements FakeDialect {
  readonly #memory = new ItemMemory();

  refuse(request: RecordedRequest): FakeFailure | undefined {
    const key = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
    if (key !== OPENAI_KEY)
      return { status: 401, message: `Incorrect API key provided: ${key}.`, code: "invalid_api_key" };
    if (isCompletions(request)) return undefined;
    const fault = isResponses(request)
      ? faultInOpenAIResponsesBody(request.body as OpenAIResponsesBody, this.#memory)
      : faultInOpenAIChatBody(request.body as OpenAIChatBody);
    return fault === undefined ? undefined : { status: fault.status ?? 400, message: fault.message };
  }

  events(answer: FakeAnswer, request: RecordedRequest): readonly object[] {
    if (isCompletions(request)) return completionEvents(answer);
    if (!isResponses(request)) return chatEvents(answer);
    const { store } = request.body as OpenAIResponsesBody;
    const items = this.#memory.issue(answer, store !== false);
    return responsesEvents(items, answer.finish);
  }

  errorEvent(message: string): object {
    return {
      type: "error",
      sequence_number: 99,
      error: { type: "server_error", code: "server_error", message, param: null },
    };
  }

  errorBody({ message, code = "invalid_request_error" }: FakeFailure): object {
    return { error: { message, type: code, param: null, code } };
  }
}

const isResponses = ({ path }: RecordedRequest): boolean => path.endsWith("/responses");
const isCompletions = ({ path }: RecordedRequest): boolean =>
  path.endsWith("/completions") && !path.endsWith("/chat/completions");

/** Items that were given out: what may be referred to, and what reasoning led to. */
class ItemMemory implements OpenAIItemMemory {
  readonly #stored = new Map<string, OpenAIInputItem>();
  readonly #issued = new Map<string, { encrypted_content: string; next: OpenAIInputItem | undefined }>();
  #count = 0;

  stored(id: string): OpenAIInputItem | undefined {
    return this.#stored.get(id);
  }

  issued(id: string): { readonly encrypted_content: string; readonly next: OpenAIInputItem | undefined } | undefined {
    return this.#issued.get(id);
  }

  issue({ blocks }: FakeAnswer, store: boolean): readonly OpenAIInputItem[] {
    const items = blocks.map((block): OpenAIInputItem => {
      const number = ++this.#count;
      if (block.type === "tool-call") {
        const { id: call_id, name } = block;
        return { type: "function_call", id: `fc_${number}`, call_id, name, arguments: JSON.stringify(block.arguments) };
      }
      if (block.type === "text")
        return { type: "message", role: "assistant", id: `msg_${number}`, content: block.text };
      const sealed = Buffer.from(`sealed ${number} ${block.text} \u00e9\u{1f511}`).toString("base64");
      return { type: "reasoning", id: `rs_${number}`, encrypted_content: sealed, summary: block.text };
    });
    for (const [index, item] of items.entries()) {
      if (store) this.#stored.set(item.id ?? "", item);
      if (item.type !== "reasoning") continue;
      this.#issued.set(item.id ?? "", { encrypted_content: item.encrypted_content ?? "", next: items[index + 1] });
    }
    return items;
  }
}

function responsesEvents(items: readonly OpenAIInputItem[], finish: FakeAnswer["finish"]): readonly object[] {
  const events: object[] = [{ type: "response.created", response: { id: "resp_1", created_at: 1, model: "gpt-5" } }];
  for (const [output_index, item] of items.entries())
    events.push(...itemEvents(item, output_index, finish === "refusal"));
  const usage = {
    input_tokens: 100,
    output_tokens: 20,
    total_tokens: 120,
    input_tokens_details: { cached_tokens: 40 },
    output_tokens_details: { reasoning_tokens: 5 },
  };
  if (finish === undefined || finish === "refusal") {
    events.push({ type: "response.completed", response: { id: "resp_1", usage } });
  } else {
    const incomplete_details = { reason: finish === "length" ? "max_output_tokens" : "content_filter" };
    events.push({ type: "response.incomplete", response: { id: "resp_1", incomplete_details, usage } });
  }
  return events;
}

function itemEvents(item: OpenAIInputItem, output_index: number, isRefusal: boolean): readonly object[] {
  const { id: item_id, type } = item;
  const place = { item_id, output_index };
  const added = { type: "response.output_item.added", output_index };
  const done = { type: "response.output_item.done", output_index };
  if (type === "function_call") {
    return [
      { ...added, item: { ...item, arguments: "", status: "in_progress" } },
      ...halves(item.arguments ?? "").map((delta) => ({
        type: "response.function_call_arguments.delta",
        ...place,
        delta,
      })),
      { ...done, item: { ...item, status: "completed" } },
    ];
  }
  if (type === "message") {
    const text = String(item.content);
    if (isRefusal) return refusalEvents(item, output_index, text);
    const whole = { ...item, status: "completed", content: [{ type: "output_text", text, annotations: [] }] };
    return [
      { ...added, item: { ...item, content: [], status: "in_progress" } },
      ...halves(text).map((delta) => ({ type: "response.output_text.delta", ...place, content_index: 0, delta })),
      { ...done, item: whole },
    ];
  }
  const summary = String(item.summary);
  const at = { ...place, summary_index: 0 };
  const told = [
    { type: "response.reasoning_summary_part.added", ...at, part: { type: "summary_text", text: "" } },
    ...halves(summary).map((delta) => ({ type: "response.reasoning_summary_text.delta", ...at, delta })),
    { type: "response.reasoning_summary_part.done", ...at, part: { type: "summary_text", text: summary } },
  ];
  return [
    { ...added, item: { ...item, summary: [], encrypted_content: null } },
    ...(summary === "" ? [] : told),
    { ...done, item: { ...item, summary: summary === "" ? [] : [{ type: "summary_text", text: summary }] } },
  ];
}

/** A refusal is a part of its own kind, in the place of the words. */
function refusalEvents(item: OpenAIInputItem, output_index: number, refusal: string): readonly object[] {
  const place = { item_id: item.id, output_index, content_index: 0 };
  const content = [{ type: "refusal", refusal }];
  return [
    { type: "response.output_item.added", output_index, item: { ...item, content: [], status: "in_progress" } },
    ...halves(refusal).map((delta) => ({ type: "response.refusal.delta", ...place, delta })),
    { type: "response.refusal.done", ...place, refusal },
    { type: "response.output_item.done", output_index, item: { ...item, status: "completed", content } },
  ];
}

/** The oldest interface: words and why they end. It knows neither calls nor refusals. */
function completionEvents({ blocks, finish }: FakeAnswer): readonly object[] {
  const chunk = (text: string, finish_reason: string | null = null): object => ({
    id: "cmpl-1",
    object: "text_completion",
    created: 1,
    model: "gpt-3.5-turbo-instruct",
    choices: [{ index: 0, text, logprobs: null, finish_reason }],
  });
  const words = blocks.flatMap((block) => (block.type === "text" ? halves(block.text) : []));
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
  return [
    ...words.map((text) => chunk(text)),
    chunk("", finish === undefined ? "stop" : CHAT_FINISH[finish]),
    { id: "cmpl-1", object: "text_completion", created: 1, model: "gpt-3.5-turbo-instruct", choices: [], usage },
    { done: true },
  ];
}

const CHAT_FINISH = { length: "length", "content-filter": "content_filter", refusal: "stop" } as const;

function chatEvents({ blocks, finish }: FakeAnswer): readonly object[] {
  const chunk = (delta: object, finish_reason: string | null = null): object => ({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "gpt-4.1",
    choices: [{ index: 0, delta, finish_reason }],
  });
  const events: object[] = [chunk({ role: "assistant", content: "" })];
  let index = 0;
  for (const block of blocks) {
    if (block.type === "text") {
      for (const words of halves(block.text)) {
        events.push(chunk(finish === "refusal" ? { refusal: words } : { content: words }));
      }
    }
    if (block.type !== "tool-call") continue;
    const [first, second] = halves(JSON.stringify(block.arguments));
    const call = { index, id: block.id, type: "function", function: { name: block.name, arguments: first } };
    events.push(chunk({ tool_calls: [call] }), chunk({ tool_calls: [{ index, function: { arguments: second } }] }));
    index++;
  }
  const finished = index > 0 ? "tool_calls" : "stop";
  events.push(chunk({}, finish === undefined ? finished : CHAT_FINISH[finish]));
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 20,
    total_tokens: 120,
    prompt_tokens_details: { cached_tokens: 40 },
  };
  events.push({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "gpt-4.1", choices: [], usage });
  events.push({ done: true });
  return events;
}
