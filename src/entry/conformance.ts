/**
 * Proofs for backends of your own: `holdfast/conformance`. A driver's test file needs no more than
 *
 *     testThreadLog({ name: "mine", test, afterAll, create: async () => ({ subject: new MyLog(await emptyPlace()) }) });
 *
 * with the `test` and `afterAll` of vitest or node:test. Every case gets a
 * fixture of its own: `create` must give it a storage with nothing in it.
 */
export { type BucketCase, bucketCases, bucketSuite } from "../testing/bucket-cases.ts";
export type { CheckpointerCase, CheckpointerNeed } from "../testing/checkpointer-cases/checkpointer-case.ts";
export { checkpointerCases, checkpointerSuite } from "../testing/checkpointer-cases/suite.ts";
export type { ConformanceCase, ConformanceSuite, Fixture, FixtureNeed } from "../testing/conformance-case.ts";
export { HOSTILE_IDS, REFUSED_IDS } from "../testing/hostile-ids.ts";
export { HOSTILE_KEYS, LOOKALIKE_VALUES } from "../testing/hostile-metadata.ts";
export { type HostileValue, KEPT_VALUES, REFUSED_VALUES } from "../testing/hostile-values.ts";
export { type ManualClock, manualClock } from "../testing/manual-clock.ts";
export type { ConformanceOptions, RunningTest } from "../testing/register-suite.ts";
export { type CaseOutcome, runCase } from "../testing/run-case.ts";
export type { SaverCase, SaverNeed } from "../testing/saver-cases/saver-case.ts";
export { saverCases, saverSuite } from "../testing/saver-cases/suite.ts";
export type { StoreCase, StoreNeed } from "../testing/store-cases/store-case.ts";
export { storeCases, storeSuite } from "../testing/store-cases/suite.ts";
export { testBucket } from "../testing/test-bucket.ts";
export { testCheckpointer } from "../testing/test-checkpointer.ts";
export { testSaver } from "../testing/test-saver.ts";
export { testStore } from "../testing/test-store.ts";
export { testThreadLog } from "../testing/test-thread-log.ts";
export { threadLogCases, threadLogSuite } from "../testing/thread-log-cases/suite.ts";
export type { ThreadLogCase, ThreadLogNeed } from "../testing/thread-log-cases/thread-log-case.ts";
