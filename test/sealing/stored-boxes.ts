import type { LogRecord } from "../../src/checkpoint/log/thread-log.ts";
import type { Keyring } from "../../src/sealing/keys/keyring.ts";
import { peekItem } from "../../src/sealing/sealed-item.ts";
import { headerPlace, partPlace } from "../../src/sealing/sealed-places.ts";
import { isBodyPart, peek } from "../../src/sealing/sealed-record.ts";
import type { StoredItem } from "../../src/store/driver/store-driver.ts";

/** A box that needs people's keys, as it is stored. */
export interface OwnBox {
  readonly ids: readonly string[];
  readonly box: Buffer;
  readonly at: Buffer;
}

/** Every box of people in a record. */
export async function boxesIn(keyring: Keyring, threadId: string, record: LogRecord): Promise<readonly OwnBox[]> {
  const where = { tenant: "", threadId };
  const key = await keyring.tenantKey("", { isNew: false });
  const { content, box: header } = peek(record, where, { key, missing: (id) => keyring.missing(id) });
  const at = headerPlace(where, record, record.metadata);
  const parts = content.p ?? [];
  let from = record.body.byteLength - parts.reduce((sum, part) => sum + (isBodyPart(part) ? part[2] : 0), 0);
  return parts.map((part) => {
    const [kind, ids] = part;
    if (!isBodyPart(part)) return { ids, box: Buffer.from(part[2], "base64url"), at: partPlace(kind, ids, at) };
    from += part[2];
    const box = Buffer.from(record.body.subarray(from - part[2], from));
    return { ids, box, at: partPlace(kind, ids, header) };
  });
}

/** Every box of people in an item. */
export async function boxesInItem(keyring: Keyring, item: StoredItem): Promise<readonly OwnBox[]> {
  const key = await keyring.tenantKey("", { isNew: false });
  const { content, at } = peekItem(item, "", key, (id) => keyring.missing(id));
  return [...(content.w === undefined ? [] : [content.w]), ...(content.p ?? [])].map(([ids, box]) => ({
    ids,
    box: Buffer.from(box, "base64url"),
    at,
  }));
}
