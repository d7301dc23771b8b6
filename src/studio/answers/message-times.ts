import type { CheckpointContext } from "../../checkpoint/context.ts";
import { openHeader } from "../../checkpoint/record/record.ts";
import { Recent } from "../../internal/recent.ts";
import type { SeenState } from "../state-cache.ts";

/** What the header of a checkpoint says of messages: how many there were, and when. */
interface Mark {
  readonly seq: number;
  readonly messages: number;
  readonly at: number;
}

const PAGE = 500;
/** A page of messages waits for no more headers than this: times are a convenience. */
const MOST_PAGES = 40;

/** The newest first, as far back as was asked for. */
const known = new WeakMap<CheckpointContext, Recent<Mark[]>>();

/**
 * Messages have no time of their own: each has that of the oldest checkpoint
 * which holds as many. Headers are read as far back as the page needs, and kept.
 */
export async function timesOf(
  context: CheckpointContext,
  { threadId, generation, entry, header }: SeenState,
  from: number,
  count: number,
): Promise<readonly (number | undefined)[]> {
  const kept = known.get(context) ?? new Recent<Mark[]>(20);
  known.set(context, kept);
  const key = JSON.stringify([threadId, generation, entry.seq, entry.writeId]);
  const marks = kept.get(key) ?? [{ seq: entry.seq, messages: header.messageCount, at: header.createdAt }];
  kept.set(key, marks);
  for (let pages = 0; pages < MOST_PAGES && (marks.at(-1)?.messages ?? 0) > from; pages++) {
    const before = marks.at(-1)?.seq ?? 0;
    const found = await context.call({ operation: "list", threadId }, (log) =>
      log.list(threadId, { before, limit: PAGE }),
    );
    for (const older of found) {
      const { messageCount, createdAt } = openHeader(older);
      marks.push({ seq: older.seq, messages: messageCount, at: createdAt });
    }
    if (found.length < PAGE) {
      marks.push({ seq: 0, messages: 0, at: 0 });
      break;
    }
  }
  return Array.from({ length: count }, (_, at) => timeAt(marks, from + at));
}

/** The oldest checkpoint that has more than `index` messages, where the one before it is known to have fewer. */
function timeAt(marks: readonly Mark[], index: number): number | undefined {
  let [low, high] = [0, marks.length - 1];
  // Counts fall towards the past, but for edits of the history; there the answer is a guess, as any would be.
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((marks[middle]?.messages ?? 0) > index) low = middle + 1;
    else high = middle;
  }
  const isKnown = (marks[low]?.messages ?? 0) <= index;
  return isKnown ? marks[low - 1]?.at : undefined;
}
