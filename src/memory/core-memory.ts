import type { MemoryContext, MemoryPort, RememberContext } from "../agent/ports.ts";
import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { invalid, isPlainObject, optionsOf } from "../driver/options.ts";
import { StateError } from "../errors.ts";
import { described } from "../internal/known-options.ts";
import { reasonOf } from "../internal/reason-of.ts";
import { type Message, textOf } from "../state/message.ts";
import type { BaseStore } from "../store/base-store.ts";
import type { Namespace } from "../store/store-driver.ts";
import type { Verdict } from "./admission.ts";
import type { Explanation } from "./explain.ts";
import type { ExtractableMessage, Extractor } from "./extractor.ts";
import { normalized } from "./identity.ts";
import type { InBackground } from "./in-background.ts";
import type { Fact, Memory, Provenance } from "./memory.ts";
import { MemoryShelf } from "./memory-shelf.ts";
import type { Outcome } from "./merge-fact.ts";
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
  readonly namespaceOf: (metadata: Metadata) => Namespace;
  readonly maxMemories: number;
  readonly retrieveLimit: number;
  readonly review: boolean;
  readonly halfLives: HalfLives;
  readonly now: () => number;
  readonly onDecision: (decision: MemoryDecision) => void;
  /** Where remembering goes on when nobody waits for it; absent where the run does. */
  readonly background: InBackground | undefined;
}

/** So much of a message is looked for. A page that was pasted is not a question, and embedding models read no more. */
const LONGEST_QUERY = 2_000;

/** As many of the known facts are shown to an extractor: those that were touched last. */
const MOST_KNOWN = 60;

/** An agent calls these; whoever calls them by hand gives what an agent does. */
function assertContext(method: string, context: MemoryContext): void {
  if (Array.isArray(context?.state?.messages)) return;
  throw new TypeError(
    `${method} takes what an agent hands it: { state, threadId, metadata }. By words, retrieve("words", { metadata }) looks for memories`,
  );
}

/** What an agent remembers of a user across threads. `LLMMemoryManager` adds names of models and defaults. */
export class CoreMemory implements MemoryPort {
  readonly #options: CoreMemoryOptions;

  constructor(options: CoreMemoryOptions) {
    this.#options = options;
  }

  /** The memories of whomever a run's metadata name: to look at, to decide about and to forget. */
  of(metadata: Metadata = {}): MemoryShelf {
    // A name in its place would have no userId, and reach what is remembered of nobody in particular.
    if (!isPlainObject(metadata)) {
      throw invalid(`of() takes the metadata of a run, such as { userId: "user-42" }, not ${described(metadata)}`);
    }
    const { store, maxMemories, halfLives, now, namespaceOf } = this.#options;
    return new MemoryShelf({ store, maxMemories, halfLives, now, namespace: namespaceOf(metadata) });
  }

  /** One message for the model with the memories that its user's newest message needs; nothing where there are none. */
  async recall(context: MemoryContext): Promise<readonly Message[]> {
    assertContext("recall()", context);
    const { state, metadata, signal } = context;
    const asked = state.messages.findLast(({ role }) => role === "user");
    const query = asked === undefined ? "" : textOf(asked).trim().slice(0, LONGEST_QUERY);
    if (query === "") return [];
    const memories = await this.retrieve(query, { metadata, signal });
    return memories.length === 0 ? [] : [(await remembering.get()).recalledBlock(memories)];
  }

  /** What is recalled for a text: what is pinned, what has to do with it, and how the user wants to be served. */
  async retrieve(
    query: string,
    options: { readonly metadata?: Metadata; readonly signal?: AbortSignal } = {},
  ): Promise<readonly Memory[]> {
    const { metadata = {}, signal } = optionsOf("retrieve", options, { metadata: true, signal: true });
    const { retrieveLimit } = this.#options;
    const shelf = this.of(metadata);
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
    const { store, extractor, extractTimeoutMs, namespaceOf } = this.#options;
    const { state, threadId, metadata, signal, recalled } = context;
    const { extractable, extracted, ReadingPosition, recalledIds } = await remembering.get();
    const shelf = this.of(metadata);
    await shelf.used(recalledIds(recalled));
    const position = new ReadingPosition(store, namespaceOf(metadata), threadId);
    const from = await position.find(state.messages);
    const { batch, next } = extractable(state.messages, from);
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
      // What was said before somebody had everything forgotten.
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
  async consider(
    found: unknown,
    messages: readonly ExtractableMessage[],
    { metadata = {}, threadId }: { readonly metadata?: Metadata; readonly threadId?: string | undefined } = {},
  ): Promise<MemoryDecision> {
    return this.#decide(found, messages, this.of(metadata), { threadId, checkpointId: undefined });
  }

  /** Why something is remembered. With a checkpointer, the message itself is looked up. */
  async explain(
    memoryId: string,
    options: { readonly metadata?: Metadata; readonly checkpointer?: BaseCheckpointer } = {},
  ): Promise<Explanation> {
    const { metadata = {}, checkpointer } = optionsOf("explain", options, { metadata: true, checkpointer: true });
    const memory = await this.of(metadata).get(memoryId);
    if (memory === undefined) {
      throw new StateError("NOT_FOUND", `there is no memory ${JSON.stringify(memoryId)} of this user`);
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
    const provenance = this.#provenance(verdict.fact, verdict.message, place);
    if (verdict.decision === "store") return shelf.keep(verdict.fact, provenance);
    await shelf.suggest(verdict.fact, provenance, verdict.reason);
    return "pending";
  }

  #provenance({ quote }: Fact, message: ExtractableMessage, place: Place): Provenance {
    const { index, id, role } = message;
    return {
      threadId: place.threadId ?? null,
      checkpointId: place.checkpointId ?? null,
      message: { index, role, ...(id !== undefined && { id }) },
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
