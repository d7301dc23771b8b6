import { StateError } from "../../errors.ts";
import { readableId } from "../driver/namespaces.ts";
import type { ItemId, PutChange, StoredItem } from "../driver/store-driver.ts";
import { writeTerms } from "../driver/write-terms.ts";
import { decodeItem, encodeItem } from "../items/item-codec.ts";
import type { StoreAccess } from "../items/store-access.ts";
import type { Embedder } from "../search/embedder.ts";
import type { Dimension } from "./dimension.ts";

/** An item, so that it lies wherever the vectors lie: below a tenant's prefix, behind a service, in a copy of the storage. */
const SOURCE: ItemId = { namespace: ["holdfast:vectors"], key: "model" };

const modelIn = (item: StoredItem | undefined): unknown =>
  item && decodeItem<{ readonly model?: unknown } | null>(item).value?.model;

/**
 * The model that a store's vectors come from. Two models may give vectors of one length that have nothing to do with each
 * other: a search among both answers with nonsense, and without an error. So the first write of a named embedder leaves its
 * name in the same step as its vectors, and another name is refused while there are vectors. Vectors that callers bring
 * themselves, and those of a function without a name, are taken for what the store holds.
 */
export class VectorSource {
  readonly #access: StoreAccess;
  readonly #dimension: Dimension;
  readonly #name: string | undefined;
  #isNoted = false;

  constructor(access: StoreAccess, dimension: Dimension, embedder: Embedder | undefined) {
    this.#access = access;
    this.#dimension = dimension;
    const name: unknown = embedder?.modelId;
    this.#name = typeof name === "string" && name !== "" ? name : undefined;
  }

  /** Refuses to work with this embedder beside the vectors of another one; asks the storage only until it was the same once. */
  async assertKnown(): Promise<void> {
    if (!this.#isNoted) await this.note();
  }

  /** The same as the storage says now: the vectors that were there may be gone, and another model may have taken over. */
  async assertSame(): Promise<void> {
    await this.note();
  }

  /**
   * What has to be written in one step with vectors of this embedder; `undefined` if its name is there already. Looked up
   * for each write. What is left open is the moment between: in it all vectors would have to go and another model begin.
   */
  async note(): Promise<PutChange | undefined> {
    if (this.#name === undefined) return undefined;
    // Without vectors, the name was read before: who puts the first ones writes it anew, and this write is refused then.
    // With them it is read after, so that it is that of these vectors or of later ones.
    const before = await this.#read();
    if (this.#isNoted && modelIn(before) === this.#name) return undefined;
    const hasVectors = await this.#dimension.hasVectors();
    const there = hasVectors ? await this.#read() : before;
    const noted = modelIn(there);
    this.#isNoted = hasVectors && noted === this.#name;
    if (this.#isNoted) return undefined;
    // The name of vectors that were all removed since is written anew: another model may be about to take its place.
    if (hasVectors && typeof noted === "string") throw this.#another(noted, this.#name);
    const encoded = encodeItem({ model: this.#name }, undefined);
    return {
      kind: "put",
      ...SOURCE,
      ...encoded,
      ...writeTerms(SOURCE, undefined, { ...encoded, ttlMs: undefined, index: false, embedding: undefined }),
      expected: there?.version ?? null,
      words: undefined,
      vector: undefined,
      ttlMs: undefined,
    };
  }

  async #read(): Promise<StoredItem | undefined> {
    const [there] = await this.#access.call({ operation: "dimension" }, (driver) => driver.read([SOURCE]));
    return there;
  }

  /** Whether a write was refused because another process has noted a model since `note()` looked. */
  static wasOvertaken(error: unknown): boolean {
    return StateError.is(error, "CONFLICT") && error.context.item === readableId(SOURCE);
  }

  #another(noted: string, name: string): StateError {
    const { name: backend } = this.#access.driver;
    return new StateError(
      "INVALID_ARGUMENT",
      `${backend}: the store's vectors come from the embedding model ${JSON.stringify(noted)}, and its embedder is ${JSON.stringify(name)}; vectors of two models cannot be compared. Open it with ${JSON.stringify(noted)}, or put its items anew into a store of their own that has ${JSON.stringify(name)}`,
      { backend },
    );
  }
}
