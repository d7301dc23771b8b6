import type { Leftover, Thread } from "./documents.ts";
import { clearAway, finish, isFinished } from "./finishing.ts";
import { commitGone, commitHead, deleteGone, putRecord, putStub } from "./items.ts";
import { newLife, type ThreadName } from "./layout.ts";
import { findThread, type Located, OVERTAKEN, ThreadReader, untilSteady } from "./reading.ts";
import type { BulkItem, Requests } from "./requests.ts";

type CopyOutcome = "copied" | "no source" | "target exists";

/** The edits of the source are already applied in the copy. */
const UNCHANGED = { edits: undefined, leftovers: [] } as const;

/**
 * Copies a thread. The copy is announced in the target's document before any other
 * document is written, so that the documents of an unfinished copy can be found. One
 * more write of that document turns the copy into the thread.
 */
export function copyThread(
  requests: Requests,
  source: ThreadName,
  target: ThreadName,
  generation: string,
): Promise<CopyOutcome> {
  return untilSteady(async () => {
    const found = await findThread(requests, source, "whole");
    if (found?.thread === undefined) return "no source";
    const copy: Thread = { ...found.thread, ...UNCHANGED, ...target, generation, life: newLife() };
    const refused = await announce(requests, copy);
    if (refused !== undefined) return refused;
    try {
      const answer = (await copyRecords(requests, found, copy)) ? await becomeThread(requests, copy) : "swept";
      if (answer === "ours") return "copied";
      await withdraw(requests, copy);
      return answer === "swept" ? OVERTAKEN : answer;
    } catch (error) {
      // The error of the copy is what matters, not this one.
      await withdraw(requests, copy).catch(() => undefined);
      throw error;
    }
  });
}

async function announce(requests: Requests, copy: Thread): Promise<CopyOutcome | undefined> {
  return untilSteady(async () => {
    const found = await findThread(requests, copy, "entries");
    // The same generation: an earlier attempt at this very copy, whose answer was lost.
    if (found?.thread !== undefined) return found.thread.generation === copy.generation ? "copied" : "target exists";
    const leftovers = [...(found?.leftovers ?? []), leftoverOf(copy)];
    const announced = await requests.write(commitGone(copy.key, leftovers, found?.revision));
    return announced === undefined ? OVERTAKEN : undefined;
  });
}

const leftoverOf = ({ life, floor, tail }: Thread): Leftover => ({ life, from: floor, to: tail.seq, copying: true });

/** Whether all records existed, as of the source's tail. */
async function copyRecords(requests: Requests, source: Located, copy: Thread): Promise<boolean> {
  const { floor, tail } = source.thread;
  const reader = new ThreadReader(requests, source);
  for (let from = floor; from < tail.seq; from += RECORDS_AT_ONCE) {
    const to = Math.min(from + RECORDS_AT_ONCE, tail.seq) - 1;
    const records = await reader.range(from, to);
    if (records === OVERTAKEN) return false;
    const items = new Map<number, BulkItem>();
    for (let seq = from; seq <= to; seq++) items.set(seq, putStub(copy, seq, tail.seq));
    for (const record of records) items.set(record.seq, putRecord(copy, record, tail.seq));
    await requests.bulkAll(items.values());
  }
  return true;
}

const RECORDS_AT_ONCE = 500;

/** Only if the copy is still announced: then it was not cleaned up, and no thread was created in its place. */
async function becomeThread(requests: Requests, copy: Thread): Promise<CopyOutcome | "ours" | "swept"> {
  const isOurs = ({ life }: Leftover): boolean => life === copy.life;
  return untilSteady(async () => {
    const found = await findThread(requests, copy, "entries");
    if (found === undefined) return "swept";
    if (found.thread !== undefined) {
      if (found.thread.life === copy.life) return "ours";
      return found.thread.generation === copy.generation ? "copied" : "target exists";
    }
    if (!found.leftovers.some((leftover) => isOurs(leftover) && leftover.copying)) return "swept";
    const thread = { ...copy, leftovers: found.leftovers.filter((leftover) => !isOurs(leftover)) };
    if ((await requests.write(commitHead(thread, found.revision))) === undefined) return OVERTAKEN;
    // The copy is made, even if this fails; the next append then retries it.
    if (!isFinished(thread)) await finish(requests, thread).catch(() => undefined);
    return "ours";
  });
}

/**
 * Removes the announcement before the documents: a write that was sent but not
 * answered may still turn them into a thread, and no longer can after that.
 */
async function withdraw(requests: Requests, copy: Thread): Promise<void> {
  const isOurs = ({ life }: Leftover): boolean => life === copy.life;
  if (
    (await change(requests, copy, (leftovers) => leftovers.map((one) => (isOurs(one) ? given(one) : one)))) === "ours"
  )
    return;
  await clearAway(requests, copy.key, [leftoverOf(copy)]);
  await change(requests, copy, (leftovers) => leftovers.filter((one) => !isOurs(one)));
}

const given = (leftover: Leftover): Leftover => ({ ...leftover, copying: false });

/** Changes the cleanup list in the target's document, if there is no thread; "ours" if the copy has become the thread. */
function change(
  requests: Requests,
  copy: Thread,
  by: (leftovers: readonly Leftover[]) => readonly Leftover[],
): Promise<"ours" | "changed"> {
  const { key } = copy;
  return untilSteady(async () => {
    const found = await findThread(requests, copy, "entries");
    if (found?.thread?.life === copy.life) return "ours";
    if (found === undefined || found.thread !== undefined) return "changed";
    const left = by(found.leftovers);
    const item = left.length === 0 ? deleteGone(key, found.revision) : commitGone(key, left, found.revision);
    return (await requests.write(item)) === undefined ? OVERTAKEN : "changed";
  });
}
