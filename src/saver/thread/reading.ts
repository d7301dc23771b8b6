import type { CheckpointContext } from "../../checkpoint/context.ts";
import type { LogChain } from "../../checkpoint/log/thread-log.ts";
import { decodeMetadata } from "../../checkpoint/record/metadata.ts";
import { openHeader } from "../../checkpoint/record/record.ts";
import { type CheckpointInfo, inWriteOrder, type SavedCheckpoint } from "../saver.ts";
import { joinParts } from "../values/parts.ts";
import { Unpacker, type UnpackOptions } from "../values/unpacking.ts";
import { Epoch, type KnownCheckpoint, type KnownWrite } from "./epoch.ts";
import { type CheckpointPlace, checkpointName, newestName, placeOf } from "./graph-record.ts";
import type { ThreadWriter } from "./graph-threads.ts";

/** A checkpoint as it lies in an epoch, with everything that its values are made of. */
export interface FoundCheckpoint {
  readonly known: KnownCheckpoint;
  readonly parts: ReadonlyMap<string, string>;
  readonly writes: readonly KnownWrite[];
  readonly epoch: Epoch;
}

/** And how many erasures its thread had when it was read. */
export interface ReadCheckpoint extends FoundCheckpoint {
  readonly erasures: number;
}

/**
 * One checkpoint in one round trip: what is new since this saver last looked,
 * where the checkpoint lies in what it knows; else the checkpoint's own records.
 */
export async function findCheckpoint(
  context: CheckpointContext,
  writer: ThreadWriter,
  threadId: string,
  ns: string,
  id: string | undefined,
): Promise<ReadCheckpoint | undefined> {
  await writer.settled();
  return writer.alone(async () => {
    if (isAtHand(writer.known, ns, id)) {
      const epoch = await writer.fresh();
      if (epoch === undefined) return undefined;
      const newest = id ?? epoch.newestOf(ns);
      const found = newest === undefined ? undefined : foundIn(epoch, { ns, id: newest });
      if (found !== undefined) return { ...found, erasures: epoch.thread.erasures ?? 0 };
    }
    const name = id === undefined ? newestName(ns) : checkpointName(ns, id);
    const chain = await context.call({ operation: "get", threadId }, (log) => log.readCheckpoint(threadId, name));
    if (chain === undefined) return undefined;
    return fromChain(writer, chain);
  });
}

function isAtHand(epoch: Epoch | undefined, ns: string, id: string | undefined): boolean {
  if (epoch === undefined) return false;
  return id === undefined ? epoch.newestOf(ns) !== undefined : epoch.find({ ns, id }) !== undefined;
}

/** What was read is kept where it reaches to the tail: then the next put needs no read. */
function fromChain(writer: ThreadWriter, chain: LogChain): ReadCheckpoint | undefined {
  const epoch = Epoch.of(chain);
  const last = chain.records.at(-1);
  const place = last && placeOf(last);
  if (last?.seq === chain.tail.seq) writer.adopt(epoch);
  const found = place && foundIn(epoch, place);
  return found && { ...found, erasures: openHeader(chain.tail).thread?.erasures ?? 0 };
}

export function foundIn(epoch: Epoch, place: CheckpointPlace): FoundCheckpoint | undefined {
  const known = epoch.find(place);
  return known && { known, parts: epoch.partsOf(known), writes: epoch.writesOf(place), epoch };
}

/** A checkpoint with its values. */
export const openCheckpoint = async (
  threadId: string,
  found: FoundCheckpoint,
  options: UnpackOptions,
): Promise<SavedCheckpoint> => ({
  ...infoOf(threadId, found.known),
  ...(await valuesOf(found, new Unpacker(found.epoch.pool, options))),
});

/** The values of a checkpoint. Checkpoints of one epoch may share the unpacker. */
export async function valuesOf(
  { parts, writes }: FoundCheckpoint,
  unpacker: Unpacker,
): Promise<Pick<SavedCheckpoint, "checkpointData" | "pendingWrites">> {
  const ordered = inWriteOrder(writes);
  const values = await unpacker.values([...parts.values(), ...ordered.map(({ text }) => text)]);
  const checkpointData = joinParts([...parts.keys()].map((key, index) => [key, values[index]]));
  const pendingWrites = ordered.map(({ taskId, index, channel }, position) => ({
    taskId,
    index,
    channel,
    value: values[parts.size + position],
  }));
  return { checkpointData, pendingWrites };
}

export const infoOf = (
  threadId: string,
  { ns, id, parentId, metadata, createdAt }: Omit<KnownCheckpoint, "seq" | "writeId" | "on" | "delta">,
): CheckpointInfo => ({
  threadId,
  checkpointNs: ns,
  checkpointId: id,
  parentId,
  metadata: metadata === undefined ? {} : decodeMetadata(metadata, "metadata"),
  createdAt,
});
