import { StateError } from "../../errors.ts";
import { Recent } from "../../internal/recent.ts";
import { threadName } from "./layout.ts";
import { OVERTAKEN, untilNotOvertaken } from "./overtaken.ts";
import { sweepFolder } from "./settling.ts";
import { documentOf, tailOf } from "./thread-document.ts";
import { type FoundDocument, NOTHING, type ThreadStore } from "./thread-store.ts";

type Removal = "removed" | "absent" | "moved";

/**
 * The thread is gone with one write of its document, which then only says what
 * is to be deleted; so a removal that was interrupted is finished by whoever
 * writes or removes next. Copies to the thread that are under way are given up.
 */
export class Removals {
  readonly #store: ThreadStore;
  /** Threads that this process ended without hearing the end of it: asked again, it says what it did. */
  readonly #unanswered = new Recent<true>(1000);

  constructor(store: ThreadStore) {
    this.#store = store;
  }

  async remove(threadId: string, ifTail?: { readonly generation: string; readonly seq: number }): Promise<Removal> {
    this.#store.takeWritten(threadId);
    const outcome = await untilNotOvertaken<Removal>(
      () => (ifTail === undefined ? this.#loadSound(threadId) : this.#store.load(threadId)),
      async (found) => {
        const { document } = found;
        const thread = document?.thread;
        if (document === undefined || thread === undefined) return this.#finish(threadId, found);
        const isTail = thread.generation === ifTail?.generation && tailOf(thread).seq === ifTail.seq;
        if (ifTail !== undefined && !isTail) return "moved";
        this.#unanswered.set(threadId, true);
        const over = [...document.over, ...document.copying, thread.life];
        const ended = await this.#store.commit(found, documentOf(threadId, { thread: undefined, over }));
        return ended === undefined ? OVERTAKEN : this.#finish(threadId, ended);
      },
    );
    if (outcome !== "moved") this.#unanswered.delete(threadId);
    return outcome;
  }

  /** A damaged document goes at once: it is how one gets rid of the thread, and nobody can write on from it. */
  async #loadSound(threadId: string): Promise<FoundDocument> {
    try {
      return await this.#store.load(threadId);
    } catch (error) {
      if (!StateError.is(error, "CORRUPT")) throw error;
      this.#unanswered.set(threadId, true);
      await this.#store.deleteObjects([this.#store.layout.document(threadName(threadId))]);
      return NOTHING;
    }
  }

  /** There is no thread. Takes away what is left of one. */
  async #finish(threadId: string, found: FoundDocument): Promise<Removal> {
    await sweepFolder(this.#store, threadName(threadId));
    if (found.document?.copying.length === 0) await this.#store.discard(threadId, found);
    return this.#unanswered.get(threadId) === true ? "removed" : "absent";
  }
}
