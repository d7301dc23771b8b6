/**
 * `holdfast/driver`: for authors of drivers. The contract with its types, and what the
 * drivers in this package are made of. An application that only uses a backend needs
 * none of it.
 */

export { BucketLog } from "../checkpoint/bucket-log/log.ts";
export { openPlace, placeOf } from "../checkpoint/find/search-place.ts";
export { assertAppend } from "../checkpoint/log/driver-rules.ts";
export { listedThread, unreadableThread } from "../checkpoint/log/listed-threads.ts";
export { LogLayer } from "../checkpoint/log/log-layer.ts";
export {
  type AppendOutcome,
  type AppendRequest,
  BaseThreadLog,
  type FoundRecords,
  type KnownPlace,
  type ListedThread,
  type LogCapabilities,
  type LogChain,
  type LogEntry,
  type LogPage,
  type LogRecord,
  type SearchHit,
  type SearchOrder,
  type SearchRange,
  type ThreadEntry,
  type ThreadLog,
  type ThreadTail,
  type UnreadableThread,
} from "../checkpoint/log/thread-log.ts";
export { type Access, noStoreHere } from "../driver/access.ts";
export { type ConnectionSource, type Lease, SharedConnection } from "../driver/connection.ts";
export type { Driver, ScrubReport } from "../driver/driver.ts";
export type { Durability } from "../driver/durability.ts";
export { MAX_ID_BYTES, MAX_TENANT_PREFIX_BYTES } from "../driver/ids.ts";
export {
  BaseObjectBucket,
  type BucketListOptions,
  type BucketSource,
  type FoundObject,
  type ObjectBucket,
} from "../driver/object-bucket.ts";
export { OpenOnce } from "../driver/open-once.ts";
export { assertOptions } from "../driver/options.ts";
export { assertAddress, assertParameters, type LocalUrl, parseLocalUrl } from "../driver/url.ts";
export { type ErrorCode, StateError } from "../errors.ts";
export { importPeer } from "../internal/import-peer.ts";
export {
  compareIds,
  compareNamespaces,
  decodeNamespace,
  encodeNamespace,
  rangeBelow,
} from "../store/driver/namespaces.ts";
export {
  type Change,
  type ChangeResult,
  type Comparison,
  type Condition,
  type FieldPath,
  type FullStoreDriver,
  type ItemId,
  type ItemWords,
  MOST_CHANGES,
  type Namespace,
  type PutChange,
  type RankedItem,
  type RemoveChange,
  type Scalar,
  type Scope,
  type StoreDriver,
  type StoreDriverCapabilities,
  type StoredItem,
  WORD_WEIGHTS,
  WRITES_REMEMBERED_MS,
  type WriteOutcome,
} from "../store/driver/store-driver.ts";
export { type ItemFields, matches } from "../store/search/item-fields.ts";
