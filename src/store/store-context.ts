import type { Page } from "../driver/page.ts";
import { StateError } from "../errors.ts";
import type { BaseStore, NamespacedStore } from "./base-store.ts";
import { assertNamespace } from "./driver/namespaces.ts";
import type { Namespace } from "./driver/store-driver.ts";
import type { PutOptions, PutResult, StoreHit, StoreSearchOptions } from "./items/items.ts";

export interface StoreContextOptions {
  /** Whose memories `remember`, `recall`, `forget` and `searchMemories` are about. */
  readonly userId?: string;
  readonly sessionId?: string;
  /** What every namespace begins with. @default [] */
  readonly prefix?: Namespace;
}

/**
 * A store for the work on one user's behalf: `users/<id>`, `sessions/<id>` and
 * `global` as namespaces. Without a user, everything about a user throws:
 * an answer "nothing is known" would be about a different user.
 */
export class StoreContext {
  readonly store: BaseStore;
  readonly userId: string | undefined;
  readonly sessionId: string | undefined;
  readonly #prefix: Namespace;

  constructor(store: BaseStore, { userId, sessionId, prefix = [] }: StoreContextOptions = {}) {
    for (const segment of [userId, sessionId]) if (segment !== undefined) assertNamespace([segment]);
    if (prefix.length > 0) assertNamespace(prefix);
    this.store = store;
    this.userId = userId;
    this.sessionId = sessionId;
    this.#prefix = prefix;
  }

  /** What belongs to a user. @default the context's user */
  forUser(userId: string | undefined = this.userId): NamespacedStore {
    return this.#inside("users", userId, "userId");
  }

  /** What belongs to a session. @default the context's session */
  forSession(sessionId: string | undefined = this.sessionId): NamespacedStore {
    return this.#inside("sessions", sessionId, "sessionId");
  }

  async remember(key: string, value: unknown, options?: PutOptions): Promise<PutResult> {
    return this.#memories().put(key, value, options);
  }

  async recall<Value = unknown>(key: string): Promise<Value | undefined> {
    return this.#memories().get<Value>(key);
  }

  /** Says whether there was anything to forget. */
  async forget(key: string): Promise<boolean> {
    return this.#memories().delete(key);
  }

  async searchMemories<Value = unknown>(options?: string | StoreSearchOptions): Promise<Page<StoreHit<Value>>> {
    return this.#memories().search<Value>(options);
  }

  async getGlobal<Value = unknown>(key: string): Promise<Value | undefined> {
    return this.store.scoped(...this.#prefix, "global").get<Value>(key);
  }

  async setGlobal(key: string, value: unknown, options?: PutOptions): Promise<PutResult> {
    return this.store.scoped(...this.#prefix, "global").put(key, value, options);
  }

  #memories(): NamespacedStore {
    return this.forUser().scoped("memories");
  }

  #inside(kind: string, id: string | undefined, option: string): NamespacedStore {
    if (id !== undefined) return this.store.scoped(...this.#prefix, kind, id);
    throw new StateError("INVALID_ARGUMENT", `there is no ${option}: new StoreContext(store, { ${option} })`);
  }
}
