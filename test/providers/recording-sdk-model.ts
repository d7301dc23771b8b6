import type { AiSdkModel } from "../../src/providers/ai-sdk/index.ts";

export interface SdkCall {
  readonly prompt: readonly { readonly role: string; readonly content: unknown; readonly providerOptions?: unknown }[];
  readonly [option: string]: unknown;
}

/** A language model of the given version that records what it is asked and streams the parts it was given. */
export function recordingSdkModel(
  specificationVersion: string,
  parts: readonly object[] = [],
  extras: Partial<AiSdkModel> = {},
): AiSdkModel & { readonly calls: readonly SdkCall[] } {
  const calls: SdkCall[] = [];
  return {
    specificationVersion,
    provider: "acme.chat",
    modelId: "m1",
    supportedUrls: {},
    calls,
    async doStream(options: never) {
      calls.push(options);
      return { stream: streamOf(parts) };
    },
    ...extras,
  };
}

export const streamOf = (parts: readonly object[]): ReadableStream<unknown> =>
  new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
