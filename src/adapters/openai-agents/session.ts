import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { guardedCheckpointer } from "../../checkpoint/guarded-checkpointer.ts";
import { mayBeThereAlready } from "../../checkpoint/thread/thread.ts";
import { StateError } from "../../errors.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import { AgentState } from "../../state/agent-state.ts";
import type { Message } from "../../state/message.ts";
import { canonicalJson } from "../../state/values/codec.ts";
import { isPlainObject } from "../../state/values/doorway.ts";
import { type AgentsItem, itemOf, messageOf } from "./items.ts";

/** A change that the SDK may ask for again after a failure: with the same `operationId` it is made once. */
export interface HistoryTransaction {
  readonly operationId: string;
  readonly transaction:
    | { readonly type: "append_items"; readonly items: readonly AgentsItem[] }
    | {
        readonly type: "replace_suffix";
        readonly expectedSuffix: readonly AgentsItem[];
        readonly replacement: readonly AgentsItem[];
      };
}

/** What `run(agent, input, { session })` of the OpenAI Agents SDK takes, by its shape. `Item` is its `AgentInputItem`. */
export interface OpenAIAgentsSession<Item = AgentsItem> {
  getSessionId(): Promise<string>;
  getItems(limit?: number): Promise<Item[]>;
  addItems(items: Item[]): Promise<void>;
  popItem(): Promise<Item | undefined>;
  clearSession(): Promise<void>;
  applyHistoryMutations(args: { mutations: { callId: string; replacement: Item }[] }): Promise<void>;
  applyHistoryTransaction(args: HistoryTransaction): Promise<void>;
}

/**
 * A session of the OpenAI Agents SDK on any checkpointer: every change is a
 * checkpoint of the thread, so that it has a history, forks and search. Two
 * processes that add at once lose nothing. `clearSession` empties the
 * conversation; what was said stays in the history of the thread until
 * `checkpointer.delete(threadId)` or `vacuum` removes it.
 */
export function openAIAgentsSession<Item = AgentsItem>(
  checkpointer: BaseCheckpointer,
  threadId: string,
): OpenAIAgentsSession<Item> {
  const guarded = guardedCheckpointer(checkpointer, "openAIAgentsSession(checkpointer, threadId)");
  if (typeof threadId !== "string" || threadId === "") {
    throw new TypeError("openAIAgentsSession(checkpointer, threadId) needs the id of a thread");
  }
  return new Session(guarded, threadId) as unknown as OpenAIAgentsSession<Item>;
}

/** Against other writers. Each attempt loads the thread again. */
const MOST_ATTEMPTS = 20;
/**
 * How many operations are remembered: a repetition comes soon after the first attempt.
 */
const MOST_OPERATIONS = 100;
const PROVIDER = "openai-agents";

class Session implements OpenAIAgentsSession {
  readonly #checkpointer: BaseCheckpointer;
  readonly #threadId: string;

  constructor(checkpointer: BaseCheckpointer, threadId: string) {
    this.#checkpointer = checkpointer;
    this.#threadId = threadId;
  }

  async getSessionId(): Promise<string> {
    return this.#threadId;
  }

  async getItems(limit?: number): Promise<AgentsItem[]> {
    const { messages } = await this.#load();
    if (limit === undefined) return messages.map(itemOf);
    return limit <= 0 ? [] : messages.slice(-limit).map(itemOf);
  }

  async addItems(items: readonly AgentsItem[]): Promise<void> {
    if (items.length === 0) return;
    const added = items.map(messageOf);
    await this.#change((state) => state.withMessages(added));
  }

  async popItem(): Promise<AgentsItem | undefined> {
    let popped: Message | undefined;
    await this.#change((state) => {
      popped = state.messages.at(-1);
      return popped === undefined ? state : state.withHistory(state.messages.slice(0, -1));
    });
    return popped === undefined ? undefined : itemOf(popped);
  }

  async clearSession(): Promise<void> {
    await this.#change((state) => (state.messages.length === 0 ? state : state.withHistory([])));
  }

  async applyHistoryMutations({
    mutations,
  }: {
    readonly mutations: readonly { readonly callId: string; readonly replacement: AgentsItem }[];
  }): Promise<void> {
    await this.#change((state) => {
      const replaced = state.messages.map((message) => {
        const { type, callId } = itemOf(message);
        const mutation = mutations.findLast((one) => type === "function_call" && one.callId === callId);
        return mutation === undefined ? message : messageOf(mutation.replacement);
      });
      return replaced.every((message, index) => message === state.messages[index])
        ? state
        : state.withHistory(replaced);
    });
  }

  async applyHistoryTransaction({ operationId, transaction }: HistoryTransaction): Promise<void> {
    const digest = nodeCrypto().createHash("sha256").update(canonicalJson(transaction)).digest("hex").slice(0, 32);
    await this.#change((state) => {
      const operations = operationsOf(state);
      const known = operations.find(([id]) => id === operationId);
      if (known !== undefined && known[1] !== digest) {
        throw new StateError("CONFLICT", `the operation ${JSON.stringify(operationId)} was another change before`);
      }
      if (known !== undefined) return state;
      const kept = [...operations, [operationId, digest] as const].slice(-MOST_OPERATIONS);
      return changed(state, transaction).withProviderState({ [PROVIDER]: { operations: kept } });
    });
  }

  async #load(): Promise<AgentState> {
    return (await this.#checkpointer.load(this.#threadId)) ?? AgentState.create();
  }

  /** Loads, changes and saves; again where another writer came in between. */
  async #change(change: (state: AgentState) => AgentState): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const state = await this.#load();
      const next = change(state);
      if (next === state) return;
      try {
        await this.#checkpointer.save(next, this.#threadId);
        return;
      } catch (error) {
        const isRefused = StateError.is(error, "CONFLICT") && !mayBeThereAlready(error);
        if (!isRefused || attempt >= MOST_ATTEMPTS) throw error;
      }
    }
  }
}

function changed(state: AgentState, transaction: HistoryTransaction["transaction"]): AgentState {
  if (transaction.type === "append_items") return state.withMessages(transaction.items.map(messageOf));
  const { expectedSuffix, replacement } = transaction;
  const start = state.messages.length - expectedSuffix.length;
  if (
    start < 0 ||
    !process.getBuiltinModule("node:util").isDeepStrictEqual(state.messages.slice(start).map(itemOf), expectedSuffix)
  ) {
    throw new StateError(
      "CONFLICT",
      "the end of the conversation is not what it is expected to be; nothing was changed",
    );
  }
  return state.withHistory([...state.messages.slice(0, start), ...replacement.map(messageOf)]);
}

function operationsOf(state: AgentState): readonly (readonly [string, string])[] {
  const kept: unknown = state.providerState[PROVIDER];
  const operations = isPlainObject(kept) ? kept["operations"] : undefined;
  return Array.isArray(operations) ? (operations as readonly (readonly [string, string])[]) : [];
}
