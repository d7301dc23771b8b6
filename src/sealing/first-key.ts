import { beginningOf } from "../checkpoint/log/driver-rules.ts";
import type { LogEntry, ThreadLog } from "../checkpoint/log/thread-log.ts";
import { markRecord } from "../checkpoint/record/record.ts";
import { newId } from "../driver/ids.ts";
import { StateError } from "../errors.ts";
import { nodeCrypto } from "../internal/node-builtins.ts";
import type { Namespace, StoreDriver } from "../store/driver/store-driver.ts";
import type { NamedKey } from "./keys/box.ts";
import type { Keyring } from "./keys/keyring.ts";
import { NO_PEOPLE } from "./parts/thread-people.ts";
import { keyOfItem } from "./sealed-item.ts";
import { peek, sealedRecord } from "./sealed-record.ts";
import { STAGING_PREFIX } from "./staging.ts";

/**
 * The key of a tenant, to seal with. It is made for the first thing that is sealed, and
 * only if nothing of the tenant is there that was sealed with another one: then this is
 * not the keyring that belongs to the data, and what it would seal could not be read
 * beside the rest.
 */

/**
 * In a log, which may hold any number of threads of any number of tenants, a thread of
 * its own says which key each tenant has. It has no checkpoint, so no list shows it.
 */
export async function keyToSealLogWith(keyring: Keyring, log: ThreadLog, tenant: string): Promise<NamedKey> {
  const place = { tenant, threadId: `${STAGING_PREFIX}key/${digestOf(tenant)}` };
  const assertIts = (key: NamedKey | undefined, entry: LogEntry): NamedKey => {
    peek(entry, place, { key, missing: (id) => keyring.missing(id) });
    return key ?? missing(keyring);
  };
  const noted = await log.tail(place.threadId).catch((error: unknown) => nothingIfForbidden(error, undefined));
  if (noted !== undefined) return assertIts(await keyring.tenantKey(tenant, { isNew: false }), noted.entry);
  const key = (await keyring.tenantKey(tenant, { isNew: true })) ?? missing(keyring);
  const generation = newId();
  const parts = { seq: 1, writeId: newId(), base: 1, head: 0 };
  const record = markRecord("edit", parts, 0, undefined);
  const sealed = sealedRecord(record, { place, generation, key, isIndexPlain: false }, NO_PEOPLE, undefined);
  const outcome = await log.append(place.threadId, { expected: beginningOf(generation), record: sealed });
  // Another process may have noted the key meanwhile.
  return outcome.appended || outcome.tail === undefined ? key : assertIts(key, outcome.tail);
}

/** A thread's id takes fewer bytes than the name of a tenant may have. */
const digestOf = (tenant: string): string =>
  nodeCrypto().createHash("sha256").update(tenant).digest("base64url").slice(0, 22);

/** The same for a store: where the tenant has no key, every namespace that may be its own is looked at. */
export async function keyToSealItemsWith(
  keyring: Keyring,
  driver: StoreDriver,
  tenantOf: (namespace: Namespace) => string,
  namespace: Namespace,
): Promise<NamedKey> {
  const tenant = tenantOf(namespace);
  const found = await keyring.tenantKey(tenant, { isNew: false });
  if (found !== undefined) return found;
  const used = await keyInStore(driver, tenantOf, namespace).catch((error: unknown) =>
    nothingIfForbidden(error, undefined),
  );
  // Another process may have made the key, and used it, since it was looked for.
  const key = await keyring.tenantKey(tenant, { isNew: used === undefined });
  return key ?? missing(keyring, used);
}

const PAGE = 500;

/** The key that an item of the tenant is sealed with, if there is one. */
async function keyInStore(
  driver: StoreDriver,
  tenantOf: (namespace: Namespace) => string,
  namespace: Namespace,
): Promise<string | undefined> {
  const [own = ""] = namespace;
  const likeliest = await keyBelow(driver, own);
  if (likeliest !== undefined) return likeliest;
  const tenant = tenantOf(namespace);
  let after: Namespace | undefined;
  let first: string | undefined;
  for (;;) {
    const page = await driver.namespaces([], { limit: PAGE, ...(after !== undefined && { after }) });
    for (const [segment = ""] of page) {
      if (segment === first) continue;
      first = segment;
      if (segment === own || tenantOf([segment]) !== tenant) continue;
      const used = await keyBelow(driver, segment);
      if (used !== undefined) return used;
    }
    after = page.at(-1);
    if (page.length < PAGE) return undefined;
  }
}

async function keyBelow(driver: StoreDriver, segment: string): Promise<string | undefined> {
  const scope = { namespace: [segment], recursive: true, condition: undefined };
  // The first item has it, unless items in plain come before.
  for (let limit = 1, after = undefined as Parameters<StoreDriver["scan"]>[1]["after"]; ; limit = PAGE) {
    const page = await driver.scan(scope, { limit, ...(after !== undefined && { after }) });
    for (const item of page) {
      const used = keyOfItem(item);
      if (used !== undefined) return used;
    }
    after = page.at(-1);
    if (page.length < limit) return undefined;
  }
}

function missing(keyring: Keyring, id = "of the tenant"): never {
  throw keyring.missing(id);
}

/** A caller that may write and not look writes. */
function nothingIfForbidden<Nothing>(error: unknown, nothing: Nothing): Nothing {
  if (StateError.is(error, "PERMISSION_DENIED") || StateError.is(error, "UNSUPPORTED")) return nothing;
  throw error;
}
