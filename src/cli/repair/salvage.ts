import type { CheckpointContext } from "../../checkpoint/context.ts";
import type { LogChain, LogRecord } from "../../checkpoint/log/thread-log.ts";
import { newMessagesOf } from "../../checkpoint/record/chain.ts";
import { isGraphs, openHeader, openRecord } from "../../checkpoint/record/record.ts";
import { reasonOf, StateError } from "../../errors.ts";
import { encodeValue } from "../../state/values/codec.ts";

const PAGE = 100;

/** The first line: a person who finds the file must learn what it is not. */
export const salvageHead = (threadId: string): string =>
  JSON.stringify({
    type: "holdfast-salvage",
    version: 1,
    threadId,
    note: "What single records behind a damage still tell. Nothing proves that it is whole, or in order; it cannot be imported.",
  });

/** What each record from a position on tells by itself, oldest first. */
export async function salvageLines(context: CheckpointContext, threadId: string, from: number): Promise<string[]> {
  const lines: string[] = [];
  const tail = await context.call({ operation: "repair", threadId }, (log) => log.tail(threadId));
  let limit = PAGE;
  for (let before = (tail?.entry.seq ?? 0) + 1; before > from; ) {
    const chain = await pageBelow(context, threadId, before, limit);
    if (chain === "damaged") {
      // One record keeps the storage from handing over all of the page: the others are asked for one by one.
      if (limit === 1)
        lines.push(JSON.stringify({ seq: --before, proven: false, fault: "the storage cannot read it" }));
      limit = 1;
      continue;
    }
    const [oldest] = chain?.records ?? [];
    if (chain === undefined || oldest === undefined) break;
    for (const record of chain.records.toReversed()) if (record.seq >= from) lines.push(...lineOf(record));
    before = oldest.seq;
    limit = PAGE;
  }
  return lines.reverse();
}

async function pageBelow(
  context: CheckpointContext,
  threadId: string,
  before: number,
  limit: number,
): Promise<LogChain | undefined | "damaged"> {
  try {
    return await context.call({ operation: "repair", threadId }, (log) => log.readRecords(threadId, { before, limit }));
  } catch (error) {
    if (StateError.is(error, "CORRUPT")) return "damaged";
    throw error;
  }
}

function lineOf(record: LogRecord): string[] {
  const { seq, checkpointId } = record;
  const place = { seq, ...(checkpointId !== undefined && { checkpointId }) };
  const fault = faultIn(record);
  try {
    const { kind, createdAt, thread } = openHeader(record);
    if (kind !== "base" && kind !== "delta") return [];
    const when = { createdAt: new Date(createdAt).toISOString(), proven: fault === undefined };
    if (isGraphs(thread)) return [JSON.stringify({ ...place, ...when, body: textOf(record) })];
    const messages = encodeValue(newMessagesOf(record), "messages");
    return [JSON.stringify({ ...place, ...when, ...(fault !== undefined && { fault }), messages })];
  } catch (error) {
    return [JSON.stringify({ ...place, proven: false, fault: fault ?? reasonOf(error), body: textOf(record) })];
  }
}

function faultIn(record: LogRecord): string | undefined {
  try {
    openRecord(record);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

const textOf = ({ body }: LogRecord): string => Buffer.from(body).toString("utf8");
