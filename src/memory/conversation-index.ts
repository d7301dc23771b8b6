import { type Message, textOf } from "../state/message.ts";
import { BaseStore } from "../store/base-store.ts";
import { assertNamespace } from "../store/namespaces.ts";
import type { Namespace } from "../store/store-driver.ts";
import { digest } from "./identity.ts";

/** Something that was said, as it is indexed. */
export interface SpokenLine {
  readonly speaker: string;
  readonly text: string;
}

export interface FoundLine extends SpokenLine {
  readonly threadId: string;
  /** Its place in the thread. */
  readonly index: number;
  readonly score: number;
}

interface StoredLine extends SpokenLine {
  readonly threadId: string;
  readonly index: number;
}

const PER_BATCH = 100;

/**
 * What was said in conversations, found by words and, with a store that has an
 * embedder, by meaning. Each line is indexed with who said it and, at less
 * weight, with the lines around it: an answer such as "In May, with my brother."
 * is found by the question that it answers. Adding the same lines again changes nothing.
 */
export class ConversationIndex {
  readonly #store: BaseStore;
  readonly #namespace: Namespace;

  constructor(options: { readonly store: BaseStore; readonly namespace: Namespace }) {
    const { store, namespace } = options ?? {};
    if (!BaseStore.is(store)) throw new TypeError("new ConversationIndex({ store, namespace }): store must be a store");
    assertNamespace(namespace);
    this.#store = store;
    this.#namespace = namespace;
  }

  /**
   * Adds the lines of a thread from `from` on. Give the whole thread: the line
   * before the first new one is indexed again, because it has a neighbour now.
   */
  async add(
    threadId: string,
    lines: readonly SpokenLine[],
    { from = 0 }: { readonly from?: number } = {},
  ): Promise<void> {
    const entries = lines.flatMap(({ speaker, text }, index) => {
      if (index < from - 1 || text.trim() === "") return [];
      const value: StoredLine = { threadId, index, speaker, text };
      return [
        {
          namespace: this.#placeOf(threadId),
          key: String(index).padStart(9, "0"),
          value,
          index: {
            text,
            label: speaker,
            ...around("before", lines[index - 1]),
            ...around("after", lines[index + 1]),
          },
        },
      ];
    });
    for (let at = 0; at < entries.length; at += PER_BATCH)
      await this.#store.putBatch(entries.slice(at, at + PER_BATCH));
  }

  /** What was said about something, best first; in one thread, or in all. */
  async search(
    query: string,
    { limit = 10, threadId, mode, textWeight, signal }: ConversationSearchOptions = {},
  ): Promise<readonly FoundLine[]> {
    const place = threadId === undefined ? this.#namespace : this.#placeOf(threadId);
    const hits = await this.#store.search<StoredLine>(place, {
      query,
      limit,
      ...(mode !== undefined && { mode }),
      ...(textWeight !== undefined && { textWeight }),
      ...(signal !== undefined && { signal }),
    });
    return hits.map(({ value, score = 0 }) => ({ ...value, score }));
  }

  /** Removes everything of a thread. Says how many lines there were. */
  async remove(threadId: string): Promise<number> {
    return this.#store.clearNamespace(this.#placeOf(threadId));
  }

  /** A thread's id may be longer than a segment. */
  #placeOf(threadId: string): Namespace {
    return [...this.#namespace, digest(threadId)];
  }
}

export interface ConversationSearchOptions {
  /** @default 10 */
  readonly limit?: number;
  readonly threadId?: string;
  /** @default "hybrid" where the store has an embedder, else "text" */
  readonly mode?: "text" | "semantic" | "hybrid";
  /** How much words count in a hybrid search. @default the store's */
  readonly textWeight?: number;
  readonly signal?: AbortSignal;
}

/** What the user and the model said to each other, in their places; everything else as an empty line. */
export const spokenLines = (messages: readonly Message[]): readonly SpokenLine[] =>
  messages.map((message) => {
    const isSaid = message.role === "user" || message.role === "assistant";
    const speaker = message.role === "user" ? (message.name ?? "user") : message.role;
    return { speaker, text: isSaid ? textOf(message) : "" };
  });

const around = (name: "before" | "after", line: SpokenLine | undefined): Readonly<Record<string, string>> =>
  line === undefined || line.text.trim() === "" ? {} : { [name]: `${line.speaker} ${line.text}` };
