import { StateError } from "../errors.ts";
import type { StoreOptions } from "../store/items/store-access.ts";
import type { Store } from "../store/store.ts";
import { backendOf, fixedUrl } from "./open.ts";
import { BACKENDS } from "./registry.ts";

/** The store for a URL: `sqlite:./agents.db`, `postgres://…`, `redis://…`, `memory:`. Loads only that backend. */
export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  if (typeof url !== "string") throw new TypeError("openStore() takes a URL string");
  const able = Object.values(BACKENDS).filter(({ store }) => store !== undefined);
  const { title, store } = backendOf(url, "store", able);
  if (store === undefined) {
    const shape = `it should look like ${able.map(({ example }) => example).join(", ")}`;
    throw new StateError("UNSUPPORTED", `${title} keeps threads and has no store; ${shape}`);
  }
  const place = fixedUrl(url);
  return (await store.load()).openStoreUrl(place, options);
}
