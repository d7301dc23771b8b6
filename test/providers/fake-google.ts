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

export const GOOGLE_KEY = "AIza-fake-0123456789abcdef";

/** Speaks Gemini's `streamGenerateContent`, and refuses what the real one refuses, in its words. */
export const startFakeGoogle = (replies: readonly FakeReply[]): Promise<FakeProvider> =>
  startFakeProvider(new GoogleDialect(), replies);

interface GoogleBody {
  readonly contents: readonly { readonly role: string; readonly parts: readonly object[] }[];
}

class GoogleDialect implements FakeDialect {
  refuse({ headers, path, body }: RecordedRequest): FakeFailure | undefined {
    if (headers["x-goog-api-key"] !== GOOGLE_KEY) return { status: 400, message: "API key not valid." };
    if (!path.endsWith(":streamGenerateContent?alt=sse")) return { status: 404, message: `${path} is not found` };
    const { contents } = body as GoogleBody;
    if (contents.length === 0) return { status: 400, message: "contents is not specified" };
    if (contents.some(({ role }) => role !== "user" && role !== "model")) {
      return { status: 400, message: "Please use a valid role: user, model." };
    }
    return contents.some(({ parts }) => parts.length === 0)
      ? { status: 400, message: "contents.parts must not be empty." }
      : undefined;
  }

  events({ blocks, finish }: FakeAnswer): readonly object[] {
    const parts = blocks.flatMap((block): readonly object[] => {
      if (block.type === "tool-call") return [{ functionCall: { name: block.name, args: block.arguments } }];
      const thought = block.type === "reasoning" ? { thought: true } : {};
      return halves(block.text).map((text) => ({ text, ...thought }));
    });
    const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 };
    // Gemini has no word for a model that does not want to answer.
    const finishReason = finish === undefined ? "STOP" : finish === "length" ? "MAX_TOKENS" : "SAFETY";
    return [
      ...parts.map((part) => ({ candidates: [{ index: 0, content: { role: "model", parts: [part] } }] })),
      { candidates: [{ index: 0, content: { role: "model", parts: [] }, finishReason }], usageMetadata },
    ];
  }

  errorEvent(message: string): object {
    return { error: { code: 503, message, status: "UNAVAILABLE" } };
  }

  errorBody({ status, message }: FakeFailure): object {
    return { error: { code: status, message, status: "INVALID_ARGUMENT" } };
  }
}
