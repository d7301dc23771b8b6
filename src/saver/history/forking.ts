import type { CheckpointContext } from "../../checkpoint/context.ts";
import { targetExists } from "../../checkpoint/history/branching.ts";
import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import type { WrittenFork } from "../../checkpoint/people/erasure-mark.ts";
import { isGraphs } from "../../checkpoint/record/record.ts";
import { type Appended, erasuresAt, type Tail, Thread, tailBehind } from "../../checkpoint/thread/thread.ts";
import { newId } from "../../driver/ids.ts";
import { invalid } from "../../driver/options.ts";
import { Epoch } from "../thread/epoch.ts";
import { checkpointName } from "../thread/graph-record.ts";
import { infoOf } from "../thread/reading.ts";
import { everyRecord, inAppends, type Kept, keptOf, newestIds, recordOfKept, subjectsToKeep } from "./whole-thread.ts";

export interface GraphFork {
  readonly source: string;
  readonly target: string;
  /** The name of a checkpoint of the root graph. @default its newest */
  readonly at: string | undefined;
  /** How long the source has yet to live; `undefined` where it has no end. */
  readonly ttlMs: number | undefined;
}

/**
 * Makes `target` a thread that ends at one checkpoint of the root graph: that one
 * and its ancestors under their own ids, with their writes and with what subgraphs
 * put on top of them. `undefined` where there is no such checkpoint.
 *
 * Where the source went on from the checkpoint, what was written on top of it is
 * how it went on: the fork does not have it, and runs that step again. Where it
 * did not, tasks may have finished and others wait: the fork has all of that.
 *
 * The checkpoint itself is written last. Until then the target has no head, so
 * that it is listed nowhere and has no newest state; what an attempt that broke
 * off left behind is taken away by the next one.
 */
export async function forkGraph(context: CheckpointContext, fork: GraphFork): Promise<WrittenFork | undefined> {
  const { source, target, at, ttlMs } = fork;
  const records = await everyRecord(new Thread(context, source, "fork"));
  if (records === undefined) return undefined;
  const all = keptOf(records, records.generation);
  const name = at ?? checkpointName("", newestIds(all).get("") ?? "");
  const start = all.find((kept) => checkpointName(kept.ns, kept.id) === name && kept.epoch.find(kept) !== undefined);
  if (start === undefined) return undefined;
  if (start.ns !== "") throw invalid("fork() of a graph's thread begins at a checkpoint of the root graph");
  const epoch = new Epoch(newId());
  epoch.thread = { kind: "graph", forkedFrom: { threadId: source, checkpointId: name } };
  const isLast = !all.some((kept) => kept.ns === "" && kept.epoch.find(kept)?.parentId === start.id);
  const staying = [...forkedWith(source, all, start, isLast), start];
  const newest = newestIds(staying);
  const named = subjectsToKeep(records, staying);
  const written = staying.map((kept) => {
    const isStart = kept === start;
    const subjects = kept === named.in ? named.subjects : [];
    const facts = { isNewest: newest.get(kept.ns) === kept.id, isHead: isStart, subjects };
    if (!isStart) return recordOfKept(context, epoch, kept, facts);
    // A fork is as young as it is: nothing that clears away what is old takes it for its source.
    return recordOfKept(context, epoch, kept, { ...facts, createdAt: context.now(), hasWrites: isLast });
  });
  await writeTarget(new Thread(context, target, "fork"), epoch.generation, written, ttlMs);
  const from = { generation: records.generation, erasures: erasuresAt(records.tail) };
  return { checkpointId: start.id, generation: epoch.generation, from };
}

/** The checkpoint's ancestors, and of every subgraph what belongs to them; to the checkpoint itself where it is the last. */
function forkedWith(threadId: string, all: readonly Kept[], start: Kept, isLast: boolean): readonly Kept[] {
  const roots = new Map(all.filter(({ ns }) => ns === "").map((kept) => [kept.id, kept]));
  const line = new Set<string>();
  let at: string | undefined = start.id;
  while (at !== undefined && !line.has(at)) {
    line.add(at);
    at = roots.get(at)?.epoch.find({ ns: "", id: at })?.parentId;
  }
  if (!isLast) line.delete(start.id);
  return all.filter((kept) => {
    const known = kept.epoch.find(kept);
    if (known === undefined || kept === start) return false;
    if (kept.ns === "") return line.has(kept.id);
    const root = rootOf(infoOf(threadId, known).metadata);
    return root === undefined ? kept.id <= start.id : line.has(root);
  });
}

/** LangGraph notes with a subgraph's checkpoint which one of the root graph it was made on. */
function rootOf({ parents }: Readonly<Record<string, unknown>>): string | undefined {
  const root: unknown = typeof parents === "object" && parents !== null ? (parents as { ""?: unknown })[""] : undefined;
  return typeof root === "string" ? root : undefined;
}

/** Writes a thread that is not there yet. */
async function writeTarget(
  thread: Thread,
  generation: string,
  records: readonly LogRecord[],
  ttlMs: number | undefined,
): Promise<void> {
  let tail: Tail | undefined;
  for (const [record, ...more] of inAppends(records, (each) => each, thread.context)) {
    const append = { record, ...(more.length > 0 && { more }), ...(ttlMs !== undefined && { ttlMs }) };
    let found: Tail | undefined;
    const attempt = (): Promise<Appended | undefined> =>
      thread.append(tail, (behind, isRetry) => {
        found = behind;
        return isRetry ? undefined : { append, behind, generation };
      });
    let written = await attempt();
    if (written === undefined && tail === undefined && isUnfinished(found)) {
      await thread.remove(found);
      written = await attempt();
    }
    if (written === undefined) throw targetExists(thread.context, thread.id);
    tail = tailBehind(generation, more.at(-1) ?? record);
  }
}

/** A fork that broke off: it never had a head. */
const isUnfinished = (tail: Tail | undefined): boolean =>
  tail?.head === 0 && isGraphs(tail.thread) && tail.thread?.forkedFrom !== undefined;
