import { assertUserId } from "../driver/ids.ts";
import type { BaseStore } from "../store/base-store.ts";
import { assertKey } from "../store/driver/namespaces.ts";
import type { Namespace } from "../store/driver/store-driver.ts";

/** The first segment of the namespaces that hold data about people. The second one is the person. */
export const USER_ROOT = "holdfast:users";

export interface UserItem<Value = unknown> {
  readonly key: string;
  readonly value: Value;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Data about people, on a store that is handed in; `UserStore` opens one by itself. */
export class CoreUserStore {
  readonly #store: () => Promise<BaseStore>;

  constructor(store: () => Promise<BaseStore>) {
    this.#store = store;
  }

  async set(userId: string, key: string, value: unknown): Promise<void> {
    const namespace = namespaceOf(userId);
    assertKey(key);
    const store = await this.#store();
    // Not indexed by words: personal facts are looked up by name, or erased.
    await store.put(namespace, key, value, { metadata: { subject: userId }, index: false });
  }

  async get<Value = unknown>(userId: string, key: string): Promise<Value | undefined>;
  async get<Value>(userId: string, key: string, otherwise: Value): Promise<Value>;
  async get<Value>(userId: string, key: string, otherwise?: Value): Promise<Value | undefined> {
    const namespace = namespaceOf(userId);
    assertKey(key);
    const item = await (await this.#store()).getItem<Value>(namespace, key);
    return item === undefined ? otherwise : item.value;
  }

  /** Everything that is kept about a person, in the order of its keys. */
  async list(userId: string): Promise<readonly UserItem[]> {
    const namespace = namespaceOf(userId);
    const store = await this.#store();
    const items: UserItem[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.list(namespace, { limit: 500, ...(cursor !== undefined && { cursor }) });
      for (const { key, value, createdAt, updatedAt } of page) items.push({ key, value, createdAt, updatedAt });
      cursor = page.cursor;
    } while (cursor !== undefined);
    return items;
  }

  /**
   * Deletes what this store keeps about a person and returns how many values that
   * were. Checkpoints are not changed: `eraseUser` reaches them.
   */
  async deleteUser(userId: string): Promise<number> {
    const namespace = namespaceOf(userId);
    return (await this.#store()).clearNamespace(namespace);
  }
}

function namespaceOf(userId: string): Namespace {
  assertUserId(userId);
  return [USER_ROOT, userId];
}
