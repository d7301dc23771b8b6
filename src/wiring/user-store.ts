import { fixedUrl } from "../backends/open.ts";
import { openStore } from "../backends/open-store.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { optionsOf } from "../driver/options.ts";
import { StateError } from "../errors.ts";
import { described } from "../internal/known-options.ts";
import { CoreUserStore } from "../session/user-store.ts";
import { BaseStore } from "../store/base-store.ts";

const DEFAULT_BACKEND = "sqlite:.user_store.db";

/** Separate tables or keys in whatever database a URL names, never shared with threads. */
const OWN_TABLES = ["tablePrefix", "user_"] as const;
const OWN_SPACE: Readonly<Record<string, readonly [parameter: string, value: string]>> = {
  sqlite: OWN_TABLES,
  postgres: OWN_TABLES,
  postgresql: OWN_TABLES,
  redis: ["prefix", "holdfast-user:"],
  rediss: ["prefix", "holdfast-user:"],
};

export interface UserStoreOptions {
  /** A store, or a URL for `openStore`. @default a SQLite file of its own, `.user_store.db` */
  readonly backend?: BaseStore | string;
}

/**
 * Data about people, kept apart from what agents do. It is deleted when a person
 * asks, and no process stops working because of that.
 */
export class UserStore extends CoreUserStore {
  readonly #opened: OpenOnce<BaseStore>;
  readonly #isOwn: boolean;
  #isClosed = false;

  constructor(options: UserStoreOptions = {}) {
    const { backend = DEFAULT_BACKEND } = optionsOf("new UserStore", options, { backend: true });
    if (typeof backend !== "string" && !BaseStore.is(backend)) {
      throw new TypeError(`UserStore({ backend }) takes a store or a URL for openStore(), not ${described(backend)}`);
    }
    const given = typeof backend === "string" ? fixedUrl(backend) : backend;
    const opened = new OpenOnce(async () => (typeof given === "string" ? openUserStore(given) : given));
    super(async () => {
      if (this.#isClosed) throw new StateError("CLOSED", "this UserStore is closed; make a new one");
      return opened.get();
    });
    this.#opened = opened;
    this.#isOwn = typeof backend === "string";
  }

  /** Closes the store where it was opened here, from a URL. One that was handed in stays open. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#isOwn) await (await this.#opened.opened())?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** The store that a `UserStore` uses for this URL. */
export const openUserStore = (url: string): Promise<BaseStore> => openStore(inOwnSpace(url));

/** The same URL, with our own prefix if it names no other. */
function inOwnSpace(url: string): string {
  const scheme = url.slice(0, Math.max(url.indexOf(":"), 0)).toLowerCase();
  const own = Object.hasOwn(OWN_SPACE, scheme) ? OWN_SPACE[scheme] : undefined;
  if (own === undefined) return url;
  const [place = "", query] = url.split("?");
  const parameters = new URLSearchParams(query);
  if (parameters.has(own[0]) || parameters.has("schema")) return url;
  return `${place}?${query === undefined || query === "" ? "" : `${query}&`}${own[0]}=${encodeURIComponent(own[1])}`;
}
