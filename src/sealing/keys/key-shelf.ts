import { NOT_SCRUBBED, type ScrubReport } from "../../driver/driver.ts";
import { StateError } from "../../errors.ts";
import type { AppliedMark } from "../../state/people/applied-mark.ts";
import type { BaseStore } from "../../store/base-store.ts";
import type { Namespace } from "../../store/driver/store-driver.ts";
import { accessOf } from "../../store/items/store-access.ts";
import type { WrappedKey } from "./key-provider.ts";

/**
 * How a keyring lies in its store. Every key is wrapped by a master key of the
 * ring, and that by the provider's.
 *
 *   holdfast:keys / ring      ring      its id, its master keys, the index key
 *   holdfast:keys / tenants   t/NAME    the key of a tenant
 *   holdfast:keys / people    TOKEN     the key of a person, or that it was destroyed
 *
 * A TOKEN is a hash of the person's id under the index key, so that the store
 * shows no person's id; the id itself is wrapped like the key, and goes with it.
 */

/** What a master key wraps. In base64. */
export interface Wrapped {
  readonly by: string;
  readonly box: string;
}

export interface MasterKey extends WrappedKey {
  readonly id: string;
  /** Since when nothing is wrapped with it any more; `null` for the one that wraps. */
  readonly retiredAt: number | null;
}

export interface RingItem {
  readonly format: 1;
  readonly id: string;
  readonly createdAt: number;
  /** The last one wraps. */
  readonly masters: readonly MasterKey[];
  /** A rotation has begun: keys under earlier master keys still have to be rewrapped. */
  readonly isRotating: boolean;
  readonly index: Wrapped;
  /** How far the erasures of a ledger were carried out here. */
  readonly mark?: AppliedMark;
}

export interface TenantItem {
  readonly tenant: string;
  readonly id: string;
  readonly createdAt: number;
  readonly key: Wrapped;
}

export interface PersonItem {
  /** How often this person was given a key. */
  readonly number: number;
  /** Random, so that no two keys have the same name: not even those that two copies of a keyring gave the same person. */
  readonly nonce: string;
  readonly createdAt: number;
  /** The tenant and the person's id; `null` where the key was destroyed. */
  readonly name: Wrapped | null;
  readonly key: Wrapped | null;
  readonly destroyedAt: number | null;
}

const ROOT = "holdfast:keys";
const RING: Namespace = [ROOT, "ring"];
export const TENANTS: Namespace = [ROOT, "tenants"];
export const PEOPLE: Namespace = [ROOT, "people"];

export const keyOfTenant = (tenant: string): string => `t/${tenant}`;

export interface Kept<Item> {
  readonly key: string;
  readonly value: Item;
  readonly version: string;
}

const PAGE = 500;

/** Reads and writes the items; each write says which version it replaces. */
export class KeyShelf {
  readonly #store: BaseStore;

  constructor(store: BaseStore) {
    this.#store = store;
  }

  ring(): Promise<Kept<RingItem> | undefined> {
    return this.#get<RingItem>(RING, "ring");
  }

  putRing(value: RingItem, expectedVersion: string | null): Promise<string | undefined> {
    return this.#put(RING, "ring", value, expectedVersion);
  }

  tenant(tenant: string): Promise<Kept<TenantItem> | undefined> {
    return this.#get<TenantItem>(TENANTS, keyOfTenant(tenant));
  }

  putTenant(value: TenantItem, expectedVersion: string | null): Promise<string | undefined> {
    return this.#put(TENANTS, keyOfTenant(value.tenant), value, expectedVersion);
  }

  person(token: string): Promise<Kept<PersonItem> | undefined> {
    return this.#get<PersonItem>(PEOPLE, token);
  }

  putPerson(token: string, value: PersonItem, expectedVersion: string | null): Promise<string | undefined> {
    return this.#put(PEOPLE, token, value, expectedVersion);
  }

  /**
   * In pages. An item that cannot be read is reported to `damaged`, and the others are read all the
   * same.
   */
  async *all<Item>(
    namespace: readonly string[],
    damaged: (error: StateError) => void,
  ): AsyncGenerator<readonly Kept<Item>[], void, undefined> {
    let cursor: string | undefined;
    do {
      const page = await this.#store.list<Item>(namespace, { limit: PAGE, ...(cursor !== undefined && { cursor }) });
      for (const { code, message } of page.warnings) {
        damaged(new StateError(code, `a key of the keyring cannot be read: ${message}`));
      }
      yield page.map(({ key, value, version }) => ({ key, value, version }));
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  async scrub(): Promise<ScrubReport> {
    const access = accessOf(this.#store);
    if (access === undefined) return NOT_SCRUBBED;
    return access.call({ operation: "erase" }, (driver) => driver.scrub());
  }

  async #get<Item>(namespace: readonly string[], key: string): Promise<Kept<Item> | undefined> {
    const item = await this.#store.getItem<Item>(namespace, key);
    return item && { key, value: item.value, version: item.version };
  }

  /** The version that it has now; `undefined` if another one is there: another process was faster. */
  async #put(
    namespace: readonly string[],
    key: string,
    value: object,
    expectedVersion: string | null,
  ): Promise<string | undefined> {
    try {
      return (await this.#store.put(namespace, key, value, { expectedVersion, index: false })).version;
    } catch (error) {
      if (StateError.is(error, "CONFLICT")) return undefined;
      throw error;
    }
  }
}

/** The name of a person's key: its owner, its number among that person's keys, and a nonce. */
export const nameOfKey = (token: string, { number, nonce }: Pick<PersonItem, "number" | "nonce">): string =>
  `${token}.${number}.${nonce}`;

export function partsOfId(id: string): { readonly token: string; readonly number: number } {
  const [token = "", number] = id.split(".");
  return { token, number: Number(number) };
}

/**
 * Whether a person's item tells what became of the key of that name: it is this one, or
 * was destroyed. An older copy of the keyring, which never had it, may have given the
 * person another one of the same number.
 */
export function knowsKey(item: PersonItem, id: string): boolean {
  const { token, number } = partsOfId(id);
  return item.number > number || (item.number === number && (item.key === null || nameOfKey(token, item) === id));
}

/** This key is damaged, or its master key is missing; every other key still opens. */
export const isOneKeysTrouble = (error: unknown): error is StateError =>
  StateError.is(error) && (error.code === "CORRUPT" || error.context.keyId !== undefined);
