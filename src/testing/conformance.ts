/**
 * Proofs for backends of your own: `holdfast/conformance`. A driver's test file needs no more than
 *
 *     testThreadLog({ name: "mine", test, afterAll, create: async () => ({ subject: new MyLog(await emptyPlace()) }) });
 *
 * with the `test` and `afterAll` of vitest or node:test. Every case gets a
 * fixture of its own: `create` must give it a storage with nothing in it.
 */
export type { CheckpointerCase, CheckpointerNeed } from "./checkpointer-cases/checkpointer-case.ts";
export { checkpointerCases, checkpointerSuite } from "./checkpointer-cases/suite.ts";
export type { ConformanceCase, ConformanceSuite, Fixture, FixtureNeed } from "./conformance-case.ts";
export { HOSTILE_IDS, REFUSED_IDS } from "./hostile-ids.ts";
export { HOSTILE_KEYS, LOOKALIKE_VALUES } from "./hostile-metadata.ts";
export { type HostileValue, KEPT_VALUES, REFUSED_VALUES } from "./hostile-values.ts";
export { type ManualClock, manualClock } from "./manual-clock.ts";
export type { ConformanceOptions, RunningTest } from "./register-suite.ts";
export { type CaseOutcome, runCase } from "./run-case.ts";
export type { SaverCase, SaverNeed } from "./saver-cases/saver-case.ts";
export { saverCases, saverSuite } from "./saver-cases/suite.ts";
export type { StoreCase, StoreNeed } from "./store-cases/store-case.ts";
export { storeCases, storeSuite } from "./store-cases/suite.ts";
export { testCheckpointer } from "./test-checkpointer.ts";
export { testSaver } from "./test-saver.ts";
export { testStore } from "./test-store.ts";
export { testThreadLog } from "./test-thread-log.ts";
export { threadLogCases, threadLogSuite } from "./thread-log-cases/suite.ts";
export type { ThreadLogCase, ThreadLogNeed } from "./thread-log-cases/thread-log-case.ts";
