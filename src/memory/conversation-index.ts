import { invalid } from "../driver/options.ts";
import type { AgentState } from "../state/agent-state.ts";
import { type Message, textOf } from "../state/message.ts";
import { assertSubjects, type Subjects, subjectsOfMessage } from "../state/people/subjects.ts";
import { BaseStore } from "../store/base-store.ts";
import { assertNamespace } from "../store/driver/namespaces.ts";
import type { Namespace } from "../store/driver/store-driver.ts";
import type { StoreFilter } from "../store/search/filter.ts";
import { digest } from "./identity.ts";
import { areSamePeople, peopleIn } from "./owner.ts";

/** Something that was said, as it is indexed. */
export interface SpokenLine {
  readonly speaker: string;
  readonly text: string;
  /** Who it is about. @default the index's `subject` */
  readonly subject?: Subjects;
}

export interface FoundLine extends Pick<SpokenLine, "speaker" | "text"> {
  readonly threadId: string;
  /** Its place in the thread. */
  readonly index: number;
  readonly score: number;
}

interface StoredLine extends Omit<FoundLine, "score"> {
  /** For filters: a member for each person, by a digest of the id. */
  readonly about: Readonly<Record<string, true>>;
}

const PER_BATCH = 100;

/**
 * What was said in conversations, found by words and, with a store that has an
 * embedder, by meaning. Each line is indexed with who said it and, at less
 * weight, with the lines around it: an answer such as "In May, with my brother."
 * is found by the question that it answers. Adding the same lines again changes nothing.
 *
 * Each line carries the people that it is about: so an erasure finds it, and one person's search finds nothing of another.
 */
export class ConversationIndex {
  readonly #store: BaseStore;
  readonly #namespace: Namespace;

  readonly #subject: Subjects | undefined;

  constructor(options: {
    readonly store: BaseStore;
    readonly namespace: Namespace;
    /** Who the lines are about that name no one, and whose are searched. */
    readonly subject?: Subjects;
  }) {
    const { store, namespace, subject } = options ?? {};
    if (!BaseStore.is(store)) throw new TypeError("new ConversationIndex({ store, namespace }): store must be a store");
    assertNamespace(namespace);
    this.#store = store;
    if (subject !== undefined) assertSubjects(subject);
    this.#namespace = namespace;
    this.#subject = subject;
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
    const people = lines.map(({ subject = this.#subject }) => peopleIn(subject));
    const entries = lines.flatMap(({ speaker, text }, index) => {
      if (index < from - 1 || text.trim() === "") return [];
      const about = people[index] ?? [];
      const value: StoredLine = { threadId, index, speaker, text, about: membersOf(about) };
      // Text about one person must not be found in a line about another, nor be left there when it is erased.
      const beside = (at: number): SpokenLine | undefined =>
        areSamePeople(people[at] ?? [], about) ? lines[at] : undefined;
      return [
        {
          namespace: this.#placeOf(threadId),
          key: String(index).padStart(9, "0"),
          value,
          metadata: about.length === 0 ? {} : { subject: about },
          index: {
            text,
            label: speaker,
            ...around("before", beside(index - 1)),
            ...around("after", beside(index + 1)),
          },
        },
      ];
    });
    for (let at = 0; at < entries.length; at += PER_BATCH)
      await this.#store.putBatch(entries.slice(at, at + PER_BATCH));
  }

  /** What was said about something, best first: of a person in all threads, or in one thread. */
  async search(
    query: string,
    { limit = 10, threadId, subject = this.#subject, mode, textWeight, signal }: ConversationSearchOptions = {},
  ): Promise<readonly FoundLine[]> {
    const people = peopleIn(subject);
    if (people.length === 0 && threadId === undefined) {
      throw invalid(
        "search() looks for what was said of a person, { subject }, or in one thread, { threadId }: name one",
      );
    }
    const place = threadId === undefined ? this.#namespace : this.#placeOf(threadId);
    const hits = await this.#store.search<StoredLine>(place, {
      query,
      limit,
      ...(people.length > 0 && { filter: aboutAll(people) }),
      ...(mode !== undefined && { mode }),
      ...(textWeight !== undefined && { textWeight }),
      ...(signal !== undefined && { signal }),
    });
    return hits.map(({ value: { about: _, ...line }, score = 0 }) => ({ ...line, score }));
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
  /** Whose lines: those that are about all of these people. @default the index's */
  readonly subject?: Subjects;
  /** @default "hybrid" where the store has an embedder, else "text" */
  readonly mode?: "text" | "semantic" | "hybrid";
  /** How much words count in a hybrid search. @default the store's */
  readonly textWeight?: number;
  readonly signal?: AbortSignal;
}

/** What the user and the model said to each other, in their places, and about whom; everything else as an empty line. */
export function spokenLines(
  said: readonly Message[] | Pick<AgentState, "messages" | "metadata">,
): readonly SpokenLine[] {
  const { messages, metadata } = "messages" in said ? said : { messages: said, metadata: {} };
  const ofThread = (metadata as { readonly subject?: unknown }).subject;
  return messages.map((message) => {
    const isSaid = message.role === "user" || message.role === "assistant";
    const speaker = message.role === "user" ? (message.name ?? "user") : message.role;
    const subject = peopleIn(subjectsOfMessage(message) ?? ofThread);
    return { speaker, text: isSaid ? textOf(message) : "", ...(subject.length > 0 && { subject }) };
  });
}

const aboutAll = (people: readonly string[]): StoreFilter =>
  Object.fromEntries(people.map((person) => [`about.${digest(person)}`, true]));

const membersOf = (people: readonly string[]): Readonly<Record<string, true>> =>
  Object.fromEntries(people.map((person) => [digest(person), true]));

const around = (name: "before" | "after", line: SpokenLine | undefined): Readonly<Record<string, string>> =>
  line === undefined || line.text.trim() === "" ? {} : { [name]: `${line.speaker} ${line.text}` };
