import { StateError } from "../errors.ts";
import { searchWords } from "../state/words.ts";
import type { BaseStore } from "../store/base-store.ts";
import type { Namespace } from "../store/driver/store-driver.ts";
import type { StoreItem } from "../store/items/items.ts";
import type { StoreFilter } from "../store/search/filter.ts";
import { forgottenMark } from "./forgotten.ts";
import { digest, isSameText, memoryId } from "./identity.ts";
import type { Fact, Memory, PendingMemory, Provenance } from "./memory.ts";
import { mergeFact, type Outcome, repeated } from "./merge-fact.ts";
import type { OwnedPlace } from "./owner.ts";
import { firstToDrop, type HalfLives, worth } from "./worth.ts";

export interface ShelfOptions extends OwnedPlace {
  readonly store: BaseStore;
  readonly maxMemories: number;
  readonly halfLives: HalfLives;
  readonly now: () => number;
}

const PER_PAGE = 200;
/** More than a shelf ever holds; whatever is beyond was put there by something else. */
const MOST_LISTED = 10_000;
/** A memory is found by what it says and by what it is about. */
const INDEX: readonly string[] = ["text", "attribute"];

/** The memories of one person, or of one thread: to look at, to decide about and to forget. */
export class MemoryShelf {
  readonly #options: ShelfOptions;
  readonly #facts: Namespace;
  readonly #pending: Namespace;
  readonly #threads: Namespace;

  constructor(options: ShelfOptions) {
    this.#options = options;
    this.#facts = [...options.namespace, "facts"];
    this.#pending = [...options.namespace, "pending"];
    this.#threads = [...options.namespace, "threads"];
  }

  get #written(): { readonly index: readonly string[]; readonly metadata: OwnedPlace["metadata"] } {
    return { index: INDEX, metadata: this.#options.metadata };
  }

  /** Every memory, also those that no longer hold. */
  async list(): Promise<readonly Memory[]> {
    return this.#all<Memory>(this.#facts);
  }

  async get(id: string): Promise<Memory | undefined> {
    return this.#options.store.get<Memory>(this.#facts, id);
  }

  /** What waits for a decision. */
  async pending(): Promise<readonly PendingMemory[]> {
    return this.#all<PendingMemory>(this.#pending);
  }

  /** Makes a pending memory one that is recalled; it takes the place of what it corrects. */
  async approve(pendingId: string): Promise<Memory | undefined> {
    const { store, now } = this.#options;
    const waiting = await store.get<PendingMemory>(this.#pending, pendingId);
    if (waiting === undefined) throw notFound("pending memory", pendingId);
    const outcome = await this.keep(waiting.fact, { ...waiting.provenance, at: now() }, { isDecided: true });
    if (outcome === "full") {
      throw new StateError("TOO_LARGE", "there is no room for it: every memory is pinned. Unpin or forget one first");
    }
    await store.delete(this.#pending, pendingId);
    return this.get(waiting.memoryId);
  }

  /** Drops a pending memory. Says whether it was there. */
  async reject(pendingId: string): Promise<boolean> {
    return this.#options.store.delete(this.#pending, pendingId);
  }

  /** Removes a memory with its past and whatever waits to correct it. Nothing of it is kept. Says whether it was there. */
  async forget(id: string): Promise<boolean> {
    const { store } = this.#options;
    for (const waiting of await this.pending()) {
      if (waiting.memoryId === id) await store.delete(this.#pending, waiting.id);
    }
    return store.delete(this.#facts, id);
  }

  /**
   * Removes everything that is kept for this user. What was said before is not
   * remembered again, not even by an extraction that is in flight. Only that it
   * happened, and when, is kept.
   */
  async forgetEverything(): Promise<number> {
    const { store, namespace, metadata, now } = this.#options;
    const memories = [this.#facts, this.#pending];
    let count = 0;
    // Before the mark: a legal hold refuses it, and then nothing was forgotten.
    for (const place of memories) count += await store.clearNamespace(place);
    const mark = forgottenMark(namespace);
    await store.put(mark.namespace, mark.key, { at: now() }, { index: false, metadata });
    // Again, for what was stored until the mark was there.
    for (const place of [...memories, this.#threads]) count += await store.clearNamespace(place);
    return count;
  }

  /** A pinned memory is always recalled and never dropped. */
  async pin(id: string, pinned = true): Promise<void> {
    const changed = await this.#change(id, (memory) => ({ ...memory, pinned }));
    if (!changed) throw notFound("memory", id);
  }

  /** Stores a fact that was admitted. What a person decided counts whenever it was said. */
  async keep(
    fact: Fact,
    provenance: Provenance,
    { isDecided = false }: { readonly isDecided?: boolean } = {},
  ): Promise<Outcome | "full"> {
    const memories = await this.list();
    const id = memoryId(fact);
    const there = memories.find((memory) => memory.id === id);
    // The same words under another name: an extractor does not always call a thing the same.
    const twin = memories.find(({ status, text }) => status === "active" && isSameText(text, fact.text));
    if (there === undefined && twin !== undefined && fact.ended !== true) {
      await this.#change(twin.id, (memory) => repeated(memory, provenance).memory ?? memory);
      return "repeated";
    }
    const expected = mergeFact(there, fact, provenance, isDecided);
    if (expected.outcome === "known") return "known";
    let outcome: Outcome = expected.outcome;
    await this.#options.store.update<Memory>(
      this.#facts,
      id,
      (current) => {
        const merged = mergeFact(current, fact, provenance, isDecided);
        outcome = merged.outcome;
        return merged.memory;
      },
      this.#written,
    );
    return outcome === "added" && !(await this.#makeRoomFor(id, memories)) ? "full" : outcome;
  }

  /** Puts a fact before a person who decides. A repeated fact is put only once. */
  async suggest(fact: Fact, provenance: Provenance, reason: string): Promise<void> {
    const { store, maxMemories, metadata } = this.#options;
    const target = memoryId(fact);
    const id = `p-${digest(JSON.stringify([target, fact.value, fact.ended === true]))}`;
    const waiting: PendingMemory = { id, memoryId: target, reason, fact, provenance };
    if ((await store.get(this.#pending, id)) !== undefined) return;
    await store.put(this.#pending, id, waiting, { index: false, metadata });
    const all = await this.pending();
    const oldest = all.toSorted((a, b) => a.provenance.at - b.provenance.at).filter((other) => other.id !== id);
    for (const { id: dropped } of oldest.slice(0, Math.max(0, all.length - maxMemories))) {
      if (!(await this.#drop(this.#pending, dropped))) return;
    }
  }

  /** The memories that have most to do with a text, best first: by the store's search, by age and by use. */
  async search(query: string, limit: number, signal?: AbortSignal): Promise<readonly Memory[]> {
    const { now, halfLives } = this.#options;
    const time = now();
    const found = await this.#relevant(query, limit * 4, signal);
    return found
      .map(({ memory, score }) => ({ memory, rank: score * worth(memory, time, halfLives) }))
      .toSorted((a, b) => b.rank - a.rank)
      .slice(0, limit)
      .map(({ memory }) => memory);
  }

  /** What is recalled for every question: pinned memories and the user's preferences, newest first. */
  async standing(): Promise<{ readonly pinned: readonly Memory[]; readonly feedback: readonly Memory[] }> {
    const filter = { status: "active", $or: [{ pinned: true }, { type: "feedback" }] };
    const found = await this.#all<Memory>(this.#facts, filter);
    const newestFirst = found.toSorted((a, b) => b.lastSeen.at - a.lastSeen.at);
    return { pinned: newestFirst.filter(({ pinned }) => pinned), feedback: newestFirst };
  }

  /** Counts that memories were of use, at most once an hour each. */
  async used(ids: readonly string[]): Promise<void> {
    const time = this.#options.now();
    for (const id of ids) {
      const memory = await this.get(id);
      if (memory === undefined || time - memory.lastUsedAt < HOUR) continue;
      await this.#change(id, (current) => ({ ...current, uses: current.uses + 1, lastUsedAt: time }));
    }
  }

  async #relevant(
    query: string,
    limit: number,
    signal?: AbortSignal,
  ): Promise<readonly { memory: Memory; score: number }[]> {
    const { store } = this.#options;
    if (!store.capabilities.search) return byWords(await this.list(), query);
    const hits = await store.search<Memory>(this.#facts, {
      query,
      limit,
      recursive: false,
      filter: { status: "active" },
      ...(signal !== undefined && { signal }),
    });
    return hits.map(({ value, score = 0 }) => ({ memory: value, score }));
  }

  /** Says whether it happened: what is not there is not made. */
  async #change(id: string, change: (memory: Memory) => Memory): Promise<boolean> {
    const written = await this.#options.store.update<Memory>(
      this.#facts,
      id,
      (current) => (current === undefined ? undefined : change(current)),
      this.#written,
    );
    return written !== undefined;
  }

  /** The cap holds after every write. False where everything else is pinned, and the new one had to go again. */
  async #makeRoomFor(id: string, known: readonly Memory[]): Promise<boolean> {
    const { maxMemories, now, halfLives } = this.#options;
    if (known.length < maxMemories) return true;
    const memories = await this.list();
    const others = firstToDrop(memories, now(), halfLives).filter((memory) => memory.id !== id);
    const tooMany = memories.length - maxMemories;
    for (const { id: dropped } of others.slice(0, tooMany)) {
      if (!(await this.#drop(this.#facts, dropped))) return true;
    }
    if (others.length >= tooMany) return true;
    return !(await this.#drop(this.#facts, id));
  }

  /** False where a legal hold keeps it: then the cap waits until the hold is lifted, and nothing else does. */
  async #drop(namespace: Namespace, id: string): Promise<boolean> {
    try {
      await this.#options.store.delete(namespace, id);
      return true;
    } catch (error) {
      if (StateError.is(error, "HELD")) return false;
      throw error;
    }
  }

  async #all<Value>(namespace: Namespace, filter: StoreFilter = {}): Promise<readonly Value[]> {
    const items: StoreItem<Value>[] = [];
    let cursor: string | undefined;
    do {
      const found = await this.#options.store.list<Value>(namespace, {
        limit: PER_PAGE,
        filter,
        ...(cursor !== undefined && { cursor }),
      });
      items.push(...found);
      cursor = found.cursor;
    } while (cursor !== undefined && items.length < MOST_LISTED);
    return items.map(({ value }) => value);
  }
}

const HOUR = 3_600_000;

const notFound = (what: string, id: string): StateError =>
  new StateError("NOT_FOUND", `there is no ${what} ${JSON.stringify(id)} here`);

/** For a store that cannot search: the share of the query's words that a memory has. */
function byWords(memories: readonly Memory[], query: string): readonly { memory: Memory; score: number }[] {
  const wanted = new Set(searchWords(query).filter((word) => word.length > 3));
  return memories
    .filter(({ status }) => status === "active")
    .map((memory) => {
      const words = new Set(searchWords(`${memory.text} ${memory.attribute}`));
      return { memory, score: [...wanted].filter((word) => words.has(word)).length / Math.max(1, wanted.size) };
    })
    .filter(({ score }) => score > 0);
}
