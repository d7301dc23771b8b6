import type { MemoryContext, MemoryPort, RememberContext } from "../agent/ports.ts";
import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { invalid, isPlainObject, optionsOf } from "../driver/options.ts";
import { reasonOf, StateError } from "../errors.ts";
import { described } from "../internal/known-options.ts";
import { type Message, textOf } from "../state/message.ts";
import { unnamedPerson } from "../state/people/subjects.ts";
import type { BaseStore } from "../store/base-store.ts";
import type { Namespace } from "../store/driver/store-driver.ts";
import type { Verdict } from "./admission.ts";
import type { Explanation } from "./explain.ts";
import type { ExtractableMessage, Extractor } from "./extractor.ts";
import { normalized } from "./identity.ts";
import type { InBackground } from "./in-background.ts";
import type { Memory, Provenance } from "./memory.ts";
import { MemoryShelf } from "./memory-shelf.ts";
import type { Outcome } from "./merge-fact.ts";
import { type MemoryOwner, type OwnedPlace, ownedPlace, peopleIn, requiredPlace } from "./owner.ts";
import type { ReadingPosition } from "./reading-position.ts";
import type { HalfLives } from "./worth.ts";

/** What recalling and remembering need. Loaded with the first of them. */
const remembering = new OpenOnce(() => import("./remembering.ts"));

type Metadata = Readonly<Record<string, unknown>>;
type Place = Pick<RememberContext, "threadId" | "checkpointId">;

/** What became of each thing that an extractor found. */
export interface MemoryDecision {
  readonly found: unknown;
  readonly outcome: Outcome | "full" | "pending" | "refused";
  readonly reason: string;
}

export interface CoreMemoryOptions {
  readonly store: BaseStore;
  readonly extractor: Extractor;
  /** How long one call of the extractor may take. */
  readonly extractTimeoutMs: number;
  /** Below it each person and each thread has a place of its own. */
  readonly prefixOf: (metadata: Metadata) => Namespace;
  readonly maxMemories: number;
  readonly retrieveLimit: number;
  readonly review: boolean;
  readonly halfLives: HalfLives;
  readonly now: () => number;
  readonly onDecision: (decision: MemoryDecision) => void;
  /**
   * Where remembering continues after the run has returned; absent where the run waits
   * for it.
   */
  readonly background: InBackground | undefined;
}

/** Whose memories are meant: a person's, or one thread's. */
export interface MemoriesOf extends MemoryOwner {
  /** For a `namespacePrefix` that is a function of a run's metadata. */
  readonly metadata?: Metadata;
}

/** So much of a message is looked for. A page that was pasted is not a question, and embedding models read no more. */
const LONGEST_QUERY = 2_000;

/** As many of the known facts are shown to an extractor: those that were touched last. */
const MOST_KNOWN = 60;

/** An agent calls these; a caller by hand passes what an agent does. */
function assertContext(method: string, context: MemoryContext): void {
  if (Array.isArray(context?.state?.messages)) return;
  throw new TypeError(
    `${method} takes what an agent hands it: { state, subject, threadId, metadata }. By words, retrieve("words", { subject }) looks for memories`,
  );
}

/** What an agent remembers of a person across threads. `LLMMemoryManager` adds names of models and defaults. */
export class CoreMemory implements MemoryPort {
  readonly #options: CoreMemoryOptions;

  constructor(options: CoreMemoryOptions) {
    this.#options = options;
  }

  /** The memories of a person, or of one thread: to look at, to decide about and to forget. */
  of(whose: MemoriesOf): MemoryShelf {
    if (!isPlainObject(whose)) {
      throw invalid(`of() takes whose memories are meant, such as { subject: "user-42" }, not ${described(whose)}`);
    }
    const misnamed = whose.subject === undefined ? unnamedPerson({ ...whose }) : undefined;
    if (misnamed !== undefined) throw invalid(`of(): a person is named by subject, not by ${misnamed}`);
    const { metadata = {}, ...owner } = optionsOf("of", whose, { subject: true, threadId: true, metadata: true });
    return this.#shelfAt(requiredPlace("of()", this.#options.prefixOf(metadata), owner));
  }

  #shelfAt({ namespace, metadata }: OwnedPlace): MemoryShelf {
    const { store, maxMemories, halfLives, now } = this.#options;
    return new MemoryShelf({ store, maxMemories, halfLives, now, namespace, metadata });
  }

  /** One message for the model with the memories that its user's newest message needs; nothing where there are none. */
  async recall(context: MemoryContext): Promise<readonly Message[]> {
    assertContext("recall()", context);
    const { state, subject, threadId, metadata, signal } = context;
    // Nothing can be remembered of a run that is about no one and kept in no thread.
    if (peopleIn(subject).length === 0 && threadId === undefined) return [];
    const asked = state.messages.findLast(({ role }) => role === "user");
    const query = asked === undefined ? "" : textOf(asked).trim().slice(0, LONGEST_QUERY);
    if (query === "") return [];
    const memories = await this.retrieve(query, { subject, threadId, metadata, signal });
    return memories.length === 0 ? [] : [(await remembering.get()).recalledBlock(memories)];
  }

  /** What is recalled for a text: pinned memories, related ones, and the user's preferences for answers. */
  async retrieve(query: string, options: MemoriesOf & { readonly signal?: AbortSignal }): Promise<readonly Memory[]> {
    const names = { subject: true, threadId: true, metadata: true, signal: true } as const;
    const { metadata = {}, signal, ...owner } = optionsOf("retrieve", options, names);
    const { retrieveLimit, prefixOf } = this.#options;
    const shelf = this.#shelfAt(requiredPlace("retrieve()", prefixOf(metadata), owner));
    const [found, standing] = await Promise.all([shelf.search(query, retrieveLimit, signal), shelf.standing()]);
    // By what they say: the same words under two names are one note.
    const chosen = new Map<string, Memory>();
    for (const memory of [...standing.pinned, ...found, ...standing.feedback]) {
      const words = normalized(memory.text);
      if (chosen.size < retrieveLimit && !chosen.has(words)) chosen.set(words, memory);
    }
    return [...chosen.values()];
  }

  /** Takes facts out of what was said since the last time. Called after the answer is saved; it may fail and lose nothing. */
  async remember(context: RememberContext): Promise<void> {
    assertContext("remember()", context);
    const { background } = this.#options;
    if (background === undefined) return this.#remember(context);
    background.start(context.threadId ?? "", () => this.#remember(context));
  }

  /** Resolves when nothing is being remembered any more. With `background`, wait for it before the process ends. */
  async settled(): Promise<void> {
    await this.#options.background?.settled();
  }

  async #remember(context: RememberContext): Promise<void> {
    const { store, extractor, extractTimeoutMs, prefixOf } = this.#options;
    const { state, subject, threadId, metadata, signal, recalled } = context;
    const place = ownedPlace(prefixOf(metadata), { subject, threadId });
    if (place === undefined) return;
    const { extractable, extracted, ReadingPosition, recalledIds } = await remembering.get();
    const shelf = this.#shelfAt(place);
    await shelf.used(recalledIds(recalled));
    const position = new ReadingPosition(store, place, threadId);
    const from = await position.find(state.messages);
    const { batch, next } = extractable(state, from, peopleIn(subject));
    if (next === from) return;
    if (batch.some(({ role }) => role === "user")) {
      const memories = await shelf.list();
      const known = newest(memories).map(({ type, subject, attribute, value }) => ({
        type,
        subject,
        attribute,
        value,
      }));
      const count = async (error: unknown): Promise<never> => {
        throw (await position.failed(state.messages, from, next)) ? leftOut(error) : error;
      };
      const request = { messages: batch, known, signal };
      const found = await extracted(extractor, request, extractTimeoutMs).catch(async (error: unknown) => {
        if (signal.aborted) throw error;
        return count(error);
      });
      const [refusal] = await this.#decideAll(found, batch, shelf, context, position);
      if (refusal !== undefined) await count(refusal);
    }
    await position.moveTo(state.messages, next);
  }

  /** Each by itself: one that is refused costs no other. Gives the refusals. */
  async #decideAll(
    found: readonly unknown[],
    batch: readonly ExtractableMessage[],
    shelf: MemoryShelf,
    place: Place,
    position: ReadingPosition,
  ): Promise<readonly unknown[]> {
    const refusals: unknown[] = [];
    for (const fact of found) {
      // Said before the user had everything forgotten.
      if (await position.isForgotten()) break;
      try {
        await this.#decide(fact, batch, shelf, place);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        refusals.push(error);
      }
    }
    return refusals;
  }

  /** Puts one fact through the gate, as an extractor's facts are: for tools by which a model remembers by itself. */
  async consider(found: unknown, messages: readonly ExtractableMessage[], whose: MemoriesOf): Promise<MemoryDecision> {
    return this.#decide(found, messages, this.of(whose), { threadId: whose.threadId, checkpointId: undefined });
  }

  /** Why something is remembered. With a checkpointer, the message itself is looked up. */
  async explain(
    memoryId: string,
    options: MemoriesOf & { readonly checkpointer?: BaseCheckpointer },
  ): Promise<Explanation> {
    const names = { subject: true, threadId: true, metadata: true, checkpointer: true } as const;
    const { checkpointer, metadata = {}, ...owner } = optionsOf("explain", options, names);
    const place = requiredPlace("explain()", this.#options.prefixOf(metadata), owner);
    const memory = await this.#shelfAt(place).get(memoryId);
    if (memory === undefined) {
      throw new StateError("NOT_FOUND", `there is no memory ${JSON.stringify(memoryId)} of this owner`);
    }
    const { provenance, history } = memory;
    const { resolveProvenance } = await remembering.get();
    const message = checkpointer === undefined ? undefined : await resolveProvenance(provenance, checkpointer);
    return { memory, provenance, history, message };
  }

  async #decide(
    found: unknown,
    batch: readonly ExtractableMessage[],
    shelf: MemoryShelf,
    place: Place,
  ): Promise<MemoryDecision> {
    const { review, onDecision } = this.#options;
    const { admit } = await remembering.get();
    const verdict = admit(found, batch, review);
    const outcome = await this.#carryOut(verdict, shelf, place);
    const decision = { found, outcome, reason: verdict.reason };
    onDecision(decision);
    return decision;
  }

  async #carryOut(verdict: Verdict, shelf: MemoryShelf, place: Place): Promise<MemoryDecision["outcome"]> {
    if (verdict.decision === "refuse") return "refused";
    const provenance = this.#provenance(verdict, place);
    if (verdict.decision === "store") return shelf.keep(verdict.fact, provenance);
    await shelf.suggest(verdict.fact, provenance, verdict.reason);
    return "pending";
  }

  #provenance(
    { fact: { quote }, message, offset }: Exclude<Verdict, { decision: "refuse" }>,
    place: Place,
  ): Provenance {
    const { index, id, role } = message;
    return {
      threadId: place.threadId ?? null,
      checkpointId: place.checkpointId ?? null,
      message: { index, role, offset, ...(id !== undefined && { id }) },
      quote,
      extractor: this.#options.extractor.name,
      at: this.#options.now(),
    };
  }
}

const newest = (memories: readonly Memory[]): readonly Memory[] =>
  memories
    .filter(({ status }) => status === "active")
    .toSorted((a, b) => b.lastSeen.at - a.lastSeen.at)
    .slice(0, MOST_KNOWN);

/** Whether it comes of the fact itself, and would come again. What comes of the storage passes. */
const isRefusal = (error: unknown): boolean =>
  !StateError.is(error) || ["INVALID_ARGUMENT", "TOO_LARGE", "MODEL_FAILED"].includes(error.code);

const leftOut = (cause: unknown): StateError =>
  new StateError(
    "MODEL_FAILED",
    `some messages could not be read for memories, for the third time, and are left out from now on: ${reasonOf(cause)}`,
    { cause },
  );
