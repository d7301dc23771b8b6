/** The AI SDK's models, tools and page messages. */

export { type AiSdkToolLike, type AiSdkToolsOptions, aiSdkTools } from "../adapters/ai-sdk/ai-sdk-tools.ts";
export {
  type AiSdkMemoryTools,
  type AiSdkTool,
  aiSdkMemoryTools,
  type RememberInput,
} from "../adapters/ai-sdk/memory-tools.ts";
export {
  fromUIMessage,
  signalFromUIMessage,
  toUIMessages,
  type UIMessage,
  type UIPart,
} from "../agent/page/ui-messages.ts";
export type { NodeResponse, UIResponseOptions } from "../agent/page/ui-response.ts";
export { ToolFailure, type UIMessageChunk, type UIStreamOptions } from "../agent/page/ui-stream.ts";
export { type AiSdkModel, type AiSdkOptions, fromAiSdk, isAiSdkModel } from "../providers/ai-sdk/index.ts";
