/** Checkpointers: the classes, their capabilities, and the options and answers of every method. */
export { openCheckpointer } from "../backends/open.ts";
export { assertCheckpointer } from "../checkpoint/assert-checkpointer.ts";
export {
  BaseCheckpointer,
  type CheckpointRef,
  type CheckpointSummary,
  type CopyOptions,
  type DeleteOptions,
  type FindOptions,
  type ForkOptions,
  type ListThreadsOptions,
  type PageOptions,
  type SaveOptions,
  type SearchPage,
  type ThreadSearchHit,
  type ThreadStats,
  type ThreadSummary,
  uncheckedHead,
  type VacuumOptions,
  type VacuumPlanEntry,
  type VacuumReport,
} from "../checkpoint/base-checkpointer.ts";
export {
  CAPABILITY_FLAGS,
  type CapabilityFlag,
  type CheckpointerCapabilities,
  capabilities,
} from "../checkpoint/capabilities.ts";
export { Checkpointer } from "../checkpoint/checkpointer.ts";
export type { CheckpointerOptions } from "../checkpoint/context.ts";
export { StorageBackendAdapter, type StorageBackendAdapterOptions } from "../checkpoint/dict/adapter.ts";
export type { DictData, DictStorage } from "../checkpoint/dict/dict-storage.ts";
export type { InboxItem, InboxOptions } from "../checkpoint/find/inbox.ts";
export type { WatchOptions } from "../checkpoint/find/watching.ts";
export { guardedCheckpointer } from "../checkpoint/guarded-checkpointer.ts";
export type { StatePlace } from "../checkpoint/history/compared-places.ts";
export type { CallSettlement } from "../checkpoint/history/settling-calls.ts";
export type { RecordFault, ThreadVerdict } from "../checkpoint/history/verifying.ts";
export type { BreakLeaseOptions, Lease, LeaseInfo, LeaseOptions } from "../checkpoint/lease/lease.ts";
export type { ThreadLog } from "../checkpoint/log/thread-log.ts";
export { refOf as checkpointRef } from "../checkpoint/options.ts";
export type { ForkPoint } from "../checkpoint/record/record.ts";
export type { SendOptions, Sent } from "../checkpoint/signals/sending.ts";
export type { Answer, CallResult, SentSignal, Signal } from "../checkpoint/signals/signal.ts";
export type { Access } from "../driver/access.ts";
export type { RetryPolicy } from "../driver/call.ts";
export type { Durability } from "../driver/durability.ts";
export type { Page } from "../driver/page.ts";
export type { ThreadWarning } from "../driver/warnings.ts";
