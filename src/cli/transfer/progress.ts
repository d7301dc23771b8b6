import type { CommandCall } from "../command.ts";

const ON_TERMINAL_MS = 250;
const ELSEWHERE_MS = 10_000;

/** One line on stderr that is written over on a terminal; elsewhere a line now and then. */
export class Progress {
  readonly #call: CommandCall;
  #last: number;
  #isShown = false;

  constructor(call: CommandCall) {
    this.#call = call;
    this.#last = call.world.now();
  }

  /** Whether a person is watching it. */
  get isOnTerminal(): boolean {
    const { world, printer } = this.#call;
    return world.stderr.isTerminal && printer.isForPeople;
  }

  async show(text: () => string): Promise<void> {
    const { world, note } = this.#call;
    const isTerminal = this.isOnTerminal;
    if (world.now() - this.#last < (isTerminal ? ON_TERMINAL_MS : ELSEWHERE_MS)) return;
    this.#last = world.now();
    if (!isTerminal) return note(text());
    this.#isShown = true;
    await world.stderr.write(`\r\u001b[K${text().slice(0, Math.max(10, world.stderr.columns - 1))}`);
  }

  async clear(): Promise<void> {
    if (!this.#isShown) return;
    this.#isShown = false;
    await this.#call.world.stderr.write("\r\u001b[K");
  }
}
