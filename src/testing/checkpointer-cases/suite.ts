import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import type { ConformanceSuite } from "../conformance-case.ts";
import { argumentCases } from "./arguments.ts";
import { branchingCases } from "./branching.ts";
import { changingCases } from "./changing.ts";
import { type CheckpointerCase, type CheckpointerNeed, checkpointerOffers } from "./checkpointer-case.ts";
import { closingCases } from "./closing.ts";
import { conflictCases } from "./conflicts.ts";
import { costCases } from "./cost.ts";
import { deletingCases } from "./deleting.ts";
import { expiringCases } from "./expiring.ts";
import { findingThreadsCases } from "./finding-threads.ts";
import { flagCases } from "./flags.ts";
import { goingBackCases } from "./going-back.ts";
import { hostileIdCases } from "./hostile-id-cases.ts";
import { hostileValueCases } from "./hostile-value-cases.ts";
import { leasingCases } from "./leasing.ts";
import { listingCases } from "./listing.ts";
import { metadataCases } from "./metadata.ts";
import { optionCases } from "./options.ts";
import { orderingCases } from "./ordering.ts";
import { poisonedCases } from "./poisoned.ts";
import { racingCases } from "./racing.ts";
import { restartingCases } from "./restarting.ts";
import { retryingCases } from "./retrying.ts";
import { ridingLeaseCases } from "./riding-leases.ts";
import { savingCases } from "./saving.ts";
import { searchingCases } from "./searching.ts";
import { signalCases } from "./signals.ts";
import { vacuumingCases } from "./vacuuming.ts";
import { watchingCases } from "./watching.ts";

/** What users may rely on, whichever backend they hold. */
export const checkpointerCases: readonly CheckpointerCase[] = [
  ...flagCases,
  ...savingCases,
  ...changingCases,
  ...restartingCases,
  ...listingCases,
  ...deletingCases,
  ...conflictCases,
  ...retryingCases,
  ...racingCases,
  ...goingBackCases,
  ...orderingCases,
  ...leasingCases,
  ...ridingLeaseCases,
  ...signalCases,
  ...branchingCases,
  ...findingThreadsCases,
  ...metadataCases,
  ...searchingCases,
  ...vacuumingCases,
  ...poisonedCases,
  ...watchingCases,
  ...expiringCases,
  ...costCases,
  ...argumentCases,
  ...optionCases,
  ...hostileIdCases,
  ...hostileValueCases,
  ...closingCases,
];

export const checkpointerSuite: ConformanceSuite<BaseCheckpointer, CheckpointerNeed> = {
  title: "checkpointer",
  cases: checkpointerCases,
  offers: checkpointerOffers,
};
