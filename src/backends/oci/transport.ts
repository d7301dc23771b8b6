import { AsyncLocalStorage } from "node:async_hooks";
import { StateError } from "../../errors.ts";
import { untilAborted } from "../../internal/until-aborted.ts";
import { asFailure, OciFailure } from "./classify.ts";

/** What the SDK asks of a way to send requests: its `HttpClient`. */
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
 * Sends the SDK's requests. Its own client has no deadlines, prints a warning
 * for every answer that is not a success (a thread that is not there yet is
 * one), and takes a list of all positions of a body to see whether it is empty.
 */
export class OciTransport implements HttpClientShape {
  /** The SDK's, once it was loaded. */
  signer: SignerShape | undefined;
  readonly #timeoutMs: number;
  readonly #underWay = new AsyncLocalStorage<RequestUnderWay>();

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
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
      const response = await fetch(url, { method, headers, body: body ?? null, signal, redirect: "manual" });
      if (REDIRECTS.has(response.status)) throw redirected(response);
      return response;
    } catch (error) {
      // The SDK keeps nothing but the message of what is thrown here.
      if (underWay !== undefined) underWay.failure = error;
      throw error;
    }
  }

  /**
   * Makes one request and gives up at the deadline, reading the answer included.
   * `call` hands the configuration to the SDK: what it would repeat is repeated
   * above, where it is known whether that is safe.
   */
  async request<T>(call: (retryConfiguration: object) => Promise<T>): Promise<T> {
    const deadline = new AbortController();
    const message = `no answer within ${this.#timeoutMs} ms`;
    const timer = setTimeout(() => deadline.abort(new StateError("TIMEOUT", message)), this.#timeoutMs);
    const underWay: RequestUnderWay = { signal: deadline.signal, failure: undefined };
    try {
      const work = this.#underWay.run(underWay, () => call(withoutRetries(underWay)));
      return await untilAborted(work, deadline.signal);
    } catch (error) {
      throw asFailure(error);
    } finally {
      clearTimeout(timer);
    }
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The service has none. Followed, it would carry records and a signature to wherever it points. */
const redirected = ({ status }: Response): StateError =>
  new StateError("UNAVAILABLE", `the answer is a redirect (HTTP ${status}), which is not followed; check the endpoint`);

/** Ends the SDK's loop at the one place where it does so without writing to the console. */
const withoutRetries = (underWay: RequestUnderWay): object => ({
  retryCondition: (failure: unknown): boolean => {
    underWay.failure = failure;
    return true;
  },
  terminationStrategy: {
    shouldTerminate: (): boolean => {
      // A client that was handed in has a transport of its own, and the SDK does not say what it threw.
      throw underWay.failure ?? new OciFailure("the connection failed", undefined, "unknown", undefined);
    },
  },
  delayStrategy: { delay: (): number => 0 },
});
