import type { Saver } from "../../saver/saver.ts";
import type { ConformanceSuite } from "../conformance-case.ts";
import { costCases } from "./cost.ts";
import { gettingCases } from "./getting.ts";
import { goingBackCases } from "./going-back.ts";
import { hostileCases } from "./hostile.ts";
import { keepingCases } from "./keeping.ts";
import { listingCases } from "./listing.ts";
import { puttingCases } from "./putting.ts";
import { type SaverCase, type SaverNeed, saverOffers } from "./saver-case.ts";
import { writingCases } from "./writing.ts";

/** What a graph may rely on, whichever saver it is given. */
export const saverCases: readonly SaverCase[] = [
  ...puttingCases,
  ...writingCases,
  ...gettingCases,
  ...listingCases,
  ...keepingCases,
  ...goingBackCases,
  ...costCases,
  ...hostileCases,
];

export const saverSuite: ConformanceSuite<Saver, SaverNeed> = {
  title: "saver",
  cases: saverCases,
  offers: saverOffers,
};
