import { isReadable } from "../checkpoint/listed-threads.ts";
import type { ListedThread, LogPage, ThreadLog } from "../checkpoint/thread-log.ts";
import { StateError } from "../errors.ts";
import type { Namespace, StoreDriver } from "../store/store-driver.ts";
import type { NamedKey } from "./box.ts";
import type { Keyring } from "./keyring.ts";
import { keyOfItem } from "./sealed-item.ts";
import { keyOfHeader } from "./sealed-record.ts";
import { isStaging } from "./staging.ts";

/**
 * The key of a tenant, to seal with. It is made for the first thing that is sealed, and
 * only if nothing of the tenant is there that was sealed with another one: then this is
 * not the keyring that belongs to the data, and what it would seal could not be read
 * beside the rest.
 */
export async function keyToSealWith(
  keyring: Keyring,
  tenant: string,
  keyInUse: () => Promise<string | undefined>,
): Promise<NamedKey> {
  const found = await keyring.tenantKey(tenant, { isNew: false });
  if (found !== undefined) return found;
  const used = await keyInUse();
  // Another process may have made the key, and used it, since it was looked for.
  const key = await keyring.tenantKey(tenant, { isNew: used === undefined });
  if (key === undefined) throw keyring.missing(used ?? "of the tenant");
  return key;
}

/** A short look: it happens once in the life of a tenant. */
const LOOKED_AT = 20;

/** The key that a thread of this tenant is sealed with, where one of the first has such a key. */
export async function keyInLog(
  log: ThreadLog,
  tenantOf: (threadId: string) => string,
  tenant: string,
): Promise<string | undefined> {
  if (!log.capabilities.listThreads) return undefined;
  const { items } = await log
    .listThreads({ prefix: "", limit: LOOKED_AT })
    .catch((error: unknown) => nothingIfForbidden<LogPage<ListedThread>>(error, { items: [], cursor: undefined }));
  const own = items.filter(isReadable).filter(({ threadId }) => !isStaging(threadId) && tenantOf(threadId) === tenant);
  return own.flatMap(({ head }) => keyOfHeader(head) ?? [])[0];
}

/** The same of an item. */
export async function keyInStore(
  driver: StoreDriver,
  tenantOf: (namespace: Namespace) => string,
  tenant: string,
): Promise<string | undefined> {
  const everything = { namespace: [], recursive: true, condition: undefined };
  const items = await driver
    .scan(everything, { limit: LOOKED_AT })
    .catch((error: unknown) => nothingIfForbidden(error, []));
  return items.filter(({ namespace }) => tenantOf(namespace) === tenant).flatMap((item) => keyOfItem(item) ?? [])[0];
}

/** Whoever may write and not look writes. */
function nothingIfForbidden<Nothing>(error: unknown, nothing: Nothing): Nothing {
  if (StateError.is(error, "PERMISSION_DENIED") || StateError.is(error, "UNSUPPORTED")) return nothing;
  throw error;
}
