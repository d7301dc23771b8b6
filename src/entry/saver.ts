/** A graph's checkpoints and pending writes, over the same storage as threads. */
export { openSaver } from "../backends/open.ts";
export { CheckpointSaver, type CheckpointSaverOptions, type SaverRules, saverOf } from "../saver/checkpoint-saver.ts";
export {
  type ChannelWrite,
  type CheckpointInfo,
  type DeleteForRunsRequest,
  type GetRequest,
  type ListedCheckpoint,
  type ListRequest,
  type ListThreadsRequest,
  newCheckpointId,
  type PendingWrite,
  type PruneRequest,
  type PutRequest,
  type PutWritesRequest,
  type RemovedReport,
  type SavedCheckpoint,
  type Saver,
  SPECIAL_CHANNELS,
} from "../saver/saver.ts";
