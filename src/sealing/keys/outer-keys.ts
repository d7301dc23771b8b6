import { reasonOf, StateError } from "../../errors.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import { inTime } from "../../internal/time.ts";
import { KEY_BYTES } from "./box.ts";
import type { KeyProvider, WrappedKey } from "./key-provider.ts";

/**
 * A provider whose answers come in time and are what they have to be. All that is
 * sealed hangs on them, and a wrong one that was written down would be found when
 * nothing opens any more.
 */
export class OuterKeys {
  readonly #provider: KeyProvider;
  readonly #timeoutMs: number;

  constructor(provider: KeyProvider, timeoutMs: number) {
    this.#provider = provider;
    this.#timeoutMs = timeoutMs;
  }

  /** The key wrapped, after it was unwrapped again for proof. */
  async wrap(key: Uint8Array, place: Uint8Array): Promise<WrappedKey> {
    // A copy: the provider may wipe the bytes it is given.
    const answer = await this.#asked(() => this.#provider.wrap(Uint8Array.from(key), place));
    const { by, wrapped } = (answer ?? {}) as Partial<WrappedKey>;
    if (!isText(by) || !isText(wrapped)) {
      throw this.#wrong("wrap() must answer with { by, wrapped }, two texts that are not empty");
    }
    const again = await this.unwrap({ by, wrapped }, place);
    if (nodeCrypto().timingSafeEqual(again, key)) return { by, wrapped };
    throw this.#wrong("unwrap() does not give back what wrap() was given");
  }

  async unwrap({ by, wrapped }: WrappedKey, place: Uint8Array): Promise<Uint8Array> {
    const key: unknown = await this.#asked(() => this.#provider.unwrap({ by, wrapped }, place));
    if (key instanceof Uint8Array && key.byteLength === KEY_BYTES) return Uint8Array.from(key);
    throw this.#wrong(`unwrap() must answer with ${KEY_BYTES} bytes, as a Uint8Array`);
  }

  async #asked<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    try {
      // A provider in plain JavaScript may answer without a promise.
      return await inTime(
        this.#timeoutMs,
        Promise.resolve().then(() => call()),
      );
    } catch (cause) {
      if (StateError.is(cause)) throw cause;
      throw new StateError(codeOf(cause), `${this.#name}: ${reasonOf(cause)}. Nothing was written`, { cause });
    }
  }

  get #name(): string {
    const { name } = this.#provider;
    return isText(name) ? name : "the key provider";
  }

  #wrong(why: string): StateError {
    return new StateError("INVALID_ARGUMENT", `${this.#name}: ${why}. Nothing was written`);
  }
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** Whatever a service says: it did not say that the key is gone. */
const codeOf = (cause: unknown): "TIMEOUT" | "UNAVAILABLE" =>
  cause instanceof DOMException && cause.name === "TimeoutError" ? "TIMEOUT" : "UNAVAILABLE";
