import { AsyncLocalStorage } from "node:async_hooks";
import { answerWithin } from "../../driver/object-bucket.ts";
import type { ServerClock } from "../../driver/server-clock.ts";
import { StateError } from "../../errors.ts";
import { asFailure, OciFailure } from "./classify.ts";

/** The interface of the SDK for sending requests: its `HttpClient`. */
export interface HttpClientShape {
  send(request: HttpRequestShape, forceExcludeBody?: boolean): Promise<Response>;
}

interface HttpRequestShape {
  readonly method: string;
  readonly uri: string;
  readonly headers: Headers;
  readonly body?: string | Uint8Array | null;
}

interface SignerShape {
  signHttpRequest(request: object, forceExcludeBody?: boolean): Promise<void>;
}

interface RequestUnderWay {
  readonly signal: AbortSignal;
  failure: unknown;
}

/**
 * Sends the SDK's requests. The SDK's own client has no deadlines, prints a warning
 * for every unsuccessful answer (also for a thread that does not exist yet), and
 * lists all keys of a body to see whether it is empty.
 */
export class OciTransport implements HttpClientShape {
  /** The SDK's signer, once it is loaded. */
  signer: SignerShape | undefined;
  readonly #timeoutMs: number;
  readonly #clock: ServerClock | undefined;
  readonly #underWay = new AsyncLocalStorage<RequestUnderWay>();

  /** `clock` is told the dates of all answers. */
  constructor(timeoutMs: number, clock?: ServerClock) {
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
  }

  async send({ method, uri, headers, body }: HttpRequestShape, forceExcludeBody = false): Promise<Response> {
    const underWay = this.#underWay.getStore();
    const url = new URL(uri).href;
    try {
      await this.signer?.signHttpRequest(
        { method, headers, uri: url, body: forceExcludeBody ? undefined : body },
        forceExcludeBody,
      );
      const signal = underWay?.signal ?? null;
      const answered = this.#clock?.ask();
      const response = await fetch(url, { method, headers, body: body ?? null, signal, redirect: "manual" });
      answered?.(response.headers.get("date"));
      if (REDIRECTS.has(response.status)) throw redirected(response);
      return response;
    } catch (error) {
      // The SDK keeps only the message of what is thrown here.
      if (underWay !== undefined) underWay.failure = error;
      throw error;
    }
  }

  /**
   * Makes one request and gives up at the deadline, which includes reading the
   * answer. `call` passes the configuration to the SDK: retries are made by our own
   * code, which knows whether they are safe.
   */
  async request<T>(call: (retryConfiguration: object) => Promise<T>): Promise<T> {
    try {
      return await answerWithin(this.#timeoutMs, (signal) => {
        const underWay: RequestUnderWay = { signal, failure: undefined };
        return this.#underWay.run(underWay, () => call(withoutRetries(underWay)));
      });
    } catch (error) {
      throw asFailure(error);
    }
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The service sends no redirects. Following one would send records and a signature wherever it points. */
const redirected = ({ status }: Response): StateError =>
  new StateError("UNAVAILABLE", `the answer is a redirect (HTTP ${status}), which is not followed; check the endpoint`);

/** Ends the SDK's retry loop at the one place where it does so without writing to the console. */
const withoutRetries = (underWay: RequestUnderWay): object => ({
  retryCondition: (failure: unknown): boolean => {
    underWay.failure = failure;
    return true;
  },
  terminationStrategy: {
    shouldTerminate: (): boolean => {
      // A client that was handed in has its own transport, and the SDK does not say what it threw.
      throw underWay.failure ?? new OciFailure("the connection failed", undefined, "unknown", undefined);
    },
  },
  delayStrategy: { delay: (): number => 0 },
});
