/** Long because it is the whole life of a key: made, found, kept at hand, renewed and destroyed, each under the same rules. */

import type { ScrubReport } from "../../driver/driver.ts";
import { newId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import { Recent } from "../../internal/recent.ts";
import { type AppliedMark, laterMark } from "../../state/people/applied-mark.ts";
import { type NamedKey, newKey, placeBytes } from "./box.ts";
import {
  isOneKeysTrouble,
  type Kept,
  KeyShelf,
  knowsKey,
  nameOfKey,
  PEOPLE,
  type PersonItem,
  partsOfId,
  type RingItem,
  type Wrapped,
} from "./key-shelf.ts";
import { type CheckedKeyringOptions, checkedOptions, type KeyringOptions } from "./keyring-options.ts";
import { MasterKeys, newMaster, type StoredKey } from "./master-keys.ts";
import type { RotationOptions, RotationReport } from "./rotation.ts";

/** A person who has a key. */
export interface KeyedPerson {
  readonly token: string;
  readonly tenant: string;
  readonly subject: string;
  readonly createdAt: number;
}

/** A tenant's key, and when it was last seen in the store. */
interface KnownTenant {
  readonly named: NamedKey;
  readonly at: number;
}

/** A person's key as it was read at some time; without a key, it was destroyed. */
interface KnownPerson {
  readonly item: PersonItem;
  readonly version: string;
  readonly key: NamedKey | undefined;
  readonly at: number;
}

/** Keys by their names; a destroyed one is `undefined`. */
export type KeysById = ReadonlyMap<string, NamedKey | undefined>;

/** A person's key, with its owner. */
export interface PersonKey extends NamedKey {
  readonly subject: string;
}

const NO_KEYS: KeysById = new Map();

const MOST_RACES = 20;
const MOST_CACHED = 10_000;
const NONCE_BYTES = 6;

/**
 * The keys that data is sealed with: one for each tenant, one for each person. A
 * person's key can be destroyed, and then nothing that was sealed with it can be
 * read again, wherever a copy of it is.
 */
export class Keyring {
  readonly id: string;
  readonly #shelf: KeyShelf;
  readonly #masters: MasterKeys;
  readonly #indexKey: Uint8Array;
  readonly #now: () => number;
  readonly #cacheMs: number;
  readonly #tenants = new Map<string, KnownTenant>();
  readonly #people = new Recent<KnownPerson>(MOST_CACHED);
  /** By tenant and person, because computing one costs as much as sealing two boxes. */
  #tokens = new Recent<string>(MOST_CACHED);
  /** How often a key was forgotten: what was read before that may be that key. */
  #forgotten = 0;

  private constructor(
    ring: RingItem,
    shelf: KeyShelf,
    masters: MasterKeys,
    indexKey: Uint8Array,
    checked: CheckedKeyringOptions,
  ) {
    if (!(masters instanceof MasterKeys)) {
      throw new TypeError(
        "there is no new Keyring(): await Keyring.open({ store, provider }), or Keyring.create() once",
      );
    }
    this.id = ring.id;
    this.#shelf = shelf;
    this.#masters = masters;
    this.#indexKey = indexKey;
    this.#now = checked.now;
    this.#cacheMs = checked.cacheMs;
  }

  /** Creates a new keyring. An existing one is refused and not changed. */
  static async create(options: KeyringOptions): Promise<Keyring> {
    const checked = checkedOptions("Keyring.create", options);
    const shelf = new KeyShelf(checked.store);
    if ((await shelf.ring()) !== undefined) throw alreadyThere();
    const id = newId();
    const { master, key } = await newMaster(id, checked.outer);
    const place = placeBytes([id, "index"]);
    const index = MasterKeys.wrapWith({ id: master.id, key }, newKey(place), place);
    const ring: RingItem = { format: 1, id, createdAt: checked.now(), masters: [master], isRotating: false, index };
    if ((await shelf.putRing(ring, null)) === undefined) throw alreadyThere();
    return Keyring.open(options);
  }

  /** Opens an existing keyring. Never creates one: if keys were lost, new ones would open nothing. */
  static async open(options: KeyringOptions): Promise<Keyring> {
    const checked = checkedOptions("Keyring.open", options);
    const shelf = new KeyShelf(checked.store);
    const ring = (await shelf.ring())?.value;
    if (ring === undefined) {
      throw new StateError(
        "NOT_FOUND",
        "there is no keyring in this store. If there was one, bring the store of the keys back from its own backup: without it nothing that is sealed can be opened. If this is the first time, Keyring.create() makes one. Nothing was written",
      );
    }
    if (ring.format !== 1) {
      throw new StateError(
        "INCOMPATIBLE",
        `the keyring has format ${String(ring.format)}, which is newer than this version`,
      );
    }
    const masters = new MasterKeys(shelf, checked.outer, ring);
    const indexKey = await masters.unwrap(ring.index, placeBytes([ring.id, "index"]), "the index key");
    return new Keyring(ring, shelf, masters, indexKey, checked);
  }

  /** The key of a tenant that was asked for before. It stays the same for ever, so it need not be waited for. */
  knownTenantKey(tenant: string): NamedKey | undefined {
    return this.#tenants.get(tenant)?.named;
  }

  /** The same to seal with: it was in the store of the keys a moment ago. */
  confirmedTenantKey(tenant: string): NamedKey | undefined {
    const known = this.#tenants.get(tenant);
    return known !== undefined && this.#isFresh(known.at) ? known.named : undefined;
  }

  /**
   * Looks whether a known key is still in the store, before more is sealed with it. A store of keys can go back in time,
   * and what is sealed with a key that it lost could be read by this process alone: where it has none, the key is put
   * back; another one that was made since counts from now on.
   */
  async confirmTenantKey(tenant: string): Promise<void> {
    const known = this.#tenants.get(tenant);
    if (known === undefined || this.#isFresh(known.at)) return;
    const { named } = known;
    // An outage of the key store must not stop calls that need no new key.
    const found = await this.#shelf.tenant(tenant).then(
      (kept) => kept?.value.id,
      (error: unknown) => {
        if (!StateError.is(error)) throw error;
        return named.id;
      },
    );
    if (found === named.id) return void this.#tenants.set(tenant, { named, at: this.#now() });
    if (found === undefined) await this.#putTenant(tenant, named);
    this.#tenants.delete(tenant);
  }

  #putTenant(tenant: string, { id, key }: NamedKey): Promise<unknown> {
    return this.#masters.wrapLasting(key, this.#place("tenant", tenant, id), null, {
      put: (wrapped, version) => this.#shelf.putTenant({ tenant, id, createdAt: this.#now(), key: wrapped }, version),
      read: async () => storedKey(await this.#shelf.tenant(tenant)),
    });
  }

  /** The key of a tenant. `isNew`: creates a missing one, for what is sealed from now on. */
  async tenantKey(tenant: string, { isNew }: { readonly isNew: boolean }): Promise<NamedKey | undefined> {
    const known = this.knownTenantKey(tenant);
    if (known !== undefined) return known;
    for (let races = 0; races < MOST_RACES; races++) {
      const found = await this.#masters.open(
        () => this.#shelf.tenant(tenant),
        ({ id, key }) => [key, this.#place("tenant", tenant, id), `the key of the tenant ${JSON.stringify(tenant)}`],
      );
      if (found?.key !== undefined) {
        const named = { id: found.kept.value.id, key: found.key };
        this.#tenants.set(tenant, { named, at: this.#now() });
        return named;
      }
      if (!isNew) return undefined;
      const id = newId();
      // If another process was faster, its key is read in the next round.
      await this.#putTenant(tenant, { id, key: newKey(this.#place("tenant", tenant, id)) });
    }
    throw alwaysOvertaken();
  }

  /** The same without waiting; `undefined` if one of them has to be looked up. */
  knownPersonKeys(tenant: string, subjects: readonly string[]): readonly PersonKey[] | undefined {
    const keys: PersonKey[] = [];
    for (const subject of subjects) {
      const key = this.#fresh(this.#tokenOf(tenant, subject))?.key;
      if (key === undefined) return undefined;
      keys.push({ ...key, subject });
    }
    return keys;
  }

  /** A key for each of these people, in their order; missing ones are created. */
  async personKeys(tenant: string, subjects: readonly string[]): Promise<readonly PersonKey[]> {
    const keys: PersonKey[] = [];
    for (const subject of subjects) keys.push({ ...(await this.#personKey(tenant, subject)), subject });
    return keys;
  }

  async #personKey(tenant: string, subject: string): Promise<NamedKey> {
    const token = this.#tokenOf(tenant, subject);
    for (let races = 0; races < MOST_RACES; races++) {
      const fresh = this.#fresh(token);
      // A destroyed key is looked up again: the person may have been given a new one meanwhile.
      const known = fresh?.key === undefined ? await this.#load(token) : fresh;
      if (known?.key !== undefined) return known.key;
      const number = (known?.item.number ?? 0) + 1;
      await this.#makePerson(token, number, { tenant, subject }, known?.version ?? null);
    }
    throw alwaysOvertaken();
  }

  async #makePerson(
    token: string,
    number: number,
    person: { readonly tenant: string; readonly subject: string },
    version: string | null,
  ): Promise<void> {
    const nonce = nodeCrypto().randomBytes(NONCE_BYTES).toString("base64url");
    const id = nameOfKey(token, { number, nonce });
    const name = Buffer.from(JSON.stringify([person.tenant, person.subject]), "utf8");
    const place = this.#place("person", id);
    await this.#masters.wrapLasting(newKey(place), place, version, {
      put: async (wrapped, replaced) => {
        const item = { number, nonce, createdAt: this.#now(), key: wrapped, destroyedAt: null };
        const wrappedName = await this.#masters.wrapBy(wrapped.by, name, this.#place("name", id));
        return this.#shelf.putPerson(token, { ...item, name: wrappedName }, replaced);
      },
      read: async () => {
        const kept = await this.#shelf.person(token);
        return kept?.value.number === number && kept.value.nonce === nonce ? storedKey(kept) : undefined;
      },
    });
  }

  /** The keys with these names. A destroyed one is `undefined`; a lost one is an error. */
  async keysById(ids: readonly string[]): Promise<KeysById> {
    const keys = new Map<string, NamedKey | undefined>();
    for (const id of new Set(ids)) {
      const { token, number } = partsOfId(id);
      const known = this.#fresh(token);
      const found = known !== undefined && knowsKey(known.item, id) ? known : await this.#load(token);
      if (found === undefined || !knowsKey(found.item, id)) throw this.missing(id, id);
      keys.set(id, found.item.number === number ? found.key : undefined);
    }
    return keys;
  }

  /** The same without waiting; `undefined` if one of them has to be looked up. */
  knownKeys(ids: readonly string[]): KeysById | undefined {
    if (ids.length === 0) return NO_KEYS;
    const keys = new Map<string, NamedKey | undefined>();
    for (const id of ids) {
      const { token, number } = partsOfId(id);
      const known = this.#fresh(token);
      if (known === undefined || !knowsKey(known.item, id)) return undefined;
      keys.set(id, known.item.number === number ? known.key : undefined);
    }
    return keys;
  }

  /**
   * The error for data that was sealed with a key that this keyring does not have.
   * `keyId`: the key of a person, without which everything else opens.
   */
  missing(id: string, keyId?: string): StateError {
    return new StateError(
      "PERMISSION_DENIED",
      `it was sealed with the key ${id}, which is not in the keyring ${this.id}: this is another keyring, or an older copy of it. Bring back the store of the keys that belongs to this data; nothing was written`,
      keyId === undefined ? {} : { keyId },
    );
  }

  /** All people who have a key, in pages. Whose cannot be told is told to `damaged`, or thrown. */
  async *people(
    damaged: (error: StateError) => void = rethrow,
  ): AsyncGenerator<readonly KeyedPerson[], void, undefined> {
    for await (const page of this.#shelf.all<PersonItem>(PEOPLE, damaged)) {
      const people: KeyedPerson[] = [];
      for (const kept of page) {
        const person = await this.#personIn(kept).catch((error: unknown) => {
          if (!isOneKeysTrouble(error)) throw error;
          damaged(error);
        });
        if (person !== undefined) people.push(person);
      }
      yield people;
    }
  }

  /**
   * The key in an item that was read before: a rotation may have wrapped it anew since.
   */
  async #personIn(listed: Kept<PersonItem>): Promise<KeyedPerson | undefined> {
    const token = listed.key;
    let first: Kept<PersonItem> | undefined = listed;
    const read = async (): Promise<Kept<PersonItem> | undefined> => {
      const given = first;
      first = undefined;
      return given ?? this.#shelf.person(token);
    };
    const found = await this.#masters.open(read, (item) => {
      const id = nameOfKey(token, item);
      return item.name === null ? undefined : [item.name, this.#place("name", id), `the name beside the key ${id}`, id];
    });
    if (found?.key === undefined) return undefined;
    const [tenant, subject] = JSON.parse(Buffer.from(found.key).toString("utf8")) as [string, string];
    return { token, tenant, subject, createdAt: found.kept.value.createdAt };
  }

  /**
   * Destroys the key of a person for ever. False if there is no key, or if
   * `isHeld` says that the person is under a legal hold. It is asked after the key
   * was read, and the key goes only as it was then: see `renewPerson`.
   */
  async destroy(token: string, isHeld?: (subject: string) => Promise<boolean>): Promise<boolean> {
    for (let races = 0; races < MOST_RACES; races++) {
      const kept = await this.#shelf.person(token);
      if (kept === undefined || kept.value.key === null) {
        this.#forget(token);
        return false;
      }
      const person = isHeld && (await this.#personIn(kept));
      if (person !== undefined && (await isHeld?.(person.subject)) === true) return false;
      const { number, nonce, createdAt } = kept.value;
      const gone = { number, nonce, createdAt, name: null, key: null, destroyedAt: this.#now() };
      try {
        if ((await this.#shelf.putPerson(token, gone, kept.version)) !== undefined) return true;
      } finally {
        // Not before: a save would have cached the key again. And also where nothing is known of the outcome.
        this.#forget(token);
      }
    }
    throw alwaysOvertaken();
  }

  #forget(token: string): void {
    this.#forgotten++;
    this.#people.delete(token);
    // Not even the name of a person who was erased stays here.
    this.#tokens = new Recent(MOST_CACHED);
  }

  /**
   * Writes the keys of a person again unchanged, so that a concurrent destruction of one has to check the holds
   * again.
   */
  async renewPerson(subject: string): Promise<void> {
    // Keys whose owner cannot be read are never destroyed for a person, so they need no mark.
    for await (const people of this.people(() => undefined)) {
      for (const { token } of people.filter((each) => each.subject === subject)) await this.#renew(token);
    }
  }

  async #renew(token: string): Promise<void> {
    for (let races = 0; races < MOST_RACES; races++) {
      const kept = await this.#shelf.person(token);
      if (kept === undefined || kept.value.key === null) return;
      if ((await this.#shelf.putPerson(token, kept.value, kept.version)) !== undefined) return;
    }
    throw alwaysOvertaken();
  }

  /** How far the erasures of a ledger were carried out here. It is stored with the keys, and as old as they are. */
  async mark(): Promise<AppliedMark | undefined> {
    return (await this.#shelf.ring())?.value.mark;
  }

  async setMark(given: AppliedMark): Promise<void> {
    for (let races = 0; races < MOST_RACES; races++) {
      const ring = await this.#shelf.ring();
      if (ring === undefined) throw this.missing("of the ring");
      const mark = laterMark(ring.value.mark, given);
      if (mark === undefined) return;
      if ((await this.#shelf.putRing({ ...ring.value, mark }, ring.version)) !== undefined) return;
    }
    throw alwaysOvertaken();
  }

  /** Removes the traces of destroyed keys that the store itself keeps, as far as it can. */
  scrub(): Promise<ScrubReport> {
    return this.#shelf.scrub();
  }

  /**
   * Rewraps every key, with a new master key that the provider wraps with its
   * current first key. No data is touched. After an interruption, calling it again
   * continues. An old outermost key may be destroyed when the report no longer names
   * it: then no old copy of the keyring can be opened either.
   */
  async rotate(given?: RotationOptions): Promise<RotationReport> {
    const { rotateKeys } = await import("./rotation.ts");
    return rotateKeys(this.#shelf, this.#masters, this.#now, given);
  }

  #place(...names: readonly string[]): Uint8Array {
    return placeBytes([this.id, ...names]);
  }

  #tokenOf(tenant: string, subject: string): string {
    const person = JSON.stringify([tenant, subject]);
    const known = this.#tokens.get(person);
    if (known !== undefined) return known;
    const token = nodeCrypto().createHmac("sha256", this.#indexKey).update(person).digest("base64url").slice(0, 22);
    this.#tokens.set(person, token);
    return token;
  }

  #fresh(token: string): KnownPerson | undefined {
    const known = this.#people.get(token);
    return known !== undefined && this.#isFresh(known.at) ? known : undefined;
  }

  #isFresh(at: number): boolean {
    const age = this.#now() - at;
    return age >= 0 && age < this.#cacheMs;
  }

  async #load(token: string): Promise<KnownPerson | undefined> {
    const [at, forgotten] = [this.#now(), this.#forgotten];
    const found = await this.#masters.open(
      () => this.#shelf.person(token),
      (item) => {
        const id = nameOfKey(token, item);
        return item.key === null ? undefined : [item.key, this.#place("person", id), `the key ${id}`, id];
      },
    );
    if (found === undefined) return undefined;
    const { value: item, version } = found.kept;
    const key = found.key && { id: nameOfKey(token, item), key: found.key };
    const loaded = { item, version, key, at };
    // A key that was destroyed here meanwhile may be the one that was read: it serves the call that asked for it, and no later one.
    if (forgotten === this.#forgotten) this.#people.set(token, loaded);
    return loaded;
  }
}

const storedKey = (kept: Kept<{ readonly key: Wrapped | null }> | undefined): StoredKey | undefined =>
  kept === undefined || kept.value.key === null ? undefined : { by: kept.value.key.by, version: kept.version };

const rethrow = (error: StateError): never => {
  throw error;
};

const alreadyThere = (): StateError =>
  new StateError("CONFLICT", "there is a keyring in this store already; it was left as it is. Keyring.open() opens it");

const alwaysOvertaken = (): StateError =>
  new StateError("CONFLICT", "the store of the keys is written to without a pause; try again later");
