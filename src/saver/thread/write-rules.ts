import { type ChannelWrite, SPECIAL_CHANNELS } from "../saver.ts";

/** A call replaces what it wrote before only when nothing but special channels is in it. */
export const replacesEarlier = (writes: readonly ChannelWrite[]): boolean =>
  writes.every(([channel]) => SPECIAL_CHANNELS.has(channel));

/** Where a write of a call is kept: its position, or the fixed one of a special channel. */
export const writeIndex = (channel: string, position: number): number => SPECIAL_CHANNELS.get(channel) ?? position;

interface Placed {
  readonly taskId: string;
  readonly index: number;
}

/** By task, then by position. Text is ordered by code units, which is the same everywhere. */
export function inWriteOrder<Write extends Placed>(writes: Iterable<Write>): Write[] {
  return [...writes].sort((a, b) => (a.taskId === b.taskId ? a.index - b.index : a.taskId < b.taskId ? -1 : 1));
}
