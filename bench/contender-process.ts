import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Answer, Command, ReadTimes, StepTimes } from "./contender-program.ts";

/** Starts a contender's process and asks it to do one thing at a time. */
export class ContenderProcess {
  readonly #child: ChildProcess;
  #settle: (answer: Answer) => void = () => undefined;

  constructor(name: string, seed: number, steps: number) {
    const program = fileURLToPath(new URL("./contender-program.ts", import.meta.url));
    this.#child = fork(program, [name, String(seed), String(steps)], { execArgv: ["--import", "tsx"] });
    this.#child.on("message", (answer: Answer) => this.#settle(answer));
    this.#child.on("exit", (code) => this.#settle({ error: `the process of ${name} ended with ${code}` }));
  }

  /** Opens a thread in `directory`; several can be open at once. */
  open(directory: string): Promise<void> {
    return this.#ask({ do: "open", directory }) as Promise<void>;
  }

  /** Takes the steps from `from` to just before `to`, counted from 0. */
  steps(directory: string, from: number, to: number): Promise<readonly StepTimes[]> {
    return this.#ask({ do: "steps", directory, from, to }) as Promise<readonly StepTimes[]>;
  }

  close(directory: string): Promise<void> {
    return this.#ask({ do: "close", directory }) as Promise<void>;
  }

  /** `undefined` for a contender that keeps everything in the directory. */
  size(directory: string): Promise<number | undefined> {
    return this.#ask({ do: "size", directory }) as Promise<number | undefined>;
  }

  read(directory: string, expected: number, history: boolean): Promise<ReadTimes> {
    return this.#ask({ do: "read", directory, expected, history }) as Promise<ReadTimes>;
  }

  end(): void {
    this.#child.disconnect();
  }

  #ask(command: Command): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#settle = (answer) => ("error" in answer ? reject(new Error(answer.error)) : resolve(answer.result));
      this.#child.send(command);
    });
  }
}
