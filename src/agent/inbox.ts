import type { UserMessage } from "../state/message.ts";

/** What users say to a run in progress. It includes their messages in its next model call. */
export class Inbox {
  #waiting: { readonly message: UserMessage; readonly answer: (isTaken: boolean) => void }[] = [];
  #isClosed = false;

  /** Whether the run included the message. If not, it is said in a run of its own. */
  add(message: UserMessage): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    return new Promise((answer) => this.#waiting.push({ message, answer }));
  }

  take(): readonly UserMessage[] {
    const taken = this.#waiting;
    this.#waiting = [];
    for (const { answer } of taken) answer(true);
    return taken.map(({ message }) => message);
  }

  close(): void {
    this.#isClosed = true;
    for (const { answer } of this.#waiting) answer(false);
    this.#waiting = [];
  }
}
