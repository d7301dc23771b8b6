import { expect } from "vitest";
import { collectAnswer } from "../../src/models/collect-answer.ts";
import type { ModelRequest } from "../../src/models/model.ts";
import { modelFromString } from "../../src/providers/strings.ts";
import { userMessage } from "../../src/state/message.ts";
import type { FakeAnswer } from "./fake-provider.ts";

export const greeting: ModelRequest = { messages: [userMessage("Hi")], tools: [] };
export const hello: FakeAnswer = { blocks: [{ type: "text", text: "Hello." }] };

/** What a model that is named by this string answers to a greeting. */
export async function saidBy(name: string, options: Parameters<typeof modelFromString>[1]): Promise<string> {
  const model = await modelFromString(name, options);
  expect(model.id).toBe(name);
  const { content } = await collectAnswer(model.stream(greeting));
  return typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : "")).join("");
}
