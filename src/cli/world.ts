/** Where text goes: a stream, and whether a person looks at it. */
export interface Output {
  /** Resolves when there is room for more, so that a slow reader holds the command up and not the memory. */
  write(text: string): Promise<void>;
  readonly isTerminal: boolean;
  readonly columns: number;
}

export interface Input {
  readonly isTerminal: boolean;
  /** Everything that comes, to its end. */
  chunks(): AsyncIterable<Uint8Array>;
  /** One line that a person types. */
  line(): Promise<string>;
}

/** All that a command has of the process around it, so that a test can be that process. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: Input;
  readonly now: () => number;
  /** Aborts when the command is to end: on SIGINT and SIGTERM, and when its output pipe is closed. */
  readonly signal: AbortSignal;
}

/** Why the signal aborted. */
export class Ended {
  readonly by: "SIGINT" | "SIGTERM" | "closed pipe";

  constructor(by: Ended["by"]) {
    this.by = by;
  }
}
