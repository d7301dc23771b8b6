import type { CommandCall } from "../command.ts";
import { UsageError } from "../exit-codes.ts";
import { storeUrlOf } from "../store-url.ts";

/** Where receipts are kept, and what was erased. */
export function ledgerOf({ options, world }: CommandCall): string {
  const named = options.text("ledger") ?? world.env["HOLDFAST_ERASURE_LEDGER"];
  if (named !== undefined && named !== "") return storeUrlOf(named, world.env);
  throw new UsageError(
    "a ledger is needed, which remembers what was erased when a backup is restored, and keeps the receipts",
    "--ledger <url> or HOLDFAST_ERASURE_LEDGER: a store of its own, outside of the backups of the others",
  );
}
