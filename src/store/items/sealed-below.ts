import { SEALED_ITEM } from "../../driver/unopened.ts";
import { StateError } from "../../errors.ts";
import type { Namespace, StoredItem } from "../driver/store-driver.ts";
import type { StoreAccess } from "./store-access.ts";

/** What a store without keys met when it looked at some items below a first segment. */
interface Seen {
  readonly isAnySealed: boolean;
  /** There are items, and all of those that were looked at are sealed. */
  readonly areAllSealed: boolean;
}

const UNSEEN: Seen = { isAnySealed: false, areAllSealed: false };

/**
 * More than one, so that an item sealed by mistake does not stop a store that is used
 * in plain.
 */
const LOOKED_AT = 3;
/** A program with a first segment for each of its users is not made to look at every one. */
const MOST_SEGMENTS = 16;

/**
 * For a store that was opened without `sealing`: whether its items were sealed by another
 * program. A plain write between sealed items is refused before the first item, and a
 * reader that finds nothing learns that there are items it cannot read. It costs one short
 * reading per store for each first segment of a namespace.
 */
export class SealedBelow {
  readonly #access: StoreAccess;
  readonly #seen = new Map<string, Seen>();

  constructor(access: StoreAccess) {
    this.#access = access;
  }

  async assertPlain(namespaces: Iterable<Namespace>): Promise<void> {
    for (const first of new Set(Array.from(namespaces, ([segment = ""]) => segment))) {
      if ((await this.#look(first)).areAllSealed) {
        throw sealedThere(this.#access.driver.name, first, ". Nothing was written");
      }
    }
  }

  /** What to say beside an answer without items. */
  async warning(namespace: Namespace): Promise<StateError | undefined> {
    const [first = ""] = namespace;
    return (await this.#look(first)).isAnySealed ? sealedThere(this.#access.driver.name, first) : undefined;
  }

  async #look(first: string): Promise<Seen> {
    const known = this.#seen.get(first);
    if (known !== undefined) return known;
    const { driver } = this.#access;
    const isOpened = (driver.capabilities.sealing ?? "none") !== "none";
    if (isOpened || this.#seen.size >= MOST_SEGMENTS) return UNSEEN;
    const scope = { namespace: first === "" ? [] : [first], recursive: true, condition: undefined };
    // A caller without read access, or a storage that is down, gets its error from the operation itself.
    const items = await driver
      .scan(scope, { limit: LOOKED_AT })
      .catch((): readonly StoredItem[] | undefined => undefined);
    if (items === undefined) return UNSEEN;
    const sealed = items.filter(({ value }) => value.startsWith(SEALED_ITEM)).length;
    const seen = { isAnySealed: sealed > 0, areAllSealed: sealed > 0 && sealed === items.length };
    this.#seen.set(first, seen);
    return seen;
  }
}

const sealedThere = (backend: string, first: string, outcome = ""): StateError =>
  new StateError(
    "INCOMPATIBLE",
    `${backend}: ${first === "" ? "items here" : `items below ${JSON.stringify([first])}`} are sealed, and this store was opened without keys. Open it with the option \`sealing\`, and the keyring that belongs to it${outcome}`,
    { backend },
  );
