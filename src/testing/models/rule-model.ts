import { type Model, type ModelPart, type ModelRequest, type ModelTool, NO_USAGE } from "../../models/model.ts";
import { type Message, type ToolMessage, textOf } from "../../state/message.ts";
import { searchWords } from "../../state/words.ts";
import { paced, type ScriptedToolCall, textParts, toolCallParts } from "./stream-words.ts";

export interface Rule {
  /** Matched against the user's last message, or asked about the whole request. The first rule that fits is taken. */
  readonly when: RegExp | ((scene: RuleScene) => boolean);
  /** Made once a turn; the answer follows when their results are there. */
  readonly toolCalls?: readonly ScriptedToolCall[] | ((scene: RuleScene) => readonly ScriptedToolCall[]);
  readonly answer?: string | ((scene: RuleScene) => string);
}

/** What a rule can look at. */
export interface RuleScene {
  readonly request: ModelRequest;
  /** The user's last message. */
  readonly prompt: string;
  /** What the rule's expression caught. */
  readonly match: RegExpExecArray | undefined;
  /** What the user said before, oldest first: also in another process, days ago. */
  readonly earlier: readonly string[];
  /** Results of this turn's tool calls. */
  readonly results: readonly { readonly toolName: string; readonly text: string; readonly isError: boolean }[];
  readonly tools: readonly ModelTool[];
  /** The earlier message that has most words in common with `about` (the prompt, if left out); the newest if there is no such message. */
  recall(about?: string): string | undefined;
}

export interface RuleModelOptions {
  readonly id?: string;
  /** Said when no rule fits. */
  readonly otherwise?: (scene: RuleScene) => string;
  /** Between words, to look at a stream. @default 0 */
  readonly delayMs?: number;
}

/** A model of a few rules, for demos that need neither a key nor a network. The same request, the same answer. */
export function ruleModel(rules: readonly Rule[], options: RuleModelOptions = {}): Model {
  const { id = "rules", otherwise = recallOnly, delayMs = 0 } = options;
  return {
    id,
    stream: (request) => paced(respond(rules, otherwise, request), request, delayMs),
  };
}

function* respond(
  rules: readonly Rule[],
  otherwise: (scene: RuleScene) => string,
  request: ModelRequest,
): Generator<ModelPart, void, undefined> {
  const scene = sceneOf(request);
  for (const rule of rules) {
    const match = rule.when instanceof RegExp ? scene.prompt.match(rule.when) : undefined;
    if (rule.when instanceof RegExp ? match === null : !rule.when(scene)) continue;
    const matched = { ...scene, match: (match ?? undefined) as RegExpExecArray | undefined };
    const calls = typeof rule.toolCalls === "function" ? rule.toolCalls(matched) : (rule.toolCalls ?? []);
    if (calls.length > 0 && scene.results.length === 0) return yield* calling(calls, request);
    const { answer } = rule;
    if (answer !== undefined) return yield* saying(typeof answer === "string" ? answer : answer(matched), request);
  }
  yield* saying(otherwise(scene), request);
}

function sceneOf(request: ModelRequest): RuleScene {
  const { messages, tools } = request;
  const turn = messages.findLastIndex((message) => message.role === "user");
  const prompt = turn === -1 ? "" : textOf(messages[turn] as Message);
  const earlier = messages
    .slice(0, Math.max(0, turn))
    .filter((message) => message.role === "user")
    .map(textOf);
  const results = messages
    .slice(turn + 1)
    .filter((message): message is ToolMessage => message.role === "tool")
    .map((message) => ({ toolName: message.toolName, text: textOf(message), isError: message.isError ?? false }));
  return {
    request,
    prompt,
    match: undefined,
    earlier,
    results,
    tools,
    recall: (about = prompt) => recalled(earlier, about),
  };
}

function recalled(earlier: readonly string[], about: string): string | undefined {
  const wanted = new Set(searchWords(about).filter((word) => word.length > 3));
  const shared = earlier.map((text) => new Set(searchWords(text).filter((word) => wanted.has(word))).size);
  const best = Math.max(0, ...shared);
  return earlier[shared.lastIndexOf(best)];
}

function recallOnly({ recall, results }: RuleScene): string {
  if (results.length > 0) return results.map(({ toolName, text }) => `${toolName}: ${text}`).join("\n");
  const before = recall();
  return before === undefined ? "I have no rule for that." : `I have no rule for that. You told me before: "${before}"`;
}

function* calling(calls: readonly ScriptedToolCall[], request: ModelRequest): Generator<ModelPart, void, undefined> {
  yield* toolCallParts(calls, request);
  yield { type: "finish", reason: "tool-calls", usage: usageOf(request, calls.length * 8) };
}

function* saying(text: string, request: ModelRequest): Generator<ModelPart, void, undefined> {
  yield* textParts("text-delta", text, 0);
  yield { type: "finish", reason: "stop", usage: usageOf(request, searchWords(text).length) };
}

/** Words for tokens: enough to see totals grow. */
function usageOf({ messages }: ModelRequest, outputTokens: number): typeof NO_USAGE {
  const inputTokens = messages.reduce((sum, message) => sum + searchWords(textOf(message)).length, 0);
  return { ...NO_USAGE, inputTokens, outputTokens };
}
