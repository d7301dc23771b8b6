import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";
import type { ConformanceSuite } from "../conformance-case.ts";
import { appendingCases } from "./appending.ts";
import { batchCases } from "./batches.ts";
import { contentCases } from "./contents.ts";
import { copyingCases } from "./copying.ts";
import { editingCases } from "./editing.ts";
import { expiringCases } from "./expiring.ts";
import { goingBackCases } from "./going-back.ts";
import { isolationCases } from "./isolation.ts";
import { livingCases } from "./living.ts";
import { longThreadCases } from "./long-threads.ts";
import { metadataQueryCases } from "./metadata-query.ts";
import { namingCases } from "./naming.ts";
import { positionCases } from "./positions.ts";
import { racingCases } from "./racing.ts";
import { readingCases } from "./reading.ts";
import { partialReadingCases } from "./reading-parts.ts";
import { removingCases } from "./removing.ts";
import { searchPageCases } from "./search-pages.ts";
import { searchingCases } from "./searching.ts";
import { subscribingCases } from "./subscribing.ts";
import { threadListingCases } from "./thread-listing.ts";
import { logOffers, type ThreadLogCase, type ThreadLogNeed } from "./thread-log-case.ts";
import { togetherCases } from "./together.ts";

/** Every duty that `ThreadLog` states, for drivers. */
export const threadLogCases: readonly ThreadLogCase[] = [
  ...appendingCases,
  ...batchCases,
  ...namingCases,
  ...contentCases,
  ...readingCases,
  ...partialReadingCases,
  ...editingCases,
  ...removingCases,
  ...copyingCases,
  ...threadListingCases,
  ...isolationCases,
  ...positionCases,
  ...longThreadCases,
  ...racingCases,
  ...goingBackCases,
  ...togetherCases,
  ...searchingCases,
  ...searchPageCases,
  ...metadataQueryCases,
  ...subscribingCases,
  ...expiringCases,
  ...livingCases,
];

export const threadLogSuite: ConformanceSuite<ThreadLog, ThreadLogNeed> = {
  title: "log",
  cases: threadLogCases,
  offers: logOffers,
};
