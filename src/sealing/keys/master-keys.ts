import { newId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { newKey, openBox, placeBytes, sealBox } from "./box.ts";
import type { Kept, KeyShelf, MasterKey, RingItem, Wrapped } from "./key-shelf.ts";
import type { OuterKeys } from "./outer-keys.ts";

const MOST_RACES = 20;

/** A master key for a ring, as it is and as it is stored. */
export async function newMaster(
  ringId: string,
  outer: OuterKeys,
): Promise<{ readonly master: MasterKey; readonly key: Uint8Array }> {
  const id = newId();
  const place = placeBytes([ringId, "master", id]);
  const key = newKey(place);
  const wrapped = await outer.wrap(key, place);
  return { master: { ...wrapped, id, retiredAt: null }, key };
}

/** The name of the master key that wraps. */
export const currentOf = ({ masters }: RingItem): string => masters.at(-1)?.id ?? "";

/** How the key that is being made lies in the store: wrapped by which master key, in which version. */
export interface StoredKey {
  readonly by: string | undefined;
  readonly version: string | null;
}

/** Where a new key is stored. */
export interface PlaceOfKey {
  /** The version that it has then; `undefined` if another one is there. */
  readonly put: (wrapped: Wrapped, version: string | null) => Promise<string | undefined>;
  /** `undefined` if the key is there no more. */
  readonly read: () => Promise<StoredKey | undefined>;
}

/**
 * The master keys of a ring, unwrapped by the provider once each, when one is needed.
 * A retired one wraps nothing any more, so that it need not open.
 */
export class MasterKeys {
  readonly outer: OuterKeys;
  readonly #shelf: KeyShelf;
  readonly #keys = new Map<string, Uint8Array>();
  #ring: RingItem;

  constructor(shelf: KeyShelf, outer: OuterKeys, ring: RingItem) {
    this.#shelf = shelf;
    this.outer = outer;
    this.#ring = ring;
  }

  static wrapWith(
    master: { readonly id: string; readonly key: Uint8Array },
    plain: Uint8Array,
    place: Uint8Array,
  ): Wrapped {
    return { by: master.id, box: sealBox(master.key, plain, place).toString("base64") };
  }

  /** `what`: whose key it is, for errors; `keyId`: that of a person, without which everything else opens. */
  async unwrap({ by, box }: Wrapped, place: Uint8Array, what: string, keyId?: string): Promise<Uint8Array> {
    const master = await this.#master(by);
    if (master === undefined) {
      const message = `${what} is wrapped with the master key ${by}, which is not in the keyring: the store of the keys was mixed up, or brought back in part`;
      throw new StateError("PERMISSION_DENIED", message, keyId === undefined ? {} : { keyId });
    }
    const plain = openBox(master, Buffer.from(box, "base64"), place);
    if (plain !== undefined) return plain;
    throw new StateError("CORRUPT", `${what} was damaged in the keyring, or lies in another one's place`);
  }

  /**
   * Reads an item and opens the key in it. A rotation may wrap that anew, and remove
   * its old master key, in between: then the item is read again.
   */
  async open<Item>(
    read: () => Promise<Kept<Item> | undefined>,
    keyIn: (item: Item) => Parameters<MasterKeys["unwrap"]> | undefined,
  ): Promise<{ readonly kept: Kept<Item>; readonly key: Uint8Array | undefined } | undefined> {
    let seen: string | undefined;
    for (let races = 0; ; races++) {
      const kept = await read();
      if (kept === undefined) return undefined;
      const given = keyIn(kept.value);
      try {
        return { kept, key: given && (await this.unwrap(...given)) };
      } catch (error) {
        if (!StateError.is(error, "PERMISSION_DENIED") || kept.version === seen || races >= MOST_RACES) throw error;
        seen = kept.version;
      }
    }
  }

  async wrapBy(id: string, plain: Uint8Array, place: Uint8Array): Promise<Wrapped> {
    const key = await this.#master(id);
    if (key === undefined) throw rotatedMeanwhile();
    return MasterKeys.wrapWith({ id, key }, plain, place);
  }

  /**
   * Wraps a new key and stores it, unless another process is faster. A rotation
   * elsewhere may have begun meanwhile, and have passed the key's place before the key
   * was there. So the ring is looked at afterwards, and the key wrapped again until it
   * is wrapped with the current master key: every later rotation then meets it.
   */
  async wrapLasting(key: Uint8Array, place: Uint8Array, version: string | null, shelf: PlaceOfKey): Promise<void> {
    let stored: StoredKey = { by: undefined, version };
    for (let races = 0; races < MOST_RACES; races++) {
      const current = currentOf(await this.#look());
      if (stored.by === current) return;
      const wrapped = await this.wrapBy(current, key, place);
      const written = await shelf.put(wrapped, stored.version);
      if (written !== undefined) {
        stored = { by: wrapped.by, version: written };
        continue;
      }
      // Another process made one first. Or it was ours already, and a rotation has wrapped it.
      const found = stored.by === undefined ? undefined : await shelf.read();
      if (found === undefined) return;
      stored = found;
    }
    throw rotatedMeanwhile();
  }

  /** `undefined` if the ring has none of that name. */
  async #master(id: string): Promise<Uint8Array | undefined> {
    const known = this.#keys.get(id);
    if (known !== undefined) return known;
    const named = (ring: RingItem): MasterKey | undefined => ring.masters.find((each) => each.id === id);
    const master = named(this.#ring) ?? named(await this.#look());
    if (master === undefined) return undefined;
    const key = await this.outer.unwrap(master, placeBytes([this.#ring.id, "master", id]));
    this.#keys.set(id, key);
    return key;
  }

  async #look(): Promise<RingItem> {
    const ring = (await this.#shelf.ring())?.value;
    if (ring === undefined)
      throw new StateError("NOT_FOUND", "the keyring is no longer in its store; nothing was written");
    this.#ring = ring;
    return ring;
  }
}

const rotatedMeanwhile = (): StateError =>
  new StateError("CONFLICT", "the keyring is being rotated all the time; try again later");
