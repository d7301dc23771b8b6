import { newId } from "../driver/new-id.ts";
import { StateError } from "../errors.ts";
import { nodeCrypto } from "../internal/node-crypto.ts";
import { KEY_BYTES, openBox, placeBytes, sealBox } from "./box.ts";
import type { KeyShelf, MasterKey, RingItem, Wrapped } from "./key-shelf.ts";
import type { OuterKeys } from "./outer-keys.ts";

const MOST_RACES = 20;

/** A master key for a ring, as it is and as it is stored. */
export async function newMaster(
  ringId: string,
  outer: OuterKeys,
): Promise<{ readonly master: MasterKey; readonly key: Uint8Array }> {
  const id = newId();
  const key = nodeCrypto().randomBytes(KEY_BYTES);
  const wrapped = await outer.wrap(key, placeBytes([ringId, "master", id]));
  return { master: { ...wrapped, id, retiredAt: null }, key };
}

/** The name of the master key that wraps. */
export const currentOf = ({ masters }: RingItem): string => masters.at(-1)?.id ?? "";

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

  /** `what`: whose key it is, for errors. */
  async unwrap({ by, box }: Wrapped, place: Uint8Array, what: string): Promise<Uint8Array> {
    const master = await this.#master(by);
    if (master === undefined) {
      const message = `${what} is wrapped with the master key ${by}, which is not in the keyring: the store of the keys was mixed up, or brought back in part`;
      throw new StateError("PERMISSION_DENIED", message);
    }
    const plain = openBox(master, Buffer.from(box, "base64"), place);
    if (plain !== undefined) return plain;
    throw new StateError("CORRUPT", `${what} was damaged in the keyring, or lies in another one's place`);
  }

  async wrapBy(id: string, plain: Uint8Array, place: Uint8Array): Promise<Wrapped> {
    const key = await this.#master(id);
    if (key === undefined) throw rotatedMeanwhile();
    return MasterKeys.wrapWith({ id, key }, plain, place);
  }

  /**
   * Wraps a new key and stores it, unless another process is faster. A rotation
   * elsewhere may have removed the master key meanwhile, so the ring is looked at
   * afterwards, and the key wrapped again: nothing is sealed with a key that cannot
   * be unwrapped for good.
   */
  async wrapLasting(
    key: Uint8Array,
    place: Uint8Array,
    version: number,
    put: (wrapped: Wrapped, version: number) => Promise<number | undefined>,
  ): Promise<void> {
    let replaced = version;
    for (let races = 0; races < MOST_RACES; races++) {
      const wrapped = await this.wrapBy(currentOf(await this.#look()), key, place);
      const written = await put(wrapped, replaced);
      if (written === undefined) return;
      const { masters } = await this.#look();
      if (masters.some(({ id }) => id === wrapped.by)) return;
      replaced = written;
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
