import { StateError } from "../errors.ts";
import type { Store } from "../store/store.ts";
import type { StoreOptions } from "../store/store-access.ts";
import { BACKENDS } from "./registry.ts";

/** The store for a URL: `sqlite:./agents.db`, `postgres://…`, `redis://…`, `memory:`. Loads only that backend. */
export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  if (typeof url !== "string") throw new TypeError("openStore() takes a URL string");
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  const known = Object.values(BACKENDS).find(({ schemes }) => scheme !== undefined && schemes.includes(scheme));
  if (known?.store !== undefined) return (await known.store.load()).openStoreUrl(url, options);
  const able = Object.values(BACKENDS).filter(({ store }) => store !== undefined);
  const shape = `it should look like ${able.map(({ example }) => example).join(", ")}`;
  // The URL is not repeated in the error: a malformed URL may hold a password anywhere.
  if (known === undefined) throw new StateError("INVALID_ARGUMENT", `no store knows this URL; ${shape}`);
  throw new StateError("UNSUPPORTED", `${known.title} keeps threads and has no store; ${shape}`);
}
