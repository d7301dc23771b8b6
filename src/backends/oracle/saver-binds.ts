import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { withoutStanding } from "../../checkpoint/record/metadata.ts";
import { openHeader } from "../../checkpoint/record/record.ts";
import { callsIn, placeOf } from "../../saver/thread/graph-record.ts";
import { type Binds, number, text } from "./binds.ts";
import { isUnindexable } from "./metadata.ts";
import { BRINGS_WRITES, PUTS_CHECKPOINT } from "./saver-block.ts";

/** What a saver's tables hold of one record of an append, by the names that the block uses for the record at this place. */
export function saverBinds(record: LogRecord, place: number): Binds {
  const header = openHeader(record);
  const at = placeOf(record, header);
  const isPut = at !== undefined && record.checkpointId !== undefined;
  return {
    [`b_graph_${place}`]: number(at === undefined ? null : isPut ? PUTS_CHECKPOINT : BRINGS_WRITES),
    [`b_ns_${place}`]: text(at && storedNs(at.ns)),
    [`b_id_${place}`]: text(at?.id),
    [`b_parent_${place}`]: text(isPut ? header.graph?.parent : null),
    [`b_created_${place}`]: text(isPut ? momentOf(header.createdAt) : null),
    ...ownMetadata(record, place),
    [`b_calls_${place}`]: text(at && callsOf(record)),
  };
}

/** Beside what the caller gave, metadata may say how the thread stands, which no row shows. */
function ownMetadata({ metadata }: LogRecord, place: number): Binds {
  const own = metadata === undefined ? undefined : withoutStanding(metadata);
  const differs = own !== metadata;
  return {
    [`b_differs_${place}`]: number(differs ? 1 : 0),
    [`b_shown_${place}`]: text(differs && own !== "{}" ? own : null),
  };
}

/**
 * `''` is NULL, which no key can hold: the root graph's namespace is stored as one
 * blank, as other savers do, and a namespace of blanks gets one blank more.
 */
export const storedNs = (ns: string): string => (/^ *$/.test(ns) ? `${ns} ` : ns);

/** In the server's format. NULL for a time that no calendar has. */
function momentOf(ms: number): string | null {
  const isOfCalendar = ms >= Date.UTC(1, 0) && ms < Date.UTC(9999, 0);
  return isOfCalendar ? new Date(ms).toISOString() : null;
}

const MOST_CHANNEL_BYTES = 1024;

/** `[[task, position, channel, replaces], …]`, one for each write that the record leaves. */
function callsOf({ body, seq }: LogRecord): string | null {
  const left = new Map<string, readonly [string, number, string | null, 0 | 1]>();
  for (const { taskId, replaces, writes } of callsIn(body, seq)) {
    for (const { channel, index } of writes) {
      const key = JSON.stringify([taskId, index]);
      if (replaces || !left.has(key)) left.set(key, [taskId, index, storedChannel(channel), replaces ? 1 : 0]);
    }
  }
  return left.size === 0 ? null : JSON.stringify([...left.values()]);
}

const storedChannel = (channel: string): string | null =>
  channel === "" || isUnindexable(JSON.stringify(channel)) || Buffer.byteLength(channel) > MOST_CHANNEL_BYTES
    ? null
    : channel;
