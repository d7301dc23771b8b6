import type { Message, UserMessage } from "../../state/message.ts";

/** What users say to a run in progress. It includes their messages in its next model call. */
export class Inbox {
  #waiting: { readonly message: UserMessage; readonly answer: (isTaken: boolean) => void }[] = [];
  #isClosed = false;

  /** Whether the run included the message. If not, it is said in a run of its own. */
  add(message: UserMessage): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    return new Promise((answer) => this.#waiting.push({ message, answer }));
  }

  /** A message that was said before, or twice just now, is left to a run of its own: that one gets the answer to the first. */
  take(said: readonly Message[]): readonly UserMessage[] {
    const waiting = this.#waiting;
    if (waiting.length === 0) return [];
    this.#waiting = [];
    const known = new Set(said.map(({ id }) => id));
    const taken: UserMessage[] = [];
    for (const { message, answer } of waiting) {
      const isNew = message.id === undefined || !known.has(message.id);
      known.add(message.id);
      if (isNew) taken.push(message);
      answer(isNew);
    }
    return taken;
  }

  close(): void {
    this.#isClosed = true;
    for (const { answer } of this.#waiting) answer(false);
    this.#waiting = [];
  }
}
