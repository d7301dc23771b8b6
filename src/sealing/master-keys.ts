import { newId } from "../driver/new-id.ts";
import { StateError } from "../errors.ts";
import { nodeCrypto } from "../internal/node-crypto.ts";
import { KEY_BYTES, openBox, placeBytes, sealBox } from "./box.ts";
import type { KeyProvider } from "./key-provider.ts";
import type { KeyShelf, MasterKey, RingItem, Wrapped } from "./key-shelf.ts";

/** A master key for a ring, as it is and as it is stored. */
export async function newMaster(
  ringId: string,
  provider: KeyProvider,
): Promise<{ readonly master: MasterKey; readonly key: Uint8Array }> {
  const id = newId();
  const key = nodeCrypto().randomBytes(KEY_BYTES);
  const wrapped = await provider.wrap(key, placeBytes([ringId, "master", id]));
  return { master: { ...wrapped, id, retiredAt: null }, key };
}

/** The master keys of a ring, unwrapped by the provider once each. */
export class MasterKeys {
  readonly provider: KeyProvider;
  readonly #shelf: KeyShelf;
  readonly #keys = new Map<string, Uint8Array>();
  #current = "";

  constructor(shelf: KeyShelf, provider: KeyProvider) {
    this.#shelf = shelf;
    this.provider = provider;
  }

  static wrapWith(
    master: { readonly id: string; readonly key: Uint8Array },
    plain: Uint8Array,
    place: Uint8Array,
  ): Wrapped {
    return { by: master.id, box: sealBox(master.key, plain, place).toString("base64") };
  }

  get current(): string {
    return this.#current;
  }

  /** Adopts the ring's current state. */
  async take({ id, masters }: RingItem): Promise<void> {
    for (const master of masters) {
      if (this.#keys.has(master.id)) continue;
      this.#keys.set(master.id, await this.provider.unwrap(master, placeBytes([id, "master", master.id])));
    }
    this.#current = masters.at(-1)?.id ?? "";
  }

  async unwrap({ by, box }: Wrapped, place: Uint8Array): Promise<Uint8Array> {
    if (!this.#keys.has(by)) await this.#look();
    const master = this.#keys.get(by);
    if (master === undefined) {
      const message = `a key is wrapped with the master key ${by}, which is not in the keyring: the store of the keys was mixed up, or brought back in part`;
      throw new StateError("PERMISSION_DENIED", message);
    }
    const plain = openBox(master, Buffer.from(box, "base64"), place);
    if (plain !== undefined) return plain;
    throw new StateError("CORRUPT", "a key of the keyring was damaged, or lies in another one's place");
  }

  wrap(plain: Uint8Array, place: Uint8Array): Wrapped {
    return MasterKeys.wrapWith({ id: this.#current, key: this.#known(this.#current) }, plain, place);
  }

  /** With the same master key as a neighbouring item. */
  wrapLike({ by }: Wrapped, plain: Uint8Array, place: Uint8Array): Wrapped {
    return MasterKeys.wrapWith({ id: by, key: this.#known(by) }, plain, place);
  }

  /**
   * Wraps a new key and stores it, unless another process is faster. A rotation
   * elsewhere may have retired the master key meanwhile, so the ring's state is
   * checked before and after: nothing is sealed with a key that cannot be unwrapped
   * for good.
   */
  async wrapLasting(key: Uint8Array, place: Uint8Array, put: (wrapped: Wrapped) => Promise<boolean>): Promise<void> {
    await this.#look();
    const wrapped = this.wrap(key, place);
    if (!(await put(wrapped))) return;
    const ring = await this.#look();
    if (ring.masters.some(({ id }) => id === wrapped.by)) return;
    throw new StateError("CONFLICT", "the keyring was rotated while a key was made; try again");
  }

  async #look(): Promise<RingItem> {
    const ring = (await this.#shelf.ring())?.value;
    if (ring === undefined)
      throw new StateError("NOT_FOUND", "the keyring is no longer in its store; nothing was written");
    await this.take(ring);
    return ring;
  }

  #known(id: string): Uint8Array {
    const key = this.#keys.get(id);
    if (key === undefined) throw new TypeError(`the master key ${id} was not taken`);
    return key;
  }
}
