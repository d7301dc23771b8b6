import { StateError } from "../../errors.ts";
import { lateAfter } from "../../internal/time.ts";
import { classify } from "./classify.ts";

/** How clients of both libraries emit events. */
export interface Emitter {
  on(event: string, listener: (detail?: unknown) => void): unknown;
  off(event: string, listener: (detail?: unknown) => void): unknown;
}

/**
 * Keeps an `error` listener on a client while it is used here: without one, a
 * connection that breaks while idle would end the process. Remembers the last error,
 * which is the reason if the client does not become ready.
 */
export class Listening {
  readonly #client: Emitter;
  #lastError: unknown;
  #waiting: Promise<void> | undefined;
  readonly #onError = (error?: unknown): void => {
    this.#lastError = error;
  };
  readonly #onReady = (): void => {
    this.#lastError = undefined;
  };

  constructor(client: Emitter) {
    this.#client = client;
    client.on("error", this.#onError);
    client.on("ready", this.#onReady);
  }

  /**
   * Waits until the client is ready, unless the error is permanent, such as a wrong password, or the client gave up.
   * `connect` rejects only where it did. All callers share one wait.
   */
  untilReady(isReady: () => boolean, connect: (() => Promise<unknown>) | undefined, ms: number): Promise<void> {
    this.#waiting ??= this.#wait(isReady, connect, ms).finally(() => {
      this.#waiting = undefined;
    });
    return this.#waiting;
  }

  #wait(isReady: () => boolean, connect: (() => Promise<unknown>) | undefined, ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (end: () => void): void => {
        stop();
        this.#client.off("ready", onReady);
        this.#client.off("error", onError);
        this.#client.off("end", onEnd);
        end();
      };
      const onReady = (): void => {
        if (isReady()) settle(resolve);
      };
      const onError = (error?: unknown): void => {
        if (!mayPass(error)) settle(() => reject(error));
      };
      const onEnd = (): void => settle(() => reject(this.#lastError ?? new Error("Connection is closed.")));
      const stop = lateAfter(ms, () => settle(() => reject(this.#lastError ?? notReady(ms))));
      this.#client.on("ready", onReady);
      this.#client.on("error", onError);
      this.#client.on("end", onEnd);
      connect?.().then(onReady, (error: unknown) => settle(() => reject(error)));
    });
  }

  stop(): void {
    this.#client.off("error", this.#onError);
    this.#client.off("ready", this.#onReady);
  }
}

/** Whether waiting may help. */
export function mayPass(error: unknown): boolean {
  const code = StateError.is(error) ? error.code : classify(error);
  return code === "UNAVAILABLE" || code === "TIMEOUT";
}

const notReady = (ms: number): StateError =>
  new StateError(
    "TIMEOUT",
    `no connection within ${ms} ms; see that the server runs, can be reached, and speaks TLS if the URL says so`,
  );
