/**
 * `holdfast/driver`: for those who write a driver. The contract with its types,
 * and what the drivers in this package are made of. Whoever only uses a backend
 * needs none of it.
 */
export { assertAppend } from "./checkpoint/append-rules.ts";
export { DeferredLog, type DriverFacts, type OptionalOperation } from "./checkpoint/deferred-log.ts";
export type {
  AppendOutcome,
  AppendRequest,
  LogCapabilities,
  LogChain,
  LogEntry,
  LogPage,
  LogRecord,
  SearchHit,
  ThreadEntry,
  ThreadLog,
  ThreadTail,
} from "./checkpoint/thread-log.ts";
export { type ConnectionSource, type Lease, SharedConnection } from "./driver/connection.ts";
export type { Driver } from "./driver/driver.ts";
export type { Durability } from "./driver/durability.ts";
export { MAX_ID_BYTES, MAX_TENANT_PREFIX_BYTES } from "./driver/ids.ts";
export { OpenOnce } from "./driver/open-once.ts";
export { assertOptions } from "./driver/options.ts";
export { assertAddress, assertParameters, type LocalUrl, parseLocalUrl } from "./driver/url.ts";
export { type ErrorCode, StateError } from "./errors.ts";
export { importPeer } from "./internal/import-peer.ts";
