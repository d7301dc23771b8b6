import { StateError } from "../../errors.ts";
import { Recent } from "../../internal/recent.ts";
import { isExpected } from "../log/driver-rules.ts";
import type { KnownPlace } from "../log/thread-log.ts";
import { sweepRemains } from "./finishing.ts";
import { documentOf, type OtherLife, placedTail, type StoredThread, type ThreadDocument } from "./thread-document.ts";
import { ThreadReader } from "./thread-reader.ts";
import { type FoundDocument, NOTHING, OVERTAKEN, type ThreadStore, untilNotOvertaken } from "./thread-store.ts";

type Removal = "removed" | "absent" | "moved";

/**
 * One write of its document ends the thread; from then on the document only lists what
 * is to be deleted. So the next write or removal finishes an interrupted one. Copies to
 * the thread that are in flight are given up.
 */
export class Removals {
  readonly #store: ThreadStore;
  /** Threads that a removal ended, or may have ended, before it failed: the repeated call reports what it did. */
  readonly #unanswered = new Recent<true>(1000);

  constructor(store: ThreadStore) {
    this.#store = store;
  }

  async remove(threadId: string, ifTail?: KnownPlace): Promise<Removal> {
    this.#store.takeWritten(threadId);
    const removal = new OneRemoval(this.#store, threadId, this.#unanswered.get(threadId) === true);
    try {
      const outcome = await removal.make(ifTail);
      if (outcome !== "moved") this.#unanswered.delete(threadId);
      return outcome;
    } catch (error) {
      if (removal.mayHaveEnded) this.#unanswered.set(threadId, true);
      throw error;
    }
  }
}

class OneRemoval {
  /** Whether this removal, or an earlier attempt at it, recorded the end of the thread. */
  mayHaveEnded: boolean;
  readonly #store: ThreadStore;
  readonly #threadId: string;
  /** What was written by a request that was then refused: a gateway may have sent it twice. */
  #refused: ThreadDocument | undefined;

  constructor(store: ThreadStore, threadId: string, mayHaveEnded: boolean) {
    this.#store = store;
    this.#threadId = threadId;
    this.mayHaveEnded = mayHaveEnded;
  }

  make(ifTail: KnownPlace | undefined): Promise<Removal> {
    const load = (): Promise<FoundDocument> =>
      ifTail === undefined ? this.#loadSound() : this.#store.load(this.#threadId);
    return untilNotOvertaken<Removal>(load, async (found) => {
      const { document } = found;
      const thread = document?.thread;
      if (document === undefined) return this.#finish(found);
      if (thread === undefined)
        return document.copying.length === 0 ? this.#finish(found) : this.#giveUp(found, document);
      if (ifTail !== undefined && !isExpected(placedTail(thread), ifTail)) return "moved";
      const over = [...document.over, ...document.copying, await this.#ended(thread)];
      return this.#end(found, documentOf(this.#threadId, { thread: undefined, over }));
    });
  }

  async #ended(thread: StoredThread): Promise<OtherLife> {
    const { life } = thread;
    if (this.#store.lists) return { life };
    return { life, parts: await new ThreadReader(this.#store, this.#threadId, thread).parts() };
  }

  async #end(found: FoundDocument, next: ThreadDocument): Promise<Removal | typeof OVERTAKEN> {
    this.mayHaveEnded = true;
    const ended = await this.#store.commit(found, next);
    if (ended !== undefined) return this.#finish(ended);
    this.mayHaveEnded = false;
    this.#refused = next;
    return OVERTAKEN;
  }

  /** There is no thread, but what may become one is under way, or was when its process died. */
  async #giveUp(found: FoundDocument, { over, copying }: ThreadDocument): Promise<Removal | typeof OVERTAKEN> {
    const without = documentOf(this.#threadId, { thread: undefined, over: [...over, ...copying] });
    const givenUp = await this.#store.commit(found, without);
    return givenUp === undefined ? OVERTAKEN : this.#finish(givenUp);
  }

  /** There is no thread. Removes what is left of one. */
  async #finish(found: FoundDocument): Promise<Removal> {
    const { document } = found;
    if (document !== undefined && document.revision === this.#refused?.revision) this.mayHaveEnded = true;
    await sweepRemains(this.#store, this.#store.layout.nameOf(this.#threadId), document);
    if (document?.copying.length === 0) await this.#store.discard(this.#threadId, found);
    return this.mayHaveEnded ? "removed" : "absent";
  }

  /** A damaged document is deleted at once: that is how to get rid of the thread, and no save can continue from it. */
  async #loadSound(): Promise<FoundDocument> {
    try {
      return await this.#store.load(this.#threadId);
    } catch (error) {
      if (!StateError.is(error, "CORRUPT")) throw error;
      this.mayHaveEnded = true;
      await this.#store.deleteObjects([this.#store.layout.document(this.#store.layout.nameOf(this.#threadId))]);
      return NOTHING;
    }
  }
}
