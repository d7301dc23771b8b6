import { invalid, isPlainObject, type Names, optionsOf } from "../driver/options.ts";
import { StateError } from "../errors.ts";
import { described } from "../internal/known-options.ts";
import type { OpenCallsPolicy } from "../state/tool-calls.ts";
import type {
  CheckpointRef,
  CopyOptions,
  DeleteOptions,
  FindOptions,
  ForkOptions,
  ListThreadsOptions,
  PageOptions,
  SaveOptions,
  ThreadSearchHit,
  VacuumOptions,
} from "./base-checkpointer.ts";
import type { InboxOptions } from "./find/inbox.ts";
import type { WatchOptions } from "./find/watching.ts";
import type { BreakLeaseOptions, LeaseOptions } from "./lease/lease.ts";
import type { SendOptions } from "./signals/sending.ts";

/** A bare checkpoint id stands for the option, `load(id, "c1")`, and so does a summary, `load(id, summary)`. */
export function refOf(method: string, given: string | CheckpointRef | undefined): CheckpointRef {
  if (given === undefined) return {};
  if (typeof given === "string") return { checkpointId: given };
  return isPlainObject(given) && typeof given?.checkpointId === "string"
    ? optionsOf<CheckpointRef>(method, given, SUMMARY)
    : optionsOf<CheckpointRef>(method, given, REF);
}

/** A bare number stands for the limit of a page: `listCheckpoints(id, 10)`. */
export const pageOptionsOf = (method: string, given: number | PageOptions | undefined): PageOptions =>
  typeof given === "number" ? { limit: given } : optionsOf<PageOptions>(method, given, PAGE);

/** As in `save(state, id, "c1", { tag: 1 })`. */
export function saveOptionsOf(
  given: string | SaveOptions | undefined,
  metadata: Readonly<Record<string, unknown>> | undefined,
): SaveOptions {
  if (given === undefined) return metadata === undefined ? {} : { metadata };
  const options = typeof given === "string" ? { checkpointId: given } : optionsOf<SaveOptions>("save", given, SAVE);
  if (metadata === undefined) return options;
  if (options.metadata !== undefined) throw invalid("save() was given metadata twice: in its options and after them");
  return { ...options, metadata };
}

/** A deletion may also say what it expects. */
export const deleteOptionsOf = (given: string | DeleteOptions | undefined): DeleteOptions =>
  typeof given === "object" && given?.expectedHead !== undefined
    ? optionsOf<DeleteOptions>("delete", given, { ...REF, expectedHead: true })
    : refOf("delete", given);

const REF: Names<CheckpointRef> = { checkpointId: true };
const SUMMARY: Names<ThreadSearchHit> = {
  ...REF,
  threadId: true,
  createdAt: true,
  parentId: true,
  messageCount: true,
  metadata: true,
  bytes: true,
  seq: true,
  standing: true,
  lease: true,
  isGraph: true,
  score: true,
};
const PAGE: Names<PageOptions> = { limit: true, cursor: true };
const SAVE: Names<SaveOptions> = {
  checkpointId: true,
  metadata: true,
  expectedHead: true,
  writeId: true,
  lease: true,
  consumes: true,
  ttlSeconds: true,
};
export const FIND: Names<FindOptions> = { ...PAGE, threadPrefix: true };
export const LIST_THREADS: Names<ListThreadsOptions> = { ...PAGE, pattern: true, standing: true };
export const INBOX: Names<InboxOptions> = { ...PAGE, threadPrefix: true };
export const VACUUM: Names<VacuumOptions> = { olderThanDays: true, keepLast: true, dryRun: true };
export const FORK: Names<ForkOptions> = { at: true, openCalls: true };
export const COPY: Names<CopyOptions> = { openCalls: true };

export function openCallsOf(method: string, { openCalls = "settle" }: CopyOptions): OpenCallsPolicy {
  if (openCalls === "settle" || openCalls === "keep") return openCalls;
  throw invalid(`${method}(): openCalls must be "settle" or "keep", not ${described(openCalls)}`);
}
export const LEASE: Names<LeaseOptions> = { owner: true, ttlMs: true, waitMs: true, signal: true };
export const BREAK_LEASE: Names<BreakLeaseOptions> = { ifToken: true };
export const SEND: Names<SendOptions> = { id: true, create: true };
export const WATCH: Names<WatchOptions> = { signal: true, pollMs: true };

const MAX_LIMIT = 10_000;

export function checkedLimit(limit: number | undefined, otherwise: number): number {
  const value = limit ?? otherwise;
  if (Number.isInteger(value) && value >= 0 && value <= MAX_LIMIT) return value;
  const given = typeof limit === "number" ? String(limit) : described(limit);
  throw new StateError("INVALID_ARGUMENT", `limit must be a whole number from 0 to ${MAX_LIMIT}, not ${given}`);
}

export function checkedPrefix(prefix: unknown): string {
  if (prefix === undefined) return "";
  if (typeof prefix === "string" && prefix.isWellFormed()) return prefix;
  throw new StateError(
    "INVALID_ARGUMENT",
    "threadPrefix must be well-formed text: what the ids of the threads begin with",
  );
}
