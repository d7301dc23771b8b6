import type { AgentState } from "../state/agent-state.ts";

/**
 * The loop's whole view of storage: a state that it changes, and a save that is
 * done when everything changed so far is durable. Calls that come while a save
 * is under way share the next one, so that parallel tools do not queue up.
 */
export class ThreadSession {
  readonly #save: ((state: AgentState) => Promise<string>) | undefined;
  #state: AgentState;
  /** The last state that needs no save. A new thread's empty state is one: it becomes a thread when something is said. */
  #saved: AgentState;
  #checkpointId: string | undefined;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(state: AgentState, save: ((state: AgentState) => Promise<string>) | undefined) {
    this.#state = state;
    this.#saved = state;
    this.#save = save;
  }

  get state(): AgentState {
    return this.#state;
  }

  get checkpointId(): string | undefined {
    return this.#checkpointId;
  }

  change(update: (state: AgentState) => AgentState): void {
    this.#state = update(this.#state);
  }

  /** Resolves when everything changed before this call is durable. */
  save(): Promise<void> {
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      const write = this.#write();
      this.#running = write.catch(() => undefined);
      return write;
    });
    return this.#next;
  }

  async #write(): Promise<void> {
    const state = this.#state;
    if (this.#save === undefined || state === this.#saved) return;
    this.#checkpointId = await this.#save(state);
    this.#saved = state;
  }
}
