/** Finding, exporting and erasing what is kept about people, legal holds and retention. */
export type { AcceptedGaps, EraseOptions } from "../session/erasure-run.ts";
export type { HoldRequest, LiftRequest, ListedHold } from "../session/hold-books.ts";
export type { Inventory, InventoryPlace } from "../session/personal-data.ts";
export {
  type ErasedPlace,
  type ErasureReceipt,
  type ErasureReport,
  faultInReceipts,
  type HeldBack,
  type RetentionReceipt,
  type Unreached,
} from "../session/receipts.ts";
export type { RetentionEntry, RetentionReport, RetentionTotal } from "../session/retention.ts";
export type { RetentionOptions, RetentionOutcome, RetentionRule } from "../session/retention-rules.ts";
export type { HoldNote, LegalHold } from "../state/people/legal-hold.ts";
export { type Attributed, attributed, ERASED, ofNobody, type Subjects } from "../state/people/subjects.ts";
export { type CleanBackends, PersonalData, type PersonalDataOptions } from "../wiring/personal-data.ts";
