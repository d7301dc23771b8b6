import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { type ErrorCode, StateError } from "../../src/errors.ts";
import type { SavedCheckpoint, Saver } from "../../src/saver/saver.ts";

type Method = "put" | "putWrites" | "get" | "listCheckpoints" | "deleteThread" | "prune" | "deleteForRuns";

export interface SaverCall {
  readonly number: number;
  readonly saver: number;
  readonly method: Method;
  readonly request: unknown;
}

/** Number 0 says that the program is ready. */
export interface SaverAnswer {
  readonly number: number;
  readonly value?: unknown;
  readonly failed?: { readonly code: ErrorCode; readonly message: string };
}

/**
 * A process with savers in it that can be killed while it works. The next one
 * makes the call again, as a caller would whose machine came back.
 */
export class KilledSavers {
  readonly #start: () => ChildProcess;
  #child: ChildProcess;
  /** Loads its modules while the other one works. */
  #spare: ChildProcess;
  #calls = 0;
  #savers = 0;
  #killIn: number | undefined;
  readonly #repeated = new WeakSet<Saver>();
  kills = 0;

  constructor(program: string, url: string) {
    this.#start = () => fork(program, [url], { serialization: "advanced", execArgv: [] });
    this.#child = this.#start();
    this.#spare = this.#start();
  }

  /** The next call is cut short this many milliseconds after it was made. */
  killIn(milliseconds: number): void {
    this.#killIn = milliseconds;
  }

  wasRepeated(saver: Saver): boolean {
    return this.#repeated.has(saver);
  }

  /** A saver with nothing in its memory. */
  open(): Saver {
    const which = ++this.#savers;
    const make =
      (method: Method) =>
      async (request: unknown): Promise<never> => {
        this.#repeated.delete(saver);
        for (;;) {
          const answer = await this.#call(which, method, request);
          if (answer === "killed") {
            this.#repeated.add(saver);
            continue;
          }
          const { value, failed } = answer;
          if (failed !== undefined) throw new StateError(failed.code, failed.message);
          return value as never;
        }
      };
    const list = make("listCheckpoints") as (request: unknown) => Promise<readonly SavedCheckpoint[]>;
    const saver: Saver = {
      put: make("put"),
      putWrites: make("putWrites"),
      get: make("get"),
      deleteThread: make("deleteThread"),
      prune: make("prune"),
      deleteForRuns: make("deleteForRuns"),
      listCheckpoints: async (request) => (await list(request)).map((each) => ({ ...each, load: async () => each })),
      copyThread: () => Promise.reject(new Error("the stories copy nothing")),
      listThreads: () => Promise.reject(new Error("the stories list no threads")),
      close: async () => undefined,
    };
    return saver;
  }

  async close(): Promise<void> {
    for (const child of [this.#child, this.#spare]) {
      const ended = once(child, "close");
      child.kill("SIGKILL");
      await ended;
    }
  }

  async #call(saver: number, method: Method, request: unknown): Promise<SaverAnswer | "killed"> {
    const child = this.#child;
    const number = ++this.#calls;
    const delay = this.#killIn;
    this.#killIn = undefined;
    const answered = answerOf(child, number);
    child.send({ number, saver, method, request } satisfies SaverCall, () => undefined);
    if (delay !== undefined) {
      await pause(delay);
      child.kill("SIGKILL");
      this.kills++;
    }
    const answer = await answered;
    if (delay !== undefined || answer === "killed") await this.#replace(child);
    return answer;
  }

  /** What was under way by another saver of the same process is made again by that one. */
  async #replace(child: ChildProcess): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    if (child.signalCode !== "SIGKILL") throw new Error(`the program ended by itself with ${child.exitCode}`);
    if (this.#child !== child) return;
    this.#child = this.#spare;
    this.#spare = this.#start();
  }
}

function answerOf(child: ChildProcess, number: number): Promise<SaverAnswer | "killed"> {
  return new Promise((resolve) => {
    const hear = (answer: SaverAnswer): void => {
      if (answer.number === number) end(answer);
    };
    const killed = (): void => end("killed");
    const end = (answer: SaverAnswer | "killed"): void => {
      child.off("message", hear);
      child.off("close", killed);
      resolve(answer);
    };
    child.on("message", hear);
    child.on("close", killed);
  });
}
