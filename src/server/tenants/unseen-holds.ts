import { HOLDS } from "../../state/people/legal-hold.ts";
import type { Principal } from "../request/authentication.ts";
import { Refusal } from "../request/refusal.ts";
import type { TenantLog } from "./tenant-log.ts";
import type { TenantStore } from "./tenant-store.ts";

/**
 * A client looks for legal holds before it deletes. A token that may delete and
 * not read cannot, so the service looks: where holds were ever placed, only
 * a token that sees them may delete.
 */

export async function assertNoUnseenHold(log: TenantLog, { scopes }: Principal): Promise<void> {
  if (scopes.has("threads:read")) return;
  if ((await log.tail(HOLDS)) !== undefined) throw unseen("threads:read");
}

export async function assertNoUnseenHoldOnItems(store: TenantStore, { scopes }: Principal): Promise<void> {
  if (scopes.has("items:read")) return;
  const { items } = await store.scan({ namespace: [HOLDS], recursive: false, condition: undefined }, undefined, 1);
  if (items.length > 0) throw unseen("items:read");
}

const unseen = (scope: string): Refusal =>
  new Refusal(
    "HELD",
    `there are legal holds here, and this token cannot read what they keep: delete with a token that has the scope ${scope} too`,
  );
