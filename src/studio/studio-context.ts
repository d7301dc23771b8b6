import type { Checkpointer } from "../checkpoint/checkpointer.ts";
import { type CheckpointContext, contextOf } from "../checkpoint/context.ts";
import { StateError } from "../errors.ts";
import type { CorePersonalData } from "../session/personal-data.ts";
import type { Store } from "../store/store.ts";
import { Plans } from "./plans.ts";
import type { CaseLine } from "./service-api.ts";
import { StateCache } from "./state-cache.ts";
import { ThreadIndex } from "./thread-index.ts";

/** What Studio is opened with. */
export interface StudioOptions {
  /** With read access unless `mayWrite`: two locks, this one and the table of routes. */
  readonly checkpointer: Checkpointer;
  /** How the store is called on the page; without secrets. */
  readonly storeName: string;
  readonly mayWrite: boolean;
  readonly mayDelete: boolean;
  /** Items beside the threads, where this storage can keep any. */
  readonly openItems?: () => Promise<Store>;
  /** Finds and erases what is about people; erasing needs a ledger too. */
  readonly people?: CorePersonalData;
  readonly canErase: boolean;
  /** Runs doctor's cases on the store; only of a Studio that may write. */
  readonly provesCases?: (signal: AbortSignal) => AsyncIterable<CaseLine>;
  readonly cacheBytes: number;
  readonly version: string;
  readonly now: () => number;
  /** One line for the operator: a write that was made, or a failure in the background. */
  readonly note: (line: string) => void;
}

/** What all answers share: the store, what was read of it, and what may be done to it. */
export class StudioContext {
  readonly options: StudioOptions;
  readonly checkpointer: Checkpointer;
  readonly context: CheckpointContext;
  readonly states: StateCache;
  readonly index: ThreadIndex;
  readonly plans: Plans;
  readonly #underWay = new Set<Promise<void>>();
  #items: Promise<Store> | undefined;

  constructor(options: StudioOptions) {
    const context = contextOf(options.checkpointer);
    if (context === undefined)
      throw new TypeError("Studio needs a checkpointer over a log, as the factories return it");
    this.options = options;
    this.checkpointer = options.checkpointer;
    this.context = context;
    this.states = new StateCache(options.checkpointer, context, options.cacheBytes);
    this.plans = new Plans(options.now);
    this.index = new ThreadIndex(context, {
      now: options.now,
      isScan: options.checkpointer.capabilities.searchMethod !== "index",
      onFailure: (error) =>
        options.note(`the walk over all threads: ${error instanceof Error ? error.message : String(error)}`),
    });
  }

  get now(): number {
    return this.options.now();
  }

  /** The store of items, opened when a view first asks for it. */
  items(): Promise<Store> {
    const { openItems } = this.options;
    if (openItems === undefined) throw new StateError("UNSUPPORTED", "this storage keeps threads and no items");
    this.#items ??= openItems().catch((error: unknown) => {
      this.#items = undefined;
      throw error;
    });
    return this.#items;
  }

  /** Something that must come to its end before the store is closed. Returns what says that it did. */
  begin(): () => void {
    let end: () => void = () => undefined;
    const work = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#underWay.add(work);
    return () => {
      this.#underWay.delete(work);
      end();
    };
  }

  /** After every write: what is shown next is read anew. */
  wrote(line: string): void {
    this.index.expire();
    this.options.note(line);
  }

  async close(): Promise<void> {
    await Promise.all(this.#underWay);
    await this.index.close();
    await (await this.#items?.catch(() => undefined))?.close();
  }
}
