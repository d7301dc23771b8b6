import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import { readableId } from "../driver/namespaces.ts";
import {
  type Change,
  type ChangeResult,
  type ItemId,
  MOST_CHANGES,
  type RemoveChange,
} from "../driver/store-driver.ts";
import { writeTerms } from "../driver/write-terms.ts";
import { encodeItem } from "../items/item-codec.ts";
import type { StoreAccess } from "../items/store-access.ts";
import type { Dimension } from "./dimension.ts";
import { apply } from "./writing.ts";

/**
 * The first vectors of a store set the length of all. Two processes that find no
 * vectors and each put some, of different lengths, must not both succeed: a search
 * would never find those of the other. So a writer that finds none puts a claim, looks
 * once more, and removes the claim in one step with its vectors. Each claim replaces
 * the one before it, and a write whose claim is gone is refused.
 */
const CLAIM: ItemId = { namespace: ["holdfast:vectors"], key: "first" };
/** What a process that ended in between leaves is gone then. */
const CLAIM_ENDS_AFTER_MS = 60_000;
const MOST_RACES = 100;

export interface FirstVectors {
  readonly access: StoreAccess;
  readonly dimension: Dimension;
  readonly operation: string;
  /** Refuses vectors that do not fit those that are there, which it asks for. */
  readonly assertFitting: () => Promise<void>;
}

/** Makes the changes, in one step with whatever proves that no other vectors came first. */
export async function writeFirstVectors(
  { access, dimension, operation, assertFitting }: FirstVectors,
  changes: readonly Change[],
): Promise<readonly ChangeResult[]> {
  for (let races = 0; races < MOST_RACES; races++) {
    const claim = dimension.isConfirmed ? undefined : await claimed(access, operation, changes.length);
    if (claim === undefined) return apply(access, operation, changes);
    try {
      await assertFitting();
      if (!dimension.isConfirmed) {
        const results = await apply(access, operation, [...changes, claim]);
        return results.slice(0, changes.length);
      }
    } catch (error) {
      if (StateError.is(error, "CONFLICT") && error.context.item === readableId(CLAIM)) {
        await sleep(Math.random() * races);
        await assertFitting();
        continue;
      }
      if (StateError.is(error, "CONFLICT") || StateError.is(error, "INVALID_ARGUMENT")) await withdraw(access, claim);
      throw error;
    }
    await withdraw(access, claim);
  }
  throw new StateError("CONFLICT", "others put the first vectors of this store without a pause; try again later", {
    written: "no",
  });
}

/** Unless another one has taken its place. */
async function withdraw(access: StoreAccess, claim: RemoveChange): Promise<void> {
  await access.call({ operation: "put" }, (driver) => driver.write([claim]));
}

/** `undefined` where the storage cannot do it in one step, or where the writer may not remove anything. */
async function claimed(access: StoreAccess, operation: string, beside: number): Promise<RemoveChange | undefined> {
  const { transactions, ttl } = access.driver.capabilities;
  if (!transactions || !ttl || beside >= MOST_CHANGES) return undefined;
  const [encoded, ttlMs] = [encodeItem({}, undefined), CLAIM_ENDS_AFTER_MS];
  const put = {
    kind: "put",
    ...CLAIM,
    ...encoded,
    ...writeTerms(CLAIM, undefined, { ...encoded, ttlMs, index: false, embedding: undefined }),
    expected: undefined,
    words: undefined,
    vector: undefined,
    ttlMs,
  } as const;
  try {
    const [result] = await apply(access, operation, [put]);
    const { writeKey, digest } = writeTerms(CLAIM, undefined, "removed");
    return result && { kind: "remove", ...CLAIM, expected: result.version, writeKey, digest };
  } catch (error) {
    if (StateError.is(error, "PERMISSION_DENIED")) return undefined;
    throw error;
  }
}
