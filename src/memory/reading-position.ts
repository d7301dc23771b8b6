import { StateError } from "../errors.ts";
import { type Message, textOf } from "../state/message.ts";
import type { BaseStore } from "../store/base-store.ts";
import type { ItemId, Namespace } from "../store/driver/store-driver.ts";
import { forgottenMark } from "./forgotten.ts";
import { digest } from "./identity.ts";
import type { OwnedPlace } from "./owner.ts";

/** How far a thread was read for memories. It moves after the memories are stored: a crash in between reads twice, and twice changes nothing. */
interface Position {
  readonly count: number;
  /**
   * A digest of the last message that was read: after an edit of the history it no longer
   * fits.
   */
  readonly last: string;
  /** How often the messages behind it could not be read in a row. */
  readonly failures: number;
}

/** So often a batch is tried. After that it is left out, so that one message cannot end all remembering in its thread. */
const MOST_FAILURES = 3;

export class ReadingPosition {
  readonly #store: BaseStore;
  readonly #namespace: Namespace;
  readonly #metadata: OwnedPlace["metadata"];
  readonly #key: string | undefined;
  readonly #mark: ItemId;
  #version: string | null = null;
  #failures = 0;
  #forgottenBefore: string | null = null;

  /** Without a thread there is nothing to come back to: each run is read from its beginning. */
  constructor(store: BaseStore, { namespace, metadata }: OwnedPlace, threadId: string | undefined) {
    this.#store = store;
    this.#namespace = [...namespace, "threads"];
    this.#metadata = metadata;
    this.#mark = forgottenMark(namespace);
    // A thread's id may be longer than a key.
    this.#key = threadId === undefined ? undefined : digest(threadId);
  }

  /** Where to go on reading. */
  async find(messages: readonly Message[]): Promise<number> {
    const { namespace, key } = this.#mark;
    const mark = await this.#store.getItem(namespace, key);
    this.#forgottenBefore = mark?.version ?? null;
    if (this.#key === undefined) return 0;
    const item = await this.#store.getItem<Position>(this.#namespace, this.#key);
    this.#version = item?.version ?? null;
    if (item === undefined) return mark === undefined ? 0 : startOfLastTurn(messages);
    const { count, last, failures } = item.value;
    // The history was edited. Reading it from the beginning would bring back what a user had forgotten on purpose.
    if (count > messages.length || digestAt(messages, count) !== last) return startOfLastTurn(messages);
    this.#failures = failures;
    return count;
  }

  /** Whether everything was forgotten since `find`. */
  async isForgotten(): Promise<boolean> {
    const mark = await this.#store.getItem(this.#mark.namespace, this.#mark.key);
    return (mark?.version ?? null) !== this.#forgottenBefore;
  }

  async moveTo(messages: readonly Message[], count: number): Promise<void> {
    await this.#write({ count, last: digestAt(messages, count), failures: 0 });
  }

  /** Notes that the batch from `from` to `next` could not be read; says whether it is now left out for good. */
  async failed(messages: readonly Message[], from: number, next: number): Promise<boolean> {
    const isLast = this.#failures + 1 >= MOST_FAILURES;
    const count = isLast ? next : from;
    await this.#write({ count, last: digestAt(messages, count), failures: isLast ? 0 : this.#failures + 1 });
    return isLast;
  }

  /** If another process was faster, its position stands. */
  async #write(position: Position): Promise<void> {
    if (this.#key === undefined) return;
    try {
      const options = { expectedVersion: this.#version, index: false, metadata: this.#metadata } as const;
      await this.#store.put(this.#namespace, this.#key, position, options);
    } catch (error) {
      if (!StateError.is(error, "CONFLICT")) throw error;
    }
  }
}

const startOfLastTurn = (messages: readonly Message[]): number =>
  Math.max(
    0,
    messages.findLastIndex(({ role }) => role === "user"),
  );

function digestAt(messages: readonly Message[], count: number): string {
  const message = messages[count - 1];
  return message === undefined ? "" : digest(`${message.role}\n${textOf(message)}`);
}
