import { OpenOnce } from "../../driver/open-once.ts";
import { assertKnownOptions, described } from "../../internal/known-options.ts";
import { type MemoryOwner, requiredPlace } from "../../memory/owner.ts";
import { BaseStore } from "../../store/base-store.ts";
import type { Namespace } from "../../store/driver/store-driver.ts";

export type MemoryCommand =
  | { readonly command: "view"; readonly path: string; readonly view_range?: readonly number[] }
  | { readonly command: "create"; readonly path: string; readonly file_text: string }
  | { readonly command: "str_replace"; readonly path: string; readonly old_str: string; readonly new_str: string }
  | { readonly command: "insert"; readonly path: string; readonly insert_line: number; readonly insert_text: string }
  | { readonly command: "delete"; readonly path: string }
  | { readonly command: "rename"; readonly old_path: string; readonly new_path: string };

export type Handler<Name extends MemoryCommand["command"]> = (
  command: Omit<Extract<MemoryCommand, { command: Name }>, "command">,
) => Promise<string>;

/** The handlers of Anthropic's memory tool: for `betaMemoryTool(handlers)` of its SDK, and `execute` for all others. */
export type AnthropicMemory = { readonly [Name in MemoryCommand["command"]]: Handler<Name> } & {
  /** `anthropic.tools.memory_20250818({ execute })` of the AI SDK, and LangChain's. */
  readonly execute: (command: MemoryCommand) => Promise<string>;
};

/** `subject` or `threadId` says whose files these are. */
export interface AnthropicMemoryOptions extends MemoryOwner {
  readonly store: BaseStore;
  /** Below it each person, and each thread, has files of their own. @default ["memory-files"] */
  readonly namespace?: Namespace;
  /** The longest file, in characters. @default 100000 */
  readonly maxFileChars?: number;
  /** @default 500 */
  readonly maxFiles?: number;
}

/**
 * Anthropic's memory tool (`memory_20250818`) on any store: the files that Claude
 * keeps under `/memories` are items of their owner's namespace. What the model did wrong is
 * an answer for the model, in the words that it was taught; trouble with the
 * storage is thrown.
 */
export function anthropicMemory(options: AnthropicMemoryOptions): AnthropicMemory {
  const where = "anthropicMemory()";
  assertKnownOptions(where, options, {
    store: "anything",
    namespace: "object",
    subject: ["string", "object"],
    threadId: "string",
    maxFileChars: "number",
    maxFiles: "number",
  });
  if (!BaseStore.is(options.store))
    throw new TypeError(`${where}: store must be a store, not ${described(options.store)}`);
  const place = requiredPlace(where, options.namespace ?? ["memory-files"], options);
  const files = new OpenOnce(async () => {
    const { MemoryFiles } = await import("./memory-commands.ts");
    return new MemoryFiles(options, place);
  });
  const handlers: Omit<AnthropicMemory, "execute"> = {
    view: async (command) => (await files.get()).view(command),
    create: async (command) => (await files.get()).create(command),
    str_replace: async (command) => (await files.get()).replace(command),
    insert: async (command) => (await files.get()).insert(command),
    delete: async (command) => (await files.get()).delete(command),
    rename: async (command) => (await files.get()).rename(command),
  };
  const known = new Map<string, (command: never) => Promise<string>>(Object.entries(handlers));
  return {
    ...handlers,
    execute: async (command) => {
      const handler = known.get(command.command);
      return handler === undefined ? `Error: Unknown command: ${String(command.command)}` : handler(command as never);
    },
  };
}
