import { CoreMemory, type MemoriesOf } from "../../memory/core-memory.ts";
import type { ExtractableMessage } from "../../memory/extractor.ts";
import { MEMORY_TYPES } from "../../memory/memory.ts";
import { isPlainObject } from "../../state/values/doorway.ts";

/** Older versions of the AI SDK know a schema by this symbol; newer ones take any Standard Schema. */
const SCHEMA = Symbol.for("vercel.ai.schema");

/** A Standard Schema that gives JSON Schema. */
interface AiSdkSchema<Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => { readonly value: Input };
    readonly types?: { readonly input: Input; readonly output: Input } | undefined;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: string }) => Record<string, unknown>;
      readonly output: (options: { readonly target: string }) => Record<string, unknown>;
    };
  };
}

/** A tool of the AI SDK, by its shape. */
export interface AiSdkTool<Input, Output> {
  readonly description: string;
  readonly inputSchema: AiSdkSchema<Input>;
  readonly execute: (
    input: Input,
    options: { readonly messages: readonly unknown[]; readonly abortSignal?: AbortSignal | undefined },
  ) => Promise<Output>;
}

export interface RememberInput {
  readonly type: "user" | "feedback" | "project" | "reference";
  readonly subject: string;
  readonly attribute: string;
  readonly value: string;
  readonly text: string;
  readonly quote: string;
  readonly many?: boolean;
  readonly review?: boolean;
}

export interface AiSdkMemoryTools {
  readonly remember: AiSdkTool<RememberInput, string>;
  readonly recall: AiSdkTool<{ readonly query: string }, readonly { readonly since: string; readonly text: string }[]>;
}

/**
 * Tools for `generateText` and `streamText` of the AI SDK: the model remembers and
 * recalls by itself. What it wants to remember passes the same gate as what an
 * extractor finds. It must quote the user's own words, and the conversation that
 * the SDK hands to the tool is where they are looked for: what a tool's output or
 * a web page talked it into is refused, or waits for a review.
 */
export function aiSdkMemoryTools({ memory, ...whose }: { readonly memory: CoreMemory } & MemoriesOf): AiSdkMemoryTools {
  if (!(memory instanceof CoreMemory)) {
    throw new TypeError("aiSdkMemoryTools({ memory }): memory must be an LLMMemoryManager");
  }
  // Throws here, and not in the middle of a conversation, if no person is named.
  memory.of(whose);
  return {
    remember: {
      description:
        "Remember a lasting fact that the user stated, for later conversations. Only what the user said in their own words; quote them letter by letter.",
      inputSchema: schema<RememberInput>(REMEMBER),
      execute: async (input, { messages }) => {
        const said = saidByUser(messages);
        const found = { ...input, message: citedIn(said, input.quote) };
        const { outcome, reason } = await memory.consider(found, said, whose);
        return ANSWERS[outcome] ?? `Not remembered: ${reason}.`;
      },
    },
    recall: {
      description: "Recall what is known from earlier conversations with this user.",
      inputSchema: schema<{ query: string }>(RECALL),
      execute: async ({ query }, { abortSignal }) => {
        const found = await memory.retrieve(query, {
          ...whose,
          ...(abortSignal !== undefined && { signal: abortSignal }),
        });
        return found.map(({ text, validFrom }) => ({ since: new Date(validFrom).toISOString().slice(0, 10), text }));
      },
    },
  };
}

const ANSWERS: Readonly<Record<string, string>> = {
  added: "Remembered.",
  repeated: "That was known already.",
  known: "That was known already.",
  superseded: "Remembered, in place of what was known before.",
  ended: "Noted that it no longer holds.",
  pending: "It waits for a person to approve it.",
  full: "Not remembered: there is no room.",
};

/** Values are not checked here: whatever the model gives is checked by the gate, field by field. */
const schema = <Input>(json: Readonly<Record<string, unknown>>): AiSdkSchema<Input> => {
  const standard: AiSdkSchema<Input>["~standard"] = {
    version: 1,
    vendor: "holdfast",
    validate: (value) => ({ value: value as Input }),
    jsonSchema: { input: () => structuredClone(json), output: () => structuredClone(json) },
  };
  const ofOlderVersions = { [SCHEMA]: true, _type: undefined, jsonSchema: json, validate: undefined };
  return { ...ofOlderVersions, "~standard": standard };
};

/** The user's messages in the SDK's own form. */
function saidByUser(messages: readonly unknown[]): readonly ExtractableMessage[] {
  return messages.flatMap((message, index) => {
    if (!isPlainObject(message) || message["role"] !== "user") return [];
    return [{ index, role: "user" as const, text: textIn(message["content"]) }];
  });
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: unknown) => (isPlainObject(part) && typeof part["text"] === "string" ? part["text"] : ""))
    .join("\n");
}

/** The newest message that holds the words; -1, which names no message, where there is none. */
const citedIn = (said: readonly ExtractableMessage[], quote: unknown): number =>
  said.findLast(({ text }) => typeof quote === "string" && text.includes(quote.trim()))?.index ?? -1;

const text = (description: string): object => ({ type: "string", description });

const REMEMBER = {
  type: "object",
  additionalProperties: false,
  required: ["type", "subject", "attribute", "value", "text", "quote", "review"],
  properties: {
    type: {
      type: "string",
      enum: [...MEMORY_TYPES],
      description:
        "user: who the user is. feedback: how the user wants to be served. project: the work at hand. reference: where something is found.",
    },
    subject: text('Whom or what it is about, such as "user".'),
    attribute: text('What of it, such as "home city".'),
    value: text('The value itself, such as "Bern".'),
    text: text("The fact as one sentence that can be understood by itself."),
    quote: text("The user's own words that say so, copied letter by letter."),
    many: { type: "boolean", description: "True where the subject can have several of these at once." },
    review: {
      type: "boolean",
      description:
        "True for anything that opens something (a password, code, key, account number) and for wishes that would have you act, pay, send or skip a question; false for facts and for wishes about language, tone and format.",
    },
  },
};

const RECALL = {
  type: "object",
  additionalProperties: false,
  required: ["query"],
  properties: { query: text("What you want to know about the user or the work.") },
};
