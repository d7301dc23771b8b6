import { invalid, optionsOf } from "../../driver/options.ts";
import { BaseStore } from "../../store/base-store.ts";
import type { KeyProvider } from "./key-provider.ts";
import { OuterKeys } from "./outer-keys.ts";

export interface KeyringOptions {
  /** Where the keys lie, each of them wrapped. Apart from what they seal, and from its backups. */
  readonly store: BaseStore;
  /** Who keeps the outermost key: `fileKeys(path)`, `environmentKeys(name)`, `ociVaultKeys(…)`. */
  readonly provider: KeyProvider;
  /**
   * How long this process relies on the key of a person that it has seen. So long
   * after it was destroyed elsewhere, it may still be used here. @default 30_000
   */
  readonly cacheMs?: number;
  /** How long the provider may take for one answer. @default 30_000 */
  readonly timeoutMs?: number;
  /** @default Date.now */
  readonly now?: () => number;
}

/** Every option, checked. */
export interface CheckedKeyringOptions {
  readonly store: BaseStore;
  readonly outer: OuterKeys;
  readonly cacheMs: number;
  readonly now: () => number;
}

export function checkedOptions(method: string, options: KeyringOptions): CheckedKeyringOptions {
  const names = { store: true, provider: true, cacheMs: true, timeoutMs: true, now: true } as const;
  const given = optionsOf(method, options, names);
  const { store, provider, cacheMs = 30_000, timeoutMs = 30_000, now = Date.now } = given;
  if (!BaseStore.is(store)) throw new TypeError(`${method}({ store }) takes a store, such as openStore() gives`);
  if (typeof provider?.wrap !== "function" || typeof provider.unwrap !== "function") {
    throw new TypeError(`${method}({ provider }) takes a KeyProvider, such as fileKeys(path)`);
  }
  if (!(typeof cacheMs === "number" && cacheMs >= 0)) throw invalid("cacheMs must be a number of milliseconds");
  if (!(typeof timeoutMs === "number" && timeoutMs > 0)) throw invalid("timeoutMs must be a number greater than 0");
  if (typeof now !== "function") throw invalid("now must be a function that tells the time, such as Date.now");
  return { store, outer: new OuterKeys(provider, timeoutMs), cacheMs, now };
}
