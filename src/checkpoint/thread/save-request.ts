import { assertCheckpointId, assertThreadId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import type { SaveOptions } from "../base-checkpointer.ts";
import type { CheckpointContext } from "../context.ts";
import { type Edits, isOvertaken } from "../history/edits.ts";
import { type KnownThread, leaseAfterWrite } from "../lease/lease-rules.ts";
import { LONGEST_TTL_MS } from "../log/append-rules.ts";
import type { AppendRequest, KnownPlace, LogRecord } from "../log/thread-log.ts";
import { writtenFacts } from "../people/holding-off.ts";
import type { ThreadFacts } from "../record/record.ts";

export function assertSaveOptions(threadId: string, { checkpointId, ttlSeconds }: SaveOptions): void {
  assertThreadId(threadId);
  if (checkpointId !== undefined) assertCheckpointId(checkpointId);
  if (ttlSeconds !== undefined && !(Number.isFinite(ttlSeconds) && ttlSeconds > 0)) {
    throw new StateError("INVALID_ARGUMENT", "ttlSeconds must be a number greater than 0");
  }
}

/** What a save says of its thread: all that was known, its lease as it is now, and its edits counted. */
export function factsAfter(
  context: CheckpointContext,
  known: KnownThread,
  options: SaveOptions,
  isEdit: boolean,
): ThreadFacts | undefined {
  const before = writtenFacts(known.thread);
  const lease = leaseAfterWrite(context, known, options.lease);
  if (before === undefined && lease === undefined && !isEdit) return undefined;
  const edits = isEdit ? { edits: (before?.edits ?? 0) + 1 } : {};
  const thread = { ...before, ...edits, ...(lease !== undefined && { lease }) };
  return Object.keys(thread).length > 0 ? thread : undefined;
}

/** The append of a save's record. */
export function requestFor(
  expected: KnownPlace,
  record: LogRecord,
  edits: Edits | undefined,
  { ttlSeconds }: SaveOptions,
): AppendRequest {
  const request = { expected, record };
  if (edits === undefined && ttlSeconds === undefined) return request;
  return {
    ...request,
    // Names that others moved in the meantime are not ours to move: the append is refused and says why.
    ...(edits === undefined || isOvertaken(edits, expected.seq) ? {} : edits),
    ...(ttlSeconds !== undefined && { ttlMs: Math.min(ttlSeconds * 1000, LONGEST_TTL_MS) }),
  };
}
