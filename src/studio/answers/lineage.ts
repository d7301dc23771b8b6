import { openHeader } from "../../checkpoint/record/record.ts";
import { inParallel } from "../../internal/concurrency.ts";
import type { LineageAnswer, LineageNode } from "../api.ts";
import type { StudioRequest } from "../request.ts";
import type { StudioContext } from "../studio-context.ts";
import { rowOf } from "../thread-index.ts";

const MOST_NODES = 150;

/**
 * A thread, what it was forked from, and what was forked from any of these.
 * Ancestors are known by their children; descendants only from the walk over all
 * threads, so that the answer says how far that has come.
 */
export async function lineageAnswer(
  studio: StudioContext,
  { thread: threadId }: StudioRequest,
): Promise<LineageAnswer> {
  const { checkpointer, index } = studio;
  await studio.states.place(threadId, undefined);
  await index.look();
  const parents = new Map<string, { readonly threadId: string; readonly checkpointId: string }>();
  const ids: string[] = [];
  let child = threadId;
  for (const point of await checkpointer.lineage(threadId)) {
    parents.set(child, point);
    ids.unshift(point.threadId);
    child = point.threadId;
  }
  ids.push(threadId);
  const children = childrenIn(studio, parents);
  let isCut = false;
  for (let at = 0; at < ids.length; at++) {
    for (const each of children.get(ids[at] ?? "") ?? []) {
      if (ids.includes(each)) continue;
      isCut ||= ids.length >= MOST_NODES;
      if (ids.length < MOST_NODES) ids.push(each);
    }
  }
  const nodes = await inParallel(ids, (id) => nodeOf(studio, id, parents.get(id)));
  return { nodes, more: isCut, walk: index.progress };
}

/** Who was forked from whom, among those that were read. */
function childrenIn(
  { index }: StudioContext,
  parents: Map<string, { readonly threadId: string; readonly checkpointId: string }>,
): ReadonlyMap<string, readonly string[]> {
  const children = new Map<string, string[]>();
  for (const { threadId, forkedFrom } of index.rows) {
    if (forkedFrom === undefined) continue;
    parents.set(threadId, forkedFrom);
    const known = children.get(forkedFrom.threadId) ?? [];
    known.push(threadId);
    children.set(forkedFrom.threadId, known);
  }
  return children;
}

async function nodeOf(
  { context }: StudioContext,
  threadId: string,
  parent: { readonly threadId: string; readonly checkpointId: string } | undefined,
): Promise<LineageNode> {
  const place = { operation: "lineage", threadId };
  const [head] = await context.call(place, (log) => log.list(threadId, { limit: 1 }));
  const at =
    parent === undefined
      ? undefined
      : await context.call(place, (log) => log.entry(parent.threadId, parent.checkpointId));
  const forked = at === undefined ? undefined : openHeader(at);
  const origin =
    parent === undefined
      ? {}
      : {
          parent: parent.threadId,
          forkedAt: {
            checkpointId: parent.checkpointId,
            ...(forked !== undefined && { at: forked.createdAt, messages: forked.messageCount }),
          },
        };
  if (head === undefined) return { threadId, missing: true, ...origin };
  const { lastAt, messages, standing } = rowOf({ threadId, head });
  return {
    threadId,
    ...origin,
    ...(lastAt !== undefined && { lastAt }),
    ...(messages !== undefined && { messages }),
    ...(standing !== undefined && { standing }),
  };
}
