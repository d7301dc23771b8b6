import type { CallPlace } from "../../driver/call.ts";
import { StateError } from "../../errors.ts";
import { AgentState, stateHolding } from "../../state/agent-state.ts";
import { migrateFields } from "../../state/fields.ts";
import { NO_BYTES, watchBytes } from "../../state/values/watched-bytes.ts";
import type { CheckpointContext } from "../context.ts";
import { isNewsOf, isSamePlace } from "../log/driver-rules.ts";
import type { KnownPlace, LogChain } from "../log/thread-log.ts";
import { headOf, type RebuiltCheckpoint, rebuild, rebuildOn } from "../record/chain.ts";
import { type Position, rememberPosition, type WarmThread } from "./position.ts";
import { editsAt, tailOf } from "./thread.ts";

type Place = CallPlace & { readonly threadId: string };

/** The state of one checkpoint, by its id. */
export async function loadNamed(
  context: CheckpointContext,
  place: Place,
  checkpointId: string,
): Promise<AgentState | undefined> {
  const chain = await context.call(place, (log) => log.readCheckpoint(place.threadId, checkpointId));
  const seq = chain?.records.at(-1)?.seq;
  if (chain === undefined || seq === undefined) return undefined;
  return context.guard(place, async () => stateAt(context, place.threadId, chain, seq));
}

/** The newest state. Of a thread that this process knows, only what is newer is read. */
export async function loadNewest(context: CheckpointContext, place: Place): Promise<AgentState | undefined> {
  const { threadId } = place;
  const known = context.warm.get(threadId);
  if (known !== undefined) {
    // Of its own checkpoint: a mark behind it, such as a lease's, goes when the next one comes.
    const newerThan = placeOfCheckpoint(known.position);
    const news = await context.call(place, (log) => log.readTail(threadId, { newerThan }));
    if (news === undefined) return forgotten(context, threadId);
    try {
      const state = caughtUp(context, threadId, known, news);
      if (state !== undefined) return state;
    } catch (error) {
      throw context.placed(place, error);
    }
  }
  const chain = await context.call(place, (log) => log.readTail(threadId));
  if (chain === undefined) return forgotten(context, threadId);
  try {
    const newest = headOf(chain);
    if (newest === 0) return forgotten(context, threadId);
    return newestState(context, threadId, threadAt(context, chain, rebuild(chain, newest)));
  } catch (error) {
    throw context.placed(place, error);
  }
}

const placeOfCheckpoint = ({ tail: { generation }, seq, writeId }: Position): KnownPlace => ({
  generation,
  seq,
  writeId,
});

function forgotten(context: CheckpointContext, threadId: string): undefined {
  context.warm.forget(threadId);
  return undefined;
}

/**
 * The newest state, made from the known one and the records behind it;
 * `undefined` if that is not possible and the whole thread must be read. Nothing
 * old has changed while the known checkpoint is in the thread and the count of edits is the same.
 */
function caughtUp(
  context: CheckpointContext,
  threadId: string,
  known: WarmThread,
  news: LogChain,
): AgentState | undefined {
  const { position } = known;
  const place = placeOfCheckpoint(position);
  if (!isNewsOf(place, news)) return undefined;
  if (news.records.length === 0 && isSamePlace(position.tail, place)) return newestState(context, threadId, known);
  const tail = tailOf({ generation: news.generation, entry: news.tail });
  if (editsAt(tail) !== editsAt(position.tail)) return undefined;
  // What was behind it, such as the mark of a lease, was lost with a storage that went back.
  if (news.records.length === 0) return newestState(context, threadId, { ...known, position: { ...position, tail } });
  try {
    const head = headOf(news);
    if (head === position.seq) return newestState(context, threadId, { ...known, position: { ...position, tail } });
    if (head <= position.seq) return undefined;
    const rebuilt = rebuildOn({ seq: position.seq, fields: position.stored }, news, head);
    return newestState(context, threadId, threadAt(context, news, rebuilt));
  } catch (error) {
    // The whole thread tells whether anything is damaged, or only missing from the news.
    if (StateError.is(error, "CORRUPT")) return undefined;
    throw error;
  }
}

/** The state at `seq`, migrated to the program's schema, which remembers where it came from. */
export const stateAt = (context: CheckpointContext, threadId: string, chain: LogChain, seq: number): AgentState =>
  migratedState(context, threadId, threadAt(context, chain, rebuild(chain, seq)));

function threadAt(
  context: CheckpointContext,
  chain: LogChain,
  { record, header, fields, bytes }: RebuiltCheckpoint,
): WarmThread {
  const { seq, writeId, base, checkpointId = "" } = record;
  const { generation } = chain;
  const newest = tailOf({ generation, entry: chain.tail });
  const position: Position = {
    // A past state claims no more than it knows: its save must meet whatever came after it.
    tail: seq === newest.head ? newest : { ...tailOf({ generation, entry: record }), thread: newest.thread },
    seq,
    writeId,
    checkpointId,
    base,
    chain: header.chain,
    stored: fields,
    schema: context.schema?.version ?? header.schema,
    bytes: watchBytes(NO_BYTES, bytes),
  };
  return { position, storedSchema: header.schema };
}

function newestState(context: CheckpointContext, threadId: string, thread: WarmThread): AgentState {
  const state = migratedState(context, threadId, thread);
  context.warm.keep(threadId, thread);
  return state;
}

function migratedState(
  context: CheckpointContext,
  threadId: string,
  { position, storedSchema }: WarmThread,
): AgentState {
  const { schema } = context;
  const state =
    schema === undefined || schema.version === storedSchema
      ? stateHolding(position.stored)
      : AgentState.fromFields(migrateFields(position.stored, storedSchema, schema));
  rememberPosition(context, state, threadId, position);
  return state;
}
