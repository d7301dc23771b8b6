import type { JsonSchema, ModelTool } from "../models/model.ts";
import type { ContentPart, Message } from "../state/message.ts";
import type { TokenCounter } from "./estimate-tokens.ts";

/** What a message costs besides its words: its role and its borders. */
const PER_MESSAGE = 4;
/** Providers scale an image down to about this. */
const IMAGE = 1_200;
const OTHER_FILE = 2_000;

/** Counts messages with a counter of texts. Messages do not change, so each is counted once. */
export class MessageTokens {
  readonly #count: TokenCounter;
  readonly #known = new WeakMap<Message, number>();
  readonly #schemas = new WeakMap<JsonSchema, number>();

  constructor(count: TokenCounter) {
    this.#count = count;
  }

  of(message: Message): number {
    const known = this.#known.get(message);
    if (known !== undefined) return known;
    const tokens = PER_MESSAGE + this.#ofContent(message.content) + this.#ofCalls(message);
    this.#known.set(message, tokens);
    return tokens;
  }

  ofAll(messages: readonly Message[]): number {
    let tokens = 0;
    for (const message of messages) tokens += this.of(message);
    return tokens;
  }

  ofTools(tools: readonly ModelTool[]): number {
    let tokens = 0;
    for (const { name, description = "", inputSchema } of tools) {
      tokens += PER_MESSAGE + this.#count(name) + this.#count(description) + this.#ofSchema(inputSchema);
    }
    return tokens;
  }

  #ofSchema(schema: JsonSchema): number {
    const known = this.#schemas.get(schema);
    if (known !== undefined) return known;
    const tokens = this.#count(JSON.stringify(schema));
    this.#schemas.set(schema, tokens);
    return tokens;
  }

  ofText(text: string): number {
    return this.#count(text);
  }

  #ofContent(content: Message["content"]): number {
    if (typeof content === "string") return this.#count(content);
    return content.reduce((sum, part) => sum + this.#ofPart(part), 0);
  }

  #ofPart(part: ContentPart): number {
    if (part.type !== "file") return this.#count(part.text);
    if (part.mediaType.startsWith("image/")) return IMAGE;
    if (part.mediaType.startsWith("text/") && part.data instanceof Uint8Array) return part.data.byteLength / 4;
    return OTHER_FILE;
  }

  #ofCalls(message: Message): number {
    if (message.role === "tool") return this.#count(message.toolName);
    if (message.role !== "assistant") return 0;
    let tokens = 0;
    for (const { name, arguments: input } of message.toolCalls ?? []) {
      tokens += PER_MESSAGE + this.#count(name) + this.#count(JSON.stringify(input) ?? "");
    }
    return tokens;
  }
}
