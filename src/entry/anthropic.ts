/** Anthropic's memory tool, on a store. */
export {
  type AnthropicMemory,
  type AnthropicMemoryOptions,
  anthropicMemory,
  type MemoryCommand,
} from "../adapters/anthropic/memory-files.ts";
