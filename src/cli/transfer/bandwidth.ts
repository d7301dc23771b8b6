import { sleep } from "../../internal/time.ts";
import { UsageError } from "../exit-codes.ts";

const UNITS: Readonly<Record<string, number>> = { "": 1, k: 1e3, M: 1e6, G: 1e9 };

/** Bytes a second of `500k`, `10M`; `undefined` where nothing was given. */
export function bandwidthOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, digits, unit = ""] = /^(\d{1,9})([kMG]?)$/.exec(text) ?? [];
  const limit = Number(digits) * (UNITS[unit] ?? 0);
  if (limit > 0) return limit;
  throw new UsageError("--bwlimit takes bytes a second, such as 500k or 10M");
}

/** Limits the bytes written per second, over all jobs together. */
export class Bandwidth {
  readonly #limit: number;
  readonly #now: () => number;
  readonly #pause: (ms: number) => Promise<void>;
  readonly #begun: number;
  #bytes = 0;

  constructor(limit: number, now: () => number, pause: (ms: number) => Promise<void>) {
    this.#limit = limit;
    this.#now = now;
    this.#pause = pause;
    this.#begun = now();
  }

  /** Waits until what was written so far is due. */
  async took(bytes: number): Promise<void> {
    this.#bytes += bytes;
    const due = this.#begun + (this.#bytes / this.#limit) * 1000;
    const wait = due - this.#now();
    if (wait > 0) await this.#pause(wait);
  }
}

/** No limit where none was asked for. */
export function limiterOf(
  limit: number | undefined,
  now: () => number,
  signal: AbortSignal,
): (bytes: number) => Promise<void> {
  if (limit === undefined) return async () => undefined;
  const bandwidth = new Bandwidth(limit, now, (ms) => sleep(ms, signal));
  return (bytes) => bandwidth.took(bytes);
}
