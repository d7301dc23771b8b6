import { type ErrorCode, StateError } from "../errors.ts";

/** One thread that a listing had to leave out or show in part, and the reason. */
export interface ThreadWarning {
  /** `undefined` if the thread cannot be identified. */
  readonly threadId: string | undefined;
  readonly code: ErrorCode;
  readonly message: string;
}

/** More would say nothing new, and an answer must not grow with the damage. */
export const MOST_WARNINGS = 20;
const LONGEST_MESSAGE = 500;

/**
 * Collects the failures of single threads while many are read. One damaged thread never
 * stops the others: its failure is recorded here and the work continues.
 */
export class Warnings {
  readonly #list: ThreadWarning[] = [];
  #count = 0;

  /** Counts all that were recorded, including those no longer listed. */
  get count(): number {
    return this.#count;
  }

  get list(): readonly ThreadWarning[] {
    return this.#list;
  }

  /** Records an error that concerns one thread alone; rethrows every other. */
  note(error: unknown, threadId: string | undefined): void {
    if (!isOneThreadsTrouble(error)) throw error;
    const { code, context } = error;
    this.add({ threadId: threadId ?? context.threadId, code, message: error.message.slice(0, LONGEST_MESSAGE) });
  }

  /** Takes over a warning that was recorded elsewhere. */
  add(warning: ThreadWarning): void {
    if (this.#list.some((each) => each.threadId === warning.threadId && each.message === warning.message)) return;
    this.#count++;
    if (this.#list.length < MOST_WARNINGS) this.#list.push(warning);
  }

  /** The same, unless a trouble of that thread is listed already: each look at a damaged thread finds other words for it. */
  name(warning: ThreadWarning): void {
    const { threadId } = warning;
    if (threadId === undefined || this.#list.every((each) => each.threadId !== threadId)) this.add(warning);
  }

  /** What another collection recorded of the threads that are `meant`; what it counted and no longer lists is counted here. */
  addAll({ list, count }: Warnings, isMeant: (warning: ThreadWarning) => boolean = () => true): void {
    for (const warning of list) if (isMeant(warning)) this.add(warning);
    this.#count += count - list.length;
  }

  /** The result of `work`, or `undefined` if a trouble of one thread prevented it. */
  async skipping<T>(threadId: string | undefined, work: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.note(error, threadId);
      return undefined;
    }
  }
}

/** Damage, another version's format, a size, a busier writer, a legal hold, a person's lost key: the storage itself works. */
const CODES: readonly ErrorCode[] = ["CORRUPT", "INCOMPATIBLE", "TOO_LARGE", "CONFLICT", "HELD"];

const isOneThreadsTrouble = (error: unknown): error is StateError =>
  StateError.is(error) && (CODES.includes(error.code) || error.context.keyId !== undefined);
