import { StateError } from "../../errors.ts";
import { ownersOf } from "../driver/namespaces.ts";
import {
  type Change,
  type ItemId,
  MOST_CHANGES,
  type PutChange,
  type RemoveChange,
  type StoredItem,
} from "../driver/store-driver.ts";
import { writeTerms } from "../driver/write-terms.ts";
import type { StoreAccess } from "../items/store-access.ts";

/**
 * An item by which an erasure that writers outrun holds them off: while it is there, nothing about a person is put.
 * A put about people is made in one step with a change that needs this item to be absent, so the storage itself
 * refuses it, and no put pays a look. Each erasure has an entry of its own, with a time at which it
 * ends by itself, on the storage's clock.
 */
export const GATE: ItemId = { namespace: ["holdfast:erasures"], key: "writers wait" };

/** By the erasure: until when. */
export type GateEntries = Readonly<Record<string, number>>;

/** What a put is made together with, if it may be about people and the storage can do both in one step. */
export function gateFor({ driver }: StoreAccess, changes: readonly PutChange[]): readonly Change[] {
  const { transactions } = driver.capabilities;
  // Over HTTP the right to put is not the right to remove, and the condition is a removal.
  if (!transactions || driver.name === "http" || changes.length >= MOST_CHANGES) return [];
  return changes.some(isAboutPeople) ? [absentGate()] : [];
}

function absentGate(): RemoveChange {
  const { writeKey, digest } = writeTerms(GATE, undefined, "removed");
  return { kind: "remove", ...GATE, expected: null, writeKey, digest };
}

const isAboutPeople = ({ namespace, value, metadata }: PutChange): boolean =>
  value.includes('"holdfast:subject"') ||
  metadata?.includes('"subject"') === true ||
  ownersOf(namespace, {}).length > 0;

export const isGate = ({ namespace, key }: Change | StoredItem): boolean =>
  key === GATE.key && namespace.length === 1 && namespace[0] === GATE.namespace[0];

/** After a refusal by the gate: an error while writers must wait. Removes a gate that an erasure left when it was killed. */
export async function assertGateIsOver(access: StoreAccess, operation: string): Promise<void> {
  const place = { operation };
  const [item] = await access.call(place, (driver) => driver.read([GATE]));
  if (item === undefined) return;
  const until = Math.max(0, ...Object.values(JSON.parse(item.value) as GateEntries));
  if (until > (await access.call(place, (driver) => driver.now()))) {
    const { name } = access.driver;
    throw new StateError(
      "CONFLICT",
      `${name}: ${operation} failed: a person is being erased, and what is written about people now could bring their words back. Try again in a moment; nothing was written`,
      { backend: name, operation, written: "no" },
    );
  }
  const { writeKey, digest } = writeTerms(GATE, undefined, "removed");
  const over: RemoveChange = { kind: "remove", ...GATE, expected: item.version, writeKey, digest };
  await access.write(place, [over]);
}
