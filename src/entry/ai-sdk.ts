/** The AI SDK's models, tools and page messages. */
export {
  type AiSdkMemoryTools,
  type AiSdkTool,
  aiSdkMemoryTools,
  type RememberInput,
} from "../adapters/ai-sdk/memory-tools.ts";
export { type AiSdkToolLike, type AiSdkToolsOptions, aiSdkTools } from "../agent/ai-sdk-tools.ts";
export { fromUIMessage, toUIMessages, type UIMessage, type UIPart } from "../agent/ui-messages.ts";
export type { UIResponseOptions } from "../agent/ui-response.ts";
export type { UIMessageChunk, UIStreamOptions } from "../agent/ui-stream.ts";
export { type AiSdkModel, type AiSdkOptions, fromAiSdk, isAiSdkModel } from "../providers/ai-sdk/index.ts";
