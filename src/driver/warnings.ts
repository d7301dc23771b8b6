import { type ErrorCode, StateError } from "../errors.ts";

/** One thread that an answer about many had to leave out, or to tell less of, and why. */
export interface ThreadWarning {
  /** `undefined` where it cannot be told which thread it is. */
  readonly threadId: string | undefined;
  readonly code: ErrorCode;
  readonly message: string;
}

/** More of them say nothing new, and an answer must not grow with the damage. */
const MOST_WARNINGS = 20;
const LONGEST_MESSAGE = 500;

/**
 * The trouble of single threads that was met while many were looked at. One
 * thread's trouble is never another's: it is noted here, and the work goes on.
 */
export class Warnings {
  readonly #list: ThreadWarning[] = [];
  #count = 0;

  /** Of all that were noted, also of those that are no longer listed. */
  get count(): number {
    return this.#count;
  }

  get list(): readonly ThreadWarning[] {
    return this.#list;
  }

  /** Notes an error that concerns one thread alone; throws every other. */
  note(error: unknown, threadId: string | undefined): void {
    if (!isOneThreadsTrouble(error)) throw error;
    const { code, context } = error;
    const warning = { threadId: threadId ?? context.threadId, code, message: error.message.slice(0, LONGEST_MESSAGE) };
    if (this.#list.some((each) => each.threadId === warning.threadId && each.message === warning.message)) return;
    this.#count++;
    if (this.#list.length < MOST_WARNINGS) this.#list.push(warning);
  }

  /** What `work` returns, or `undefined` where one thread's trouble kept it from that. */
  async skipping<T>(threadId: string | undefined, work: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.note(error, threadId);
      return undefined;
    }
  }
}

/** Damage, another version's format, a size, a writer that is always faster: the storage itself works. */
const CODES: readonly ErrorCode[] = ["CORRUPT", "INCOMPATIBLE", "TOO_LARGE", "CONFLICT"];

const isOneThreadsTrouble = (error: unknown): error is StateError => StateError.is(error) && CODES.includes(error.code);
